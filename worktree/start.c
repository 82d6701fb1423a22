#include "worktree/start.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"

void wt_start_release(struct wt_start *s)
{
    wt_commit_release(&s->commit);
    free(s->note);
    free(s->held);
    *s = (struct wt_start)WT_START_INIT;
}

void wt_start_let_go(struct wt_start *s, const struct wt_repo *repo)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    struct err ignored = ERR_INIT; /* it holds a commit longer than it must */
    if (!s->held)
        return;
    refs_tx_delete(&tx, s->held, NULL);
    (void)!refs_tx_run(&tx, repo->common_dir, "headgate: let go", &ignored);
    free(s->held);
    s->held = NULL;
}

bool wt_pin(const char *common_dir, const struct strv *branches, const char *oid, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    for (size_t i = 0; i < branches->n; i++) {
        const char *part = refs_attempt_part(branches->v[i]);
        if (!part)
            return err_set(err, ERR_USAGE, "%s is not the branch of an attempt", branches->v[i]);
        AUTO_FREE char *name = xasprintf(REFS_BASE "%s", part);
        refs_tx_set(&tx, name, oid, NULL);
    }
    return refs_tx_run(&tx, common_dir, "headgate: start", err);
}

bool wt_unpin(const char *common_dir, const char *branch, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_BUF struct buf tx = BUF_INIT;
    const char *part = refs_attempt_part(branch);
    AUTO_FREE char *name = xasprintf(REFS_BASE "%s", part ? part : "");
    if (!part || !refs_list(&refs, common_dir, GIT_ARGS(name), err))
        return !part;
    const char *oid = refs_oid(&refs, name);
    if (*oid)
        refs_tx_delete(&tx, name, oid);
    return refs_tx_run(&tx, common_dir, "headgate: discard", err);
}

/* Where to ask for a name, and under which name. */
struct origin {
    char *remote, *name;
    char *local; /* the local branch that is meant, NULL: none */
};

static void origin_release(struct origin *o)
{
    free(o->remote);
    free(o->name);
    free(o->local);
}

#define AUTO_ORIGIN __attribute__((cleanup(origin_release)))

static struct gitrun git_of(const struct wt_repo *repo)
{
    return (struct gitrun){.git_dir = repo->git_dir};
}

/* *ret is NULL when the setting is absent. */
static bool setting(char **ret, const struct wt_repo *repo, const char *key, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = git_of(repo);
    g.plain_config = true;
    if (!gitrun(&r, &g, GIT_ARGS("config", "--get", key), err))
        return false;
    buf_rtrim(&r.out);
    *ret = r.status == 0 ? xstrdup(r.out.ptr) : NULL;
    return true;
}

static bool list_remotes(struct strv *ret, const struct wt_repo *repo, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = git_of(repo);
    if (!gitrun_out(&out, &g, GIT_ARGS("remote"), err))
        return false;
    strv_split(ret, out.ptr, '\n', false);
    return true;
}

static bool is_local_branch(bool *ret, const struct wt_repo *repo, const char *name,
                            struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_FREE char *full = xasprintf("refs/heads/%s", name);
    if (!refs_list(&refs, repo->common_dir, GIT_ARGS(full), err))
        return false;
    *ret = *refs_oid(&refs, full) != '\0';
    return true;
}

/* What the local branch follows. */
static bool follow(struct origin *o, const struct wt_repo *repo, const char *branch,
                   struct err *err)
{
    static const char heads[] = "refs/heads/";
    AUTO_FREE char *remote_key = xasprintf("branch.%s.remote", branch);
    AUTO_FREE char *merge_key = xasprintf("branch.%s.merge", branch);
    char *merge = NULL;
    o->local = xstrdup(branch);
    if (!setting(&o->remote, repo, remote_key, err) || !setting(&merge, repo, merge_key, err))
        return false;
    if (o->remote && merge && strncmp(merge, heads, strlen(heads)) == 0)
        o->name = xstrdup(merge + strlen(heads));
    free(merge);
    return true;
}

