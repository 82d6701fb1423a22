#include "gate/hook/shim_git.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/broker_table.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { GITFILE_BYTES = 8192, EXIT_NO_PROGRAM = 127 };

void shim_push_release(struct shim_push *push)
{
    free(push->commit);
    free(push->branch);
}

/* One line of the real git's output, allocated; NULL: it failed. args end with NULL. */
static char *line_of(const char *dir, const char *const *args)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_FREE char *real = shim_real("git");
    struct err ignored = ERR_INIT;
    if (!real)
        return NULL;
    strv_push(&argv, real);
    if (dir) {
        strv_push(&argv, "-C");
        strv_push(&argv, dir);
    }
    strv_push_all(&argv, (char *const *)(uintptr_t)args);
    const struct proc_cmd cmd = {.argv = &argv};
    if (!proc_run(&r, &cmd, &ignored) || r.status != 0)
        return NULL;
    buf_rtrim(&r.out);
    return buf_steal(&r.out);
}

#define LINE_OF(dir, ...) line_of(dir, (const char *const[]){__VA_ARGS__, NULL})

/* The private git folder, as the worktree's gitfile names it. */
static char *own_gitdir(void)
{
    static const char head[] = "gitdir: ";
    const char *worktree = getenv("HEADGATE_WORKTREE");
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    AUTO_FREE char *gitfile = fs_join(worktree ? worktree : "/", ".git");
    if (!fs_read_file(&text, AT_FDCWD, gitfile, GITFILE_BYTES, &ignored))
        return NULL;
    buf_rtrim(&text);
    return strncmp(text.ptr, head, sizeof(head) - 1) == 0
               ? fs_realpath(text.ptr + sizeof(head) - 1, &ignored)
               : NULL;
}

static bool is_remote_of_person(const char *name)
{
    AUTO_STRV struct strv remotes = STRV_INIT;
    const char *all = getenv("HEADGATE_REMOTES");
    strv_split(&remotes, all ? all : "", ' ', false);
    return strv_has(&remotes, name);
}

bool shim_git_is_ours(const struct strv *words)
{
    const char *odd, *dir;
    struct err ignored = ERR_INIT;
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    broker_git_subcommand(&odd, &dir, words->v, words->n);
    AUTO_FREE char *common =
        LINE_OF(dir, "rev-parse", "--path-format=absolute", "--git-common-dir");
    AUTO_FREE char *here = common ? fs_realpath(common, &ignored) : NULL;
    AUTO_FREE char *own = own_gitdir();
    if (!here || !own || strcmp(here, own) != 0)
        return false;
    /* A remote that the agent made for itself is its own business. */
    return !broker_read(&act, words->v, words->n, &ignored) || !act.remote ||
           is_remote_of_person(act.remote);
}

char *shim_git_branch(const char *dir, struct err *err)
{
    char *branch = LINE_OF(dir, "symbolic-ref", "--short", "-q", "HEAD");
    if (!branch)
        err_set(err, ERR_USAGE, "no branch is checked out; name one");
    return branch;
}

char *shim_git_public_branch(struct err *err)
{
    static const char heads[] = "refs/heads/";
    AUTO_FREE char *branch = shim_git_branch(NULL, err);
    if (!branch)
        return NULL;
    AUTO_FREE char *key = xasprintf("branch.%s.merge", branch);
    AUTO_FREE char *ref = LINE_OF(NULL, "config", "--get", key);
    bool has_upstream = ref && strncmp(ref, heads, sizeof(heads) - 1) == 0;
    return has_upstream ? xstrdup(ref + sizeof(heads) - 1) : steal_ptr(&branch);
}

bool shim_git_describe(struct shim_push *ret, const struct broker_act *act, struct err *err)
{
    struct err ignored = ERR_INIT;
    bool is_head = strcmp(act->src, "HEAD") == 0;
    AUTO_FREE char *rev =
        is_head ? xstrdup("HEAD^{commit}") : xasprintf("refs/heads/%s^{commit}", act->src);
    ret->commit = LINE_OF(act->dir, "rev-parse", "--verify", "-q", rev);
    ret->branch = shim_git_branch(act->dir, &ignored);
    if (ret->commit)
        return true;
    return err_set(err, ERR_REFUSED,
                   "'%s' is no branch of this attempt with a commit; tags and other refs are "
                   "pushed by a person",
                   act->src);
}

static bool run(const char *dir, const char *const *args, struct err *err)
{
    AUTO_FREE char *line = line_of(dir, args);
    return line || err_set(err, ERR_FAILED, "it was pushed, but 'git %s' failed here", args[0]);
}

bool shim_git_pushed(const struct broker_act *act, const struct shim_push *push,
                     const json_t *message, struct err *err)
{
    static const char heads[] = "refs/heads/";
    const char *remote = jx_str(message, "remote", "");
    const char *ref = jx_str(message, "ref", "");
    if (!remote[0] || strncmp(ref, heads, sizeof(heads) - 1) != 0)
        return true;
    AUTO_FREE char *tracking = xasprintf("refs/remotes/%s/%s", remote, ref + sizeof(heads) - 1);
    if (!run(act->dir,
             (const char *const[]){"update-ref", "-m", "push", tracking, push->commit, NULL}, err))
        return false;
    const char *branch = strcmp(act->src, "HEAD") == 0 ? push->branch : act->src;
    if (!act->sets_upstream || !branch)
        return true;
    AUTO_FREE char *of_remote = xasprintf("branch.%s.remote", branch);
    AUTO_FREE char *of_merge = xasprintf("branch.%s.merge", branch);
    if (!run(act->dir, (const char *const[]){"config", of_remote, remote, NULL}, err) ||
        !run(act->dir, (const char *const[]){"config", of_merge, ref, NULL}, err))
        return false;
    fprintf(stderr, "branch '%s' set up to track '%s/%s'.\n", branch, remote,
            ref + sizeof(heads) - 1);
    return true;
}

int shim_git_take(const char *real, const struct broker_act *act, char **argv,
                  const json_t *message)
{
    AUTO_STRV struct strv out = STRV_INIT;
    const char *dir = jx_str(message, "dir", "");
    AUTO_FREE char *key = xasprintf("remote.%s.url", jx_str(message, "remote", ""));
    AUTO_FREE char *url = LINE_OF(act->dir, "config", "--get", key);
    strv_push(&out, argv[0]);
    if (url && dir[0]) {
        strv_push(&out, "-c");
        strv_pushf(&out, "url.%s.insteadOf=%s", dir, url);
    }
    strv_push_all(&out, argv + 1);
    execv(real, strv_array(&out));
    return EXIT_NO_PROGRAM;
}
