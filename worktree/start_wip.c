/*
 * start, second part: uncommitted work as a commit. A copy of the person's index takes the files
 * in; their own index and tree are only read.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/start.h"

struct wip {
    const struct wt_repo *repo;
    char *index; /* beside the person's own, so that a split one finds its shared part */
    char head[65];
    char tree[65];
    long unmerged;
};

static void wip_release(struct wip *w)
{
    if (w->index)
        unlink(w->index);
    auto_free_(&w->index);
}

#define AUTO_WIP __attribute__((cleanup(wip_release)))

static struct gitrun git_of(const struct wip *w)
{
    return (struct gitrun){
        .git_dir = w->repo->git_dir, .work_tree = w->repo->toplevel, .index_file = w->index};
}

/* An object's name, or "" where git has none. */
static bool ask_oid(char ret[65], const struct wip *w, const char *spec, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = git_of(w);
    if (!gitrun(&r, &g, GIT_ARGS("rev-parse", "-q", "--verify", spec), err))
        return false;
    buf_rtrim(&r.out);
    ret[0] = '\0';
    if (r.status == 0 && gitrun_is_oid(r.out.ptr))
        memcpy(ret, r.out.ptr, strlen(r.out.ptr) + 1);
    return true;
}

static bool copy_index(struct wip *w, struct err *err)
{
    AUTO_FREE char *own = fs_join(w->repo->git_dir, "index");
    w->index = xasprintf("%s/headgate-wip-%d", w->repo->git_dir, (int)getpid());
    unlink(w->index);
    return !fs_exists(own) || fs_copy_file(AT_FDCWD, own, AT_FDCWD, w->index, err);
}

static bool write_tree(struct wip *w, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_BUF struct buf unmerged = BUF_INIT;
    AUTO_STRV struct strv config = STRV_INIT;
    struct gitrun g = git_of(w);
    strv_push(&config, "advice.addEmbeddedRepo=false");
    strv_push(&config, "core.splitIndex=false");
    strv_push(&config, "core.safecrlf=false");
    g.config = &config;
    if (!gitrun_out(&unmerged, &g, GIT_ARGS("diff", "--name-only", "--diff-filter=U"), err) ||
        !gitrun_out(&out, &g, GIT_ARGS("add", "--all", "--sparse", "--", "."), err))
        return false;
    for (const char *p = unmerged.ptr; (p = strchr(p, '\n')); p++)
        w->unmerged++;
    buf_clear(&out);
    if (!gitrun_line(&out, &g, GIT_ARGS("write-tree"), err))
        return false;
    if (!gitrun_is_oid(out.ptr))
        return err_set(err, ERR_INTERNAL, "git write-tree answered in an unknown form");
    memcpy(w->tree, out.ptr, strlen(out.ptr) + 1);
    return true;
}

/* By the person; where git does not know who that is, by us. */
static bool commit(struct wt_commit *ret, const struct wip *w, const char *where, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result who = PROC_RESULT_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_FREE char *subject = xasprintf("Work in progress on %s", where);
    AUTO_FREE char *message =
        xasprintf("%s\n\nUncommitted and untracked files at the start of a run.\n", subject);
    struct gitrun g = git_of(w);
    if (!gitrun(&who, &g, GIT_ARGS("var", "GIT_COMMITTER_IDENT"), err))
        return false;
    if (who.status != 0) {
        static const char *const roles[] = {"AUTHOR", "COMMITTER"};
        for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
            strv_pushf(&env, "GIT_%s_NAME=Headgate", roles[i]);
            strv_pushf(&env, "GIT_%s_EMAIL=headgate@localhost", roles[i]);
        }
        g.env = &env;
    }
    g.input = message;
    g.input_len = strlen(message);
    const char *const *args = *w->head ? GIT_ARGS("commit-tree", "-p", w->head, w->tree)
                                       : GIT_ARGS("commit-tree", w->tree);
    if (!gitrun_line(&out, &g, args, err))
        return false;
    if (!gitrun_is_oid(out.ptr))
        return err_set(err, ERR_INTERNAL, "git commit-tree answered in an unknown form");
    memcpy(ret->oid, out.ptr, strlen(out.ptr) + 1);
    ret->ref = xasprintf("%s with uncommitted work", where);
    ret->subject = steal_ptr(&subject);
    return true;
}

static bool hold(struct wt_start *s, const struct wt_repo *repo, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    s->held = xasprintf(REFS_OWN "held/%" PRId64 "-%d", clock_unix_ms(), (int)getpid());
    refs_tx_set(&tx, s->held, s->commit.oid, NULL);
    return refs_tx_run(&tx, repo->common_dir, "headgate: uncommitted work", err);
}

static const char *name_of_head(const struct wt_repo *repo)
{
    static const char heads[] = "refs/heads/";
    bool is_branch = repo->head_ref && strncmp(repo->head_ref, heads, strlen(heads)) == 0;
    return is_branch ? repo->head_ref + strlen(heads) : "HEAD";
}

bool wt_start_wip(struct wt_start *ret, const struct wt_repo *repo, struct err *err)
{
    AUTO_WIP struct wip w = {.repo = repo};
    AUTO_WT_START struct wt_start s = WT_START_INIT;
    char head_tree[65];
    if (!repo->toplevel)
        return err_set(err, ERR_USAGE,
                       "a bare repository has no uncommitted work; leave --wip out");
    if (!ask_oid(w.head, &w, "HEAD^{commit}", err) || !ask_oid(head_tree, &w, "HEAD^{tree}", err) ||
        !copy_index(&w, err) || !write_tree(&w, err))
        return err_prefix(err, "cannot record the uncommitted work");
    if (strcmp(w.tree, head_tree) == 0) {
        if (!wt_resolve(&s.commit, repo, NULL, err))
            return false;
        s.note = xasprintf("there is no uncommitted work: started from %s", s.commit.ref);
    } else {
        if (!commit(&s.commit, &w, name_of_head(repo), err) || !hold(&s, repo, err))
            return err_prefix(err, "cannot record the uncommitted work");
        s.is_wip = true;
        if (w.unmerged > 0)
            s.note = xasprintf(
                "%ld unmerged file%s taken as %s", w.unmerged, w.unmerged == 1 ? " was" : "s were",
                w.unmerged == 1 ? "it is, markers included" : "they are, markers included");
    }
    *ret = s;
    s = (struct wt_start)WT_START_INIT;
    return true;
}