/* "origin/topic" when there is such a remote, else the only remote or the one called origin. */
static bool guess(struct origin *o, const struct wt_repo *repo, const char *rev, struct err *err)
{
    AUTO_STRV struct strv remotes = STRV_INIT;
    if (!list_remotes(&remotes, repo, err))
        return false;
    for (size_t i = 0; i < remotes.n; i++) {
        size_t len = strlen(remotes.v[i]);
        if (strncmp(rev, remotes.v[i], len) == 0 && rev[len] == '/' && rev[len + 1]) {
            o->remote = xstrdup(remotes.v[i]);
            o->name = xstrdup(rev + len + 1);
            return true;
        }
    }
    const char *remote = remotes.n == 1                 ? remotes.v[0]
                         : strv_has(&remotes, "origin") ? "origin"
                                                        : NULL;
    if (!remote)
        return err_set(err, ERR_USAGE,
                       remotes.n ? "there are several remotes; name one, as in --base REMOTE/BRANCH"
                                 : "the repository has no remote to fetch from");
    o->remote = xstrdup(remote);
    o->name = xstrdup(rev);
    return true;
}

static bool find_origin(struct origin *o, const struct wt_repo *repo, const char *rev,
                        struct err *err)
{
    static const char heads[] = "refs/heads/";
    bool is_local = false;
    if (!rev && (!repo->head_ref || strncmp(repo->head_ref, heads, strlen(heads)) != 0))
        return err_set(err, ERR_USAGE, "HEAD is on no branch; say what to fetch with --base");
    const char *name = rev ? rev : repo->head_ref + strlen(heads);
    AUTO_FREE char *shown = text_clean(name);
    if (!refs_is_valid_name(name) && !gitrun_is_oid(name))
        return err_set(err, ERR_USAGE, "%s is no name that can be fetched; name a branch", shown);
    if (!is_local_branch(&is_local, repo, name, err) || (is_local && !follow(o, repo, name, err)))
        return false;
    if (o->name)
        return true;
    free(o->remote);
    o->remote = NULL;
    return guess(o, repo, name, err);
}

/* A person's ssh and prompts are theirs to choose. */
static void add_ways(struct strv *env)
{
    static const char *const names[] = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
                                        "GIT_ASKPASS", "GIT_PROXY_COMMAND"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (getenv(names[i]))
            strv_env_set(env, names[i], getenv(names[i]));
}

static bool run_fetch(const struct wt_repo *repo, const struct origin *o, const char *held,
                      struct err *err)
{
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_FREE char *refspec = xasprintf("+%s:%s", o->name, held);
    AUTO_FREE char *shown = text_clean(o->name);
    AUTO_FREE char *remote = text_clean(o->remote);
    add_ways(&env);
    /* From the top, since a remote may be a path relative to it. */
    struct gitrun g = {
        .cwd = repo->toplevel, .git_dir = repo->git_dir, .as_person = true, .env = &env};
    const char *const *args =
        GIT_ARGS("fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
                 "--no-auto-maintenance", "--end-of-options", o->remote, refspec);
    return gitrun_out(&ignored, &g, args, err) ||
           err_prefix(err, "cannot fetch %s from %s", shown, remote);
}

static bool count_more(long *ret, const struct wt_repo *repo, const char *from, const char *to,
                       struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_FREE char *range = xasprintf("%s..%s", from, to);
    struct gitrun g = git_of(repo);
    if (!gitrun_line(&out, &g, GIT_ARGS("rev-list", "--count", range, "--"), err))
        return false;
    *ret = strtol(out.ptr, NULL, 10);
    return true;
}

static bool start_fetched(struct wt_start *s, const struct wt_repo *repo, const char *rev,
                          struct err *err)
{
    AUTO_ORIGIN struct origin o = {.remote = NULL};
    AUTO_WT_COMMIT struct wt_commit local = WT_COMMIT_INIT;
    long more = 0;
    s->held = xasprintf(REFS_OWN "held/%" PRId64 "-%d", clock_unix_ms(), (int)getpid());
    if (!find_origin(&o, repo, rev, err) || !run_fetch(repo, &o, s->held, err) ||
        !wt_resolve(&s->commit, repo, s->held, err) ||
        (o.local && (!wt_resolve(&local, repo, o.local, err) ||
                     !count_more(&more, repo, s->commit.oid, local.oid, err))))
        return false;
    free(s->commit.ref);
    s->commit.ref = xasprintf("%s/%s", o.remote, o.name);
    if (more == 0) {
        s->note = xasprintf("%s was fetched; it is at %.12s", s->commit.ref, s->commit.oid);
        return true;
    }
    s->note = xasprintf("%s was fetched (%.12s), and %s has %ld commit%s more: started from %s",
                        s->commit.ref, s->commit.oid, o.local, more, more == 1 ? "" : "s", o.local);
    wt_commit_release(&s->commit);
    s->commit = local;
    local = (struct wt_commit)WT_COMMIT_INIT;
    return true;
}

