/*
 * merge: an attempt's branch into a branch of the person's. The new commit is computed from
 * objects; then there is one effect: the branch moves by compare-and-swap (leave.h), or, where it
 * is checked out, `git merge --ff-only` updates that checkout as the person's own git would. Before
 * it nothing has changed, so there is nothing to undo.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/busy.h"
#include "worktree/fault.h"
#include "worktree/gitcfg.h"
#include "worktree/gitrun.h"
#include "worktree/graft.h"
#include "worktree/landing.h"
#include "worktree/leave.h"
#include "worktree/merge_into.h"
#include "worktree/merge_message.h"
#include "worktree/merged.h"
#include "worktree/places.h"
#include "worktree/quarantine.h"
#include "worktree/refs.h"
#include "worktree/repo.h"
#include "worktree/subs_merge.h"

enum { TRIES = 5 };

static const char heads[] = "refs/heads/";

struct merging {
    const struct wt_repo *repo;
    const struct wt_merge_ask *ask;
    enum wt_merge_how how;
    char *into; /* short name of the target */
    char *target_ref;
    struct places places; /* where the target is checked out */
    char *quarantine;
    struct strv env;
    struct graft graft;
    struct wt_merge result;
};

static void merging_release(struct merging *m)
{
    struct err ignored = ERR_INIT; /* what stays has a name that git's own prune clears away */
    if (m->quarantine) {
        quarantine_let_go(m->quarantine);
        (void)!fs_remove_tree(AT_FDCWD, m->quarantine, &ignored);
    }
    free(m->into);
    free(m->target_ref);
    places_release(&m->places);
    free(m->quarantine);
    strv_release(&m->env);
    wt_merge_release(&m->result);
}

#define AUTO_MERGING __attribute__((cleanup(merging_release)))

void wt_merge_release(struct wt_merge *m)
{
    for (size_t i = 0; i < m->n_left; i++)
        free(m->left[i].path);
    free(m->left);
    strv_release(&m->conflicts);
    free(m->note);
    free(m->into);
    *m = (struct wt_merge)WT_MERGE_INIT;
}

static void add_note(struct merging *m, const char *note)
{
    char *all = m->result.note ? xasprintf("%s; %s", m->result.note, note) : xstrdup(note);
    free(m->result.note);
    m->result.note = all;
}

static void set_target(struct merging *m, const char *full)
{
    AUTO_FREE char *ref = xstrdup(full); /* may be of what is replaced */
    free(m->into);
    free(m->target_ref);
    free(m->result.into);
    m->into = xstrdup(ref + (strncmp(ref, heads, strlen(heads)) == 0 ? strlen(heads) : 0));
    m->target_ref = xasprintf("%s%s", heads, m->into);
    m->result.into = xstrdup(m->into);
}

static bool take_target(struct merging *m, const struct ref_list *refs, struct err *err)
{
    const struct ref *target = refs_find(refs, m->target_ref);
    const char *oid = target ? target->oid : "";
    if (target && target->symref && strncmp(target->symref, heads, strlen(heads)) != 0)
        return err_set(err, ERR_REFUSED,
                       "%s is another name of %s, which is no branch; say with --into which branch "
                       "is meant",
                       m->into, target->symref);
    if (target && target->symref) /* another name of a branch, which is what moves */
        set_target(m, target->symref);
    AUTO_FREE char *shown = text_clean(m->into);
    AUTO_FREE char *busy = NULL;
    struct err ignored = ERR_INIT;
    if (!*oid) {
        AUTO_FREE char *main_branch = wt_main_branch(m->repo->common_dir, &ignored);
        if (main_branch && strcmp(main_branch, m->into) == 0)
            return err_set(err, ERR_CONFLICT,
                           "%s has no commit yet; commit your own work there first, then merge",
                           shown);
        return err_set(err, ERR_NOT_FOUND, "there is no branch named %s; git branch lists them",
                       shown);
    }
    memcpy(m->graft.target, oid, strlen(oid) + 1);
    memcpy(m->result.target, oid, strlen(oid) + 1);
    busy_rewriting(&busy, m->repo->common_dir, m->target_ref);
    if (busy)
        return err_set(err, ERR_REFUSED,
                       "the branch %s %s, which sets it when it ends; finish that or give it up "
                       "there, then merge. Nothing was changed",
                       shown, busy);
    if (!m->ask->ref_only)
        busy_with(&busy, m->repo->common_dir, m->target_ref);
    return !busy ||
           err_set(err, ERR_REFUSED,
                   "the branch %s %s; finish that or give it up there, then merge, or merge with "
                   "--ref-only, which disturbs no bisection. Nothing was changed",
                   shown, busy);
}

