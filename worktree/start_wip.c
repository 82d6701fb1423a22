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
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/quarantine.h"
#include "worktree/refs.h"
#include "worktree/start.h"

enum { TRIES = 5 };

struct wip {
    const struct wt_repo *repo;
    char *quarantine;
    struct strv env; /* in which git writes there */
    char *index;     /* beside the person's own, so that a split one finds its shared part */
    char head[65];
    char tree[65];
    long unmerged;
    struct strv nested; /* repositories in the tree that are no submodules */
    struct strv dirty;  /* submodules with uncommitted work of their own */
};

static void wip_release(struct wip *w)
{
    if (w->index)
        unlink(w->index);
    auto_free_(&w->index);
    struct err ignored = ERR_INIT;
    if (w->quarantine) {
        quarantine_let_go(w->quarantine);
        (void)!fs_remove_tree(AT_FDCWD, w->quarantine, &ignored);
    }
    auto_free_(&w->quarantine);
    strv_release(&w->env);
    strv_release(&w->nested);
    strv_release(&w->dirty);
}

#define AUTO_WIP __attribute__((cleanup(wip_release)))

static struct gitrun git_of(const struct wip *w)
{
    return (struct gitrun){
        .git_dir = w->repo->git_dir,
        .work_tree = w->repo->toplevel,
        .index_file = w->index,
        .env = w->quarantine ? &w->env : NULL,
    };
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

/* git lists a repository in the tree as a folder. Added, it would be a submodule that nobody can
 * fetch, and without a commit git refuses to add anything. */
static bool find_nested(struct wip *w, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = git_of(w);
    if (!gitrun_out(&out, &g, GIT_ARGS("ls-files", "-z", "--others", "--exclude-standard"), err))
        return false;
    for (const char *p = out.ptr; p < out.ptr + out.len; p += strlen(p) + 1) {
        size_t len = strlen(p);
        if (len > 1 && p[len - 1] == '/')
            strv_push_n(&w->nested, p, len - 1);
    }
    return true;
}

/* Entries of `git status --porcelain=v2 -z` begin with "1 XY SUB " or "2 XY SUB "; SUB is S and a
 * letter each for its commit, its changes and its untracked files. The path is behind eight or nine
 * spaces. */
static bool find_dirty(struct wip *w, struct err *err)
{
    enum { SUB = 5, CHANGED = 7, UNTRACKED = 8, MIN_LEN = 10 };
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_FREE char *modules = fs_join(w->repo->toplevel, ".gitmodules");
    struct gitrun g = git_of(w);
    if (!fs_exists(modules))
        return true;
    if (!gitrun_out(&out, &g,
                    GIT_ARGS("status", "--porcelain=v2", "-z", "--ignore-submodules=none",
                             "--untracked-files=normal"),
                    err))
        return false;
    for (const char *p = out.ptr; p < out.ptr + out.len; p += strlen(p) + 1) {
        bool is_entry = (*p == '1' || *p == '2') && strlen(p) > MIN_LEN && p[SUB] == 'S';
        const char *path = p;
        for (int i = *p == '1' ? 8 : 9; is_entry && path && i > 0; i--)
            path = strchr(path, ' ') ? strchr(path, ' ') + 1 : NULL;
        if (is_entry && path && (p[CHANGED] == 'M' || p[UNTRACKED] == 'U'))
            strv_push(&w->dirty, path);
    }
    return true;
}

static bool add_all(const struct wip *w, const struct gitrun *g, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT;
    const char *const *words = GIT_ARGS("add", "--all", "--sparse", "--", ".");
    for (; *words; words++)
        strv_push(&args, *words);
    for (size_t i = 0; i < w->nested.n; i++)
        strv_pushf(&args, ":(exclude,top,literal)%s", w->nested.v[i]);
    return gitrun_out(&ignored, g, (const char *const *)args.v, err);
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
        !find_nested(w, err) || !find_dirty(w, err) || !add_all(w, &g, err))
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
    strv_push_all(&env, strv_array(&w->env));
    g.env = &env;
    if (who.status != 0) {
        static const char *const roles[] = {"AUTHOR", "COMMITTER"};
        for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
            strv_pushf(&env, "GIT_%s_NAME=Headgate", roles[i]);
            strv_pushf(&env, "GIT_%s_EMAIL=headgate@localhost", roles[i]);
        }
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

static bool make_quarantine(struct wip *w, struct err *err)
{
    AUTO_FREE char *key = xasprintf("uncommitted work by %d", (int)getpid());
    w->quarantine = quarantine_path(w->repo->common_dir, key);
    quarantine_add_env(&w->env, w->quarantine, w->repo->common_dir);
    return quarantine_make(w->quarantine, err);
}

/* As a pack that no prune takes before the ref is there. */
static bool hold(struct wt_start *s, const struct wip *w, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT, revs = BUF_INIT;
    const struct wt_repo *repo = w->repo;
    buf_addf(&revs, "%s\n", s->commit.oid);
    if (*w->head)
        buf_addf(&revs, "^%s\n", w->head);
    if (!quarantine_seal(w->quarantine, repo->common_dir, &revs, err) ||
        !quarantine_migrate(w->quarantine, repo->common_dir, err))
        return false;
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

static void add_names(struct buf *out, const struct strv *paths, const char *words)
{
    for (size_t i = 0; i < paths->n; i++) {
        AUTO_FREE char *shown = text_clean(paths->v[i]);
        buf_addf(out, "%s%s", out->len == 0 ? "" : i ? ", " : "; ", shown);
    }
    if (paths->n > 0)
        buf_addf(out, " %s", words);
}

/* What of the person's is not in the commit, or not as they have it. */
static char *make_note(const struct wip *w, const char *first)
{
    AUTO_BUF struct buf out = BUF_INIT;
    bool is_one = w->unmerged == 1;
    if (first)
        buf_adds(&out, first);
    if (w->unmerged > 0)
        buf_addf(&out, "%ld unmerged file%s taken as %s, markers included", w->unmerged,
                 is_one ? " was" : "s were", is_one ? "it is" : "they are");
    add_names(&out, &w->nested, "left out: a repository of its own and no submodule");
    add_names(&out, &w->dirty, "taken at its commit: what is uncommitted in it was left out");
    return out.len ? buf_steal(&out) : NULL;
}

static bool start_once(struct wt_start *ret, struct wip *w, struct err *err)
{
    const struct wt_repo *repo = w->repo;
    AUTO_WT_START struct wt_start s = WT_START_INIT;
    char head_tree[65];
    if (!repo->toplevel)
        return err_set(err, ERR_USAGE,
                       "a bare repository has no uncommitted work; leave --wip out");
    if (!ask_oid(w->head, w, "HEAD^{commit}", err) || !ask_oid(head_tree, w, "HEAD^{tree}", err) ||
        !make_quarantine(w, err) || !copy_index(w, err) || !write_tree(w, err))
        return err_prefix(err, "cannot record the uncommitted work");
    if (strcmp(w->tree, head_tree) == 0) {
        if (!wt_resolve(&s.commit, repo, NULL, err))
            return false;
        AUTO_FREE char *first =
            xasprintf("there is no uncommitted work: started from %s", s.commit.ref);
        s.note = make_note(w, first);
    } else {
        if (!commit(&s.commit, w, name_of_head(repo), err) || !hold(&s, w, err))
            return err_prefix(err, "cannot record the uncommitted work");
        s.is_wip = true;
        s.note = make_note(w, NULL);
    }
    *ret = s;
    s = (struct wt_start)WT_START_INIT;
    return true;
}

/* Once more where a prune of the person's took what was in quarantine. */
bool wt_start_wip(struct wt_start *ret, const struct wt_repo *repo, struct err *err)
{
    for (int i = 1;; i++) {
        AUTO_WIP struct wip w = {
            .repo = repo, .env = STRV_INIT, .nested = STRV_INIT, .dirty = STRV_INIT};
        struct err why = ERR_INIT;
        if (start_once(ret, &w, &why))
            return true;
        if (i == TRIES || !w.quarantine || quarantine_is_whole(w.quarantine)) {
            *err = why;
            return false;
        }
    }
}