/* A local branch that is known to be behind what it follows is a common wrong start. */
static bool note_behind(struct wt_start *s, const struct wt_repo *repo, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = git_of(repo);
    AUTO_FREE char *full = xasprintf("refs/heads/%s", s->commit.ref);
    if (!refs_is_valid_name(s->commit.ref))
        return true;
    if (!gitrun_line(&out, &g,
                     GIT_ARGS("for-each-ref",
                              "--format=%(upstream:short) %(upstream:track,nobracket)", full),
                     err))
        return false;
    const char *behind = strstr(out.ptr, "behind ");
    const char *end = strchr(out.ptr, ' ');
    if (!behind || !end)
        return true;
    AUTO_FREE char *shown = text_clean(out.ptr);
    s->note =
        xasprintf("%s is behind %.*s by %ld; --fetch starts from there", s->commit.ref,
                  (int)strcspn(shown, " "), shown, strtol(behind + strlen("behind "), NULL, 10));
    return true;
}

/* The remote-tracking branches of that name. */
static bool start_tracked(struct wt_start *s, const struct wt_repo *repo, const char *rev,
                          const struct err *why, struct err *err)
{
    static const char remotes[] = "refs/remotes/";
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_FREE char *shown = text_clean(rev);
    AUTO_FREE char *pattern = xasprintf("%s*/%s", remotes, rev);
    if (!refs_is_valid_name(rev) || why->code != ERR_NOT_FOUND) {
        *err = *why;
        return false;
    }
    if (!refs_list(&refs, repo->common_dir, GIT_ARGS(pattern), err))
        return false;
    if (refs.n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no branch, tag or commit named %s in this repository; if it is on "
                       "a remote, add --fetch",
                       shown);
    const char *name = refs.v[0].name + strlen(remotes);
    if (refs.n > 1)
        return err_set(err, ERR_USAGE, "several remotes have a branch %s; name one: %s or %s",
                       shown, name, refs.v[1].name + strlen(remotes));
    if (!wt_resolve(&s->commit, repo, refs.v[0].name, err))
        return false;
    free(s->commit.ref);
    s->commit.ref = xstrdup(name);
    s->note = xasprintf("there is no local branch %s: started from %s at %.12s, as it was fetched "
                        "last (--fetch asks again)",
                        shown, name, s->commit.oid);
    return true;
}

bool wt_start_from(struct wt_start *ret, const struct wt_repo *repo, const char *rev, bool fetch,
                   struct err *err)
{
    AUTO_WT_START struct wt_start s = WT_START_INIT;
    struct err why = ERR_INIT;
    bool is_found;
    if (fetch)
        is_found = start_fetched(&s, repo, rev && *rev ? rev : NULL, err);
    else if (wt_resolve(&s.commit, repo, rev, &why))
        is_found = note_behind(&s, repo, err);
    else
        is_found = start_tracked(&s, repo, rev ? rev : "", &why, err);
    if (!is_found) {
        wt_start_let_go(&s, repo);
        return false;
    }
    *ret = s;
    s = (struct wt_start)WT_START_INIT;
    return true;
}

/* A branch by the name that people give it. */
static bool name_people(struct wt_start *s, const char *name)
{
    if (strcmp(s->commit.ref, name) != 0 && strncmp(s->commit.ref, "refs/", 5) == 0) {
        free(s->commit.ref);
        s->commit.ref = xstrdup(name);
    }
    return true;
}

bool wt_start_on(struct wt_start *ret, const char **ret_branch, const struct wt_repo *repo,
                 const char *branch, bool fetch, struct err *err)
{
    static const char heads[] = "refs/heads/";
    bool is_local = false;
    const char *name = strncmp(branch, heads, strlen(heads)) == 0 ? branch + strlen(heads) : branch;
    AUTO_FREE char *shown = text_clean(name);
    if (refs_is_valid_name(name) && !is_local_branch(&is_local, repo, name, err))
        return false;
    if (!is_local)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no local branch named %s, and the work is to come back to one; "
                       "make it (git branch NAME %s) or start with --base %s",
                       shown, shown, shown);
    AUTO_FREE char *full = xasprintf("%s%s", heads, name);
    *ret_branch = name;
    return wt_start_from(ret, repo, fetch ? name : full, fetch, err) && name_people(ret, name);
}