/* Whether the attempt's own tip, where it is apart from a branch that somebody moved, is in that
 * branch too. */
static bool note_apart(struct merging *m, const char *own, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = m->repo->common_dir};
    if (!*own)
        return true;
    if (!gitrun(&r, &g, GIT_ARGS("merge-base", "--is-ancestor", own, m->graft.tip), err))
        return false;
    AUTO_FREE char *note = xasprintf(
        "this is %s as somebody moved it: what the attempt did since is not in, it is at " REFS_OWN
        "%s/head",
        m->ask->branch, refs_attempt_part(m->ask->branch));
    if (r.status != 0)
        add_note(m, note);
    return true;
}

/* The branch, or in its place what the attempt brought home, when somebody has deleted it. */
static bool take_tip(struct merging *m, const struct ref_list *refs, const char *source,
                     struct err *err)
{
    const struct wt_merge_ask *ask = m->ask;
    const char *part = refs_attempt_part(ask->branch);
    AUTO_FREE char *own = xasprintf(REFS_OWN "%s/head", part ? part : "");
    const char *branch = refs_oid(refs, source);
    const char *tip = ask->tip ? ask->tip : *branch ? branch : ask->own_tip;
    if (!tip)
        return err_set(err, ERR_NOT_FOUND, "there is no branch named %s", ask->branch);
    memcpy(m->graft.tip, tip, strnlen(tip, sizeof(m->graft.tip) - 1));
    if (!ask->tip && !*branch) {
        AUTO_FREE char *note =
            xasprintf("the branch %s was deleted, and this is what it held", ask->branch);
        add_note(m, note);
    }
    return ask->tip || !*branch || note_apart(m, refs_oid(refs, own), err);
}

static bool look(struct merging *m, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    AUTO_FREE char *source = xasprintf("%s%s", heads, m->ask->branch);
    const char *part = refs_attempt_part(m->ask->branch);
    AUTO_FREE char *own = xasprintf(REFS_OWN "%s", part ? part : "");
    AUTO_FREE char *into = m->ask->into ? xstrdup(m->ask->into) : NULL;
    if (!into && !merge_into_default(&into, m->repo->common_dir, err))
        return false;
    set_target(m, into);
    if (strcmp(m->target_ref, source) == 0)
        return err_set(err, ERR_USAGE,
                       "a branch is not merged into itself; name another one with --into");
    const char *common = m->repo->common_dir;
    if (!refs_list(&refs, common, GIT_ARGS(source, m->target_ref, own), err) ||
        !take_target(m, &refs, err) || !take_tip(m, &refs, source, err) ||
        !places_of(&m->places, m->repo, m->target_ref, err) || !gitcfg_load(&cfg, common, err))
        return false;
    m->graft.is_signed = gitcfg_bool(&cfg, "commit.gpgsign", false);
    m->graft.common_dir = common;
    m->graft.env = &m->env;
    m->graft.leave_out = m->ask->leave_out;
    m->graft.trailers = m->ask->trailers;
    return true;
}

/* New objects go here first. The name has the process and the branch in it: a leftover is nobody
 * else's. */
static bool make_quarantine(struct merging *m, struct err *err)
{
    AUTO_FREE char *key =
        xasprintf("merge %s into %s by %d", m->ask->branch, m->into, (int)getpid());
    m->quarantine = quarantine_path(m->repo->common_dir, key);
    quarantine_add_env(&m->env, m->quarantine, m->repo->common_dir);
    return quarantine_make(m->quarantine, err);
}

/* How many commits only the target has, and only the tip. */
static bool count_sides(const struct merging *m, long *ret_target, long *ret_tip, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_FREE char *range = xasprintf("%s...%s", m->graft.target, m->graft.tip);
    AUTO_FREE char *without = m->ask->leave_out ? xasprintf("^%s", m->ask->leave_out) : NULL;
    struct gitrun g = {.git_dir = m->repo->common_dir};
    if (!gitrun_line(&out, &g, GIT_ARGS("rev-list", "--left-right", "--count", range, without),
                     err))
        return false;
    char *rest;
    *ret_target = strtol(out.ptr, &rest, 10);
    *ret_tip = strtol(rest, NULL, 10);
    return true;
}

/* Whether the tip's work is in the target already, as one commit or one by one. */
static bool is_known(bool *ret, const struct merging *m, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    const struct graft *g = &m->graft;
    struct gitrun run = {.git_dir = g->common_dir};
    *ret = false;
    if (!gitrun(&r, &run, GIT_ARGS("merge-base", g->target, g->tip), err))
        return false;
    buf_rtrim(&r.out);
    const char *from = g->leave_out ? g->leave_out : r.out.ptr;
    return !gitrun_is_oid(from) || merged_into(ret, g->common_dir, from, g->tip, g->target, err);
}

/* Conflicts with what is known, and was changed there since, are none. */
static bool forget_known(struct merging *m, char ret_new[65], struct err *err)
{
    bool is_in = false;
    if (m->result.conflicts.n == 0)
        return true;
    if (!is_known(&is_in, m, err))
        return false;
    if (is_in) {
        strv_release(&m->result.conflicts);
        memcpy(ret_new, m->graft.target, sizeof(m->graft.target));
    }
    return true;
}

static bool make_merge(struct merging *m, char ret_new[65], struct err *err)
{
    struct graft *g = &m->graft;
    char tree[65], target_tree[65];
    AUTO_FREE char *message =
        m->ask->message ? xstrdup(m->ask->message) : merge_message(m->ask->branch, m->into);
    if (!graft_tree_of(target_tree, g, g->target, err) ||
        !graft_merge_trees(tree, &m->result.conflicts, g, g->target, g->tip, err))
        return false;
    bool brings_nothing = m->result.conflicts.n == 0 && strcmp(tree, target_tree) == 0;
    bool is_in = false;
    if (brings_nothing && !is_known(&is_in, m, err))
        return false;
    if (is_in)
        memcpy(ret_new, g->target, sizeof(g->target));
    return is_in || m->result.conflicts.n > 0 ||
           graft_commit(ret_new, g, tree, g->target, g->tip, message, NULL, err);
}

static bool make_squash(struct merging *m, bool is_ahead, char ret_new[65], struct err *err)
{
    struct graft *g = &m->graft;
    struct strv *conflicts = &m->result.conflicts;
    AUTO_STRV struct strv author = STRV_INIT;
    char tree[65], target_tree[65];
    if (!graft_tree_of(target_tree, g, g->target, err) || !graft_only_author(&author, g, err) ||
        !graft_squash(tree, conflicts, g, is_ahead, err))
        return false;
    if (m->result.conflicts.n > 0)
        return true;
    if (strcmp(tree, target_tree) == 0) {
        memcpy(ret_new, g->target, sizeof(g->target));
        return true;
    }
    AUTO_FREE char *message =
        m->ask->message ? xstrdup(m->ask->message) : merge_squash_message(m->ask->branch, g);
    return graft_commit(ret_new, g, tree, g->target, NULL, message, author.n ? &author : NULL, err);
}

/* The commit that the target is to become; the target itself when there is nothing to do. */
static bool compute(struct merging *m, char ret_new[65], struct err *err)
{
    const struct graft *g = &m->graft;
    long target_only = 0, tip_only = 0;
    if (!count_sides(m, &target_only, &tip_only, err))
        return false;
    if (tip_only == 0) {
        memcpy(ret_new, m->graft.target, sizeof(m->graft.target));
        return true;
    }
    bool is_ahead = target_only == 0;
    bool is_resigned = g->is_signed && m->how == WT_MERGE_REBASE;
    bool is_made = g->trailers || g->leave_out || is_resigned; /* there is no way around a commit */
    if (is_ahead && m->how != WT_MERGE_SQUASH && !is_made) {
        m->result.was_ff = true;
        memcpy(ret_new, m->graft.tip, sizeof(m->graft.tip));
        return true;
    }
    /* A tip that took its target in resolved conflicts there; commit by commit they would come
     * again. */
    bool took_target = false;
    if (is_ahead && g->leave_out && m->how == WT_MERGE_REBASE &&
        !graft_has_merges(&took_target, g, err))
        return false;
    switch (took_target ? WT_MERGE_SQUASH : m->how) {
    case WT_MERGE_AUTO:
        return make_merge(m, ret_new, err);
    case WT_MERGE_SQUASH:
        return make_squash(m, is_ahead, ret_new, err);
    case WT_MERGE_REBASE:
        return graft_rebase(ret_new, &m->result.conflicts, &m->graft, err);
    }
    return err_set(err, ERR_INTERNAL, "unknown way to merge");
}

static void note_left(struct merging *m)
{
    struct wt_merge *result = &m->result;
    result->left = xreallocarray(NULL, m->places.n, sizeof(*result->left));
    for (size_t i = 0; i < m->places.n; i++) {
        const struct place *p = &m->places.v[i];
        result->left[result->n_left++] = (struct wt_left){
            .path = xstrdup(p->path), .doing = places_doing(p), .is_there = p->is_there};
    }
}

/* The branch alone; what has it checked out goes off it. */
static bool move_ref(struct merging *m, const char *new_oid, struct err *err)
{
    AUTO_FREE char *what = xasprintf("merge %s", m->ask->branch);
    const struct leave leave = {
        .repo = m->repo,
        .scratch = m->quarantine,
        .ref = m->target_ref,
        .target = m->graft.target,
        .what = what,
        .places = &m->places,
    };
    if (m->places.n > 0)
        note_left(m);
    return m->ask->dry_run || leave_and_move(&leave, new_oid, err);
}

/* Where files are to be updated; NULL: nowhere. */
static const struct place *landing_place(const struct merging *m)
{
    bool is_one = m->places.n == 1 && m->places.v[0].is_there;
    return is_one && !m->ask->ref_only ? &m->places.v[0] : NULL;
}

/* One of them could be updated, and the next commit in another would take the merge back. */
static bool check_only_place(const struct merging *m, struct err *err)
{
    AUTO_BUF struct buf all = BUF_INIT;
    AUTO_FREE char *into = text_clean(m->into);
    if (m->places.n < 2 || m->ask->ref_only)
        return true;
    for (size_t i = 0; i < m->places.n; i++) {
        AUTO_FREE char *path = text_clean(m->places.v[i].path);
        buf_addf(&all, "%s%s", i ? " and " : "", path);
    }
    return err_set(err, ERR_REFUSED,
                   "%s is checked out at %s, and only one of them could follow, so nothing was "
                   "changed; switch the others to another branch (those that are gone: git "
                   "worktree prune), then merge again, or merge with --ref-only: only the branch "
                   "moves, and they stay as they are, off the branch",
                   into, all.ptr);
}

/* A squash or a rebase leaves the tip outside every branch: this tells discard that it is not lost.
 */
static void remember(const struct merging *m)
{
    const char *part = refs_attempt_part(m->ask->branch);
    if (!part || m->ask->tip || m->result.was_ff || m->how == WT_MERGE_AUTO)
        return;
    AUTO_BUF struct buf tx = BUF_INIT;
    AUTO_FREE char *name = xasprintf(REFS_OWN "%s/merged", part);
    struct err ignored = ERR_INIT; /* then discard asks once more than it must */
    refs_tx_set(&tx, name, m->graft.tip, NULL);
    (void)!refs_tx_run(&tx, m->repo->common_dir, "headgate: merged", &ignored);
}

/* All that the new commit needs and the target has not goes into the pack, also what lies loose in
 * the repository and nothing refers to. What the attempt's own refs hold stays as it is. */
static bool seal(const struct merging *m, const char *new_oid, struct err *err)
{
    AUTO_BUF struct buf revs = BUF_INIT;
    buf_addf(&revs, "%s\n^%s\n", new_oid, m->graft.target);
    if (!m->ask->tip)
        buf_addf(&revs, "^%s\n", m->graft.tip);
    return quarantine_seal(m->quarantine, m->repo->common_dir, &revs, err);
}

static bool apply(struct merging *m, const char *new_oid, struct err *err)
{
    const struct place *place = landing_place(m);
    AUTO_FREE char *moved_subs = NULL;
    const struct landing landing = {
        .checkout = place ? place->path : NULL,
        .doing = place ? places_doing(place) : NULL,
        .quarantine = m->quarantine,
        .env = &m->env,
        .ref = m->target_ref,
        .target = m->graft.target,
    };
    if (!check_only_place(m, err) || (place && !landing_check(&landing, new_oid, err)))
        return false;
    if (m->ask->dry_run)
        return place || move_ref(m, new_oid, err);
    if (!wt_fault(err) || !seal(m, new_oid, err) ||
        !quarantine_migrate(m->quarantine, m->repo->common_dir, err) || !wt_fault(err) ||
        !subs_hold_merged(&moved_subs, m->repo, m->graft.target, new_oid, err) ||
        !(place ? landing_update(&landing, new_oid, err) : move_ref(m, new_oid, err)))
        return false;
    if (moved_subs)
        add_note(m, moved_subs);
    remember(m);
    return true;
}

static bool merge_once(struct wt_merge *ret, bool *ret_disturbed, const struct wt_repo *repo,
                       const struct wt_merge_ask *ask, struct err *err)
{
    bool is_rebase = ask->leave_out && ask->how == WT_MERGE_AUTO;
    AUTO_MERGING struct merging m = {
        .repo = repo,
        .ask = ask,
        .how = is_rebase ? WT_MERGE_REBASE : ask->how,
        .env = STRV_INIT,
        .result = WT_MERGE_INIT,
    };
    char new_oid[65] = "";
    if (!look(&m, err) || !make_quarantine(&m, err))
        return false;
    bool ok = wt_fault(err) && compute(&m, new_oid, err) && forget_known(&m, new_oid, err);
    if (ok && m.result.conflicts.n == 0) {
        m.result.up_to_date = strcmp(new_oid, m.graft.target) == 0;
        if (!m.result.up_to_date) {
            memcpy(m.result.commit, new_oid, sizeof(new_oid));
            ok = apply(&m, new_oid, err);
        }
    }
    *ret_disturbed =
        ok ? m.result.conflicts.n > 0 && !quarantine_is_whole(m.quarantine)
           : !quarantine_is_whole(m.quarantine) || (err->code == ERR_FAILED && !m.graft.is_signed);
    if (!ok)
        return false;
    *ret = m.result;
    m.result = (struct wt_merge)WT_MERGE_INIT;
    return true;
}

/* A person's `git gc --prune=now` takes what is in quarantine, and git then says anything. Nothing
 * has changed until it is done, so it is done again; not where somebody would be asked once more
 * for the word of a key. */
bool wt_merge(struct wt_merge *ret, const struct wt_repo *repo, const struct wt_merge_ask *ask,
              struct err *err)
{
    for (int i = 1;; i++) {
        struct wt_merge result = WT_MERGE_INIT;
        struct err why = ERR_INIT;
        bool is_disturbed = false;
        bool ok = merge_once(&result, &is_disturbed, repo, ask, &why);
        if (is_disturbed && i < TRIES) {
            wt_merge_release(&result);
            continue;
        }
        if (ok && is_disturbed) { /* conflicts that may be none */
            wt_merge_release(&result);
            return err_set(err, ERR_FAILED,
                           "a prune of the repository (git gc --prune=now) took what the merge was "
                           "making, nothing was changed; merge again when it is over");
        }
        if (ok)
            *ret = result;
        else
            *err = why;
        return ok;
    }
}
