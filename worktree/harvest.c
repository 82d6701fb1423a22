/*
 * harvest: the box's commits into the person's repository. The box is asked, its pack is checked in
 * quarantine, the objects move in, and one transaction sets the refs. Until that transaction
 * nothing that a person sees has changed; a harvest that failed or died at any point is simply done
 * again, since the box still has everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/attempt.h"
#include "worktree/busy.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/harvest_box.h"
#include "worktree/include.h"
#include "worktree/left.h"
#include "worktree/lfs.h"
#include "worktree/meanwhile.h"
#include "worktree/moment.h"
#include "worktree/quarantine.h"
#include "worktree/record.h"
#include "worktree/refs.h"
#include "worktree/repo.h"
#include "worktree/review.h"
#include "worktree/subs.h"

enum { TRIES = 5 };

/* Every ref that an attempt owns has one of these names. */
struct names {
    char *public, *own, *keep, *harvested, *head, *snapshot;
};

struct homecoming {
    const struct wt_attempt *a;
    bool with_snapshot;
    struct names names;
    struct meanwhile meanwhile;
    struct ref_list known; /* refs of the repository at the beginning */
    bool has_quarantine;
    struct harvest_box box;
    const char *tip; /* borrowed from box, or NULL: the box has no commit at all */
    char *quarantine;
};

static void make_names(struct names *n, const struct wt_attempt *a)
{
    const char *part = refs_attempt_part(a->branch);
    n->public = xasprintf("refs/heads/%s", a->branch);
    n->own = xasprintf(REFS_OWN "%s/", part);
    n->keep = xasprintf(REFS_KEEP "%s/", part);
    n->harvested = xasprintf("%sharvested", n->own);
    n->head = xasprintf("%shead", n->own);
    n->snapshot = xasprintf("%ssnapshot", n->own);
}

static void homecoming_release(struct homecoming *h)
{
    free(h->names.public);
    free(h->names.own);
    free(h->names.keep);
    free(h->names.harvested);
    free(h->names.head);
    free(h->names.snapshot);
    free(h->quarantine);
    meanwhile_release(&h->meanwhile);
    refs_release(&h->known);
    harvest_box_release(&h->box);
}

#define AUTO_HOMECOMING __attribute__((cleanup(homecoming_release)))

void wt_harvest_release(struct wt_harvest *h)
{
    free(h->note);
    strv_release(&h->review);
    *h = (struct wt_harvest){.note = NULL};
}

/* The box's refs/heads/x is our refs/headgate/RUN/N/heads/x. Allocated. */
static char *own_name(const struct names *n, const char *box_ref)
{
    return xasprintf("%s%s", n->own, box_ref + strlen("refs/"));
}

/* The box's own branch at its HEAD is what the public branch is for. */
static bool is_public(const struct homecoming *h, const struct ref *ref)
{
    return strcmp(ref->name, h->names.public) == 0 && strcmp(ref->oid, h->box.head) == 0;
}

static void keep(const struct homecoming *h, const struct ref_list *now, struct strv *kept,
                 struct buf *tx, const char *oid)
{
    AUTO_FREE char *name = xasprintf("%s%s", h->names.keep, oid);
    if (refs_find(now, name) || strv_has(kept, oid))
        return;
    strv_push(kept, oid);
    refs_tx_set(tx, name, oid, "");
}

static void set_if_new(struct buf *tx, const struct ref_list *now, const char *name,
                       const char *oid)
{
    const char *old = refs_oid(now, name);
    if (strcmp(old, oid) != 0)
        refs_tx_set(tx, name, oid, old);
}

static bool is_box_ref(const struct names *n, const char *name)
{
    static const char *const kinds[] = {"heads/", "tags/", "stash/", "worktrees/", "other/"};
    size_t len = strlen(n->own);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strncmp(name, n->own, len) == 0 && strncmp(name + len, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

/* What the box no longer has goes first and in a transaction of its own: its name may have become a
 * folder. The commits stay under their keep refs. */
static bool drop_stale(const struct homecoming *h, const struct ref_list *now, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    size_t len = strlen(h->names.own);
    for (size_t i = 0; i < now->n; i++) {
        if (!is_box_ref(&h->names, now->v[i].name))
            continue;
        AUTO_FREE char *box_name = xasprintf("refs/%s", now->v[i].name + len);
        if (!refs_find(&h->box.refs, box_name))
            refs_tx_delete(&tx, now->v[i].name, now->v[i].oid);
    }
    return refs_tx_run(&tx, h->a->repo, "headgate: harvest", err);
}

/* Why the public branch is not to be moved, allocated; NULL when it may be. */
static char *obstacle(const struct homecoming *h, const struct ref_list *now, struct err *err)
{
    const char *current = refs_oid(now, h->names.public);
    const char *last = refs_oid(now, h->names.harvested);
    if (!*current)
        return xasprintf("the branch %s was deleted", h->a->branch);
    if (strcmp(current, last) != 0)
        return xasprintf("the branch %s was moved by somebody else", h->a->branch);
    char *busy = NULL, *path = NULL;
    busy_with(&busy, h->a->repo, h->names.public);
    if (busy) {
        AUTO_FREE char *clause = busy;
        return xasprintf("the branch %s %s", h->a->branch, clause);
    }
    if (!repo_checkout_of(&path, h->a->repo, h->names.public, err) || !path)
        return NULL;
    AUTO_FREE char *held = path;
    AUTO_FREE char *shown = text_clean(held);
    return xasprintf("the branch %s is checked out at %s", h->a->branch, shown);
}

static void set_tip(struct homecoming *h, const struct ref_list *now, bool may_move, struct buf *tx)
{
    const char *head = refs_oid(now, h->names.head);
    if (!may_move) {
        set_if_new(tx, now, h->names.head, h->tip);
        return;
    }
    set_if_new(tx, now, h->names.public, h->tip);
    set_if_new(tx, now, h->names.harvested, h->tip);
    if (*head)
        refs_tx_delete(tx, h->names.head, head);
}

static void set_others(const struct homecoming *h, const struct ref_list *now, struct strv *kept,
                       struct buf *tx)
{
    for (size_t i = 0; i < h->box.refs.n; i++) {
        const struct ref *ref = &h->box.refs.v[i];
        if (is_public(h, ref))
            continue;
        AUTO_FREE char *name = own_name(&h->names, ref->name);
        set_if_new(tx, now, name, ref->oid);
        keep(h, now, kept, tx, ref->oid);
    }
    const char *old = refs_oid(now, h->names.snapshot);
    if (*h->box.snapshot)
        set_if_new(tx, now, h->names.snapshot, h->box.snapshot);
    else if (h->with_snapshot && *old)
        refs_tx_delete(tx, h->names.snapshot, old);
}

/* One attempt at the transaction. *ret_obstacle: why the public branch stayed, allocated or NULL.
 */
static bool set_refs_once(struct homecoming *h, char **ret_obstacle, struct err *err)
{
    AUTO_REF_LIST struct ref_list now = REF_LIST_INIT;
    AUTO_BUF struct buf tx = BUF_INIT;
    AUTO_STRV struct strv kept = STRV_INIT;
    if (!refs_list_attempt(&now, h->a->repo, h->a->branch, err) || !drop_stale(h, &now, err))
        return false;
    AUTO_FREE char *why = NULL;
    if (h->tip) {
        bool is_there = strcmp(refs_oid(&now, h->names.public), h->tip) == 0;
        struct err problem = ERR_INIT;
        if (!is_there)
            why = obstacle(h, &now, &problem);
        if (problem.code != ERR_NONE) {
            *err = problem;
            return false;
        }
        set_tip(h, &now, !why, &tx);
        keep(h, &now, &kept, &tx, h->tip);
    }
    if (*h->box.head)
        keep(h, &now, &kept, &tx, h->box.head);
    set_others(h, &now, &kept, &tx);
    if (!refs_tx_run(&tx, h->a->repo, "headgate: harvest", err))
        return false;
    *ret_obstacle = steal_ptr(&why);
    return true;
}

/* A person may move the branch between the look and the transaction: then look again. */
static bool set_refs(struct homecoming *h, char **ret_obstacle, struct err *err)
{
    for (int i = 1;; i++) {
        struct err why = ERR_INIT;
        if (set_refs_once(h, ret_obstacle, &why))
            return true;
        if (i == TRIES) {
            *err = why;
            return err_prefix(err, "cannot set the refs of attempt %s", h->a->id);
        }
    }
}

static void list_tips(const struct homecoming *h, struct buf *tips)
{
    if (h->tip)
        buf_addf(tips, "%s\n", h->tip);
    for (size_t i = 0; i < h->box.refs.n; i++)
        buf_addf(tips, "%s\n", h->box.refs.v[i].oid);
}

/* Before the commits that need them. */
static bool import_lfs(const struct homecoming *h, struct err *err)
{
    struct err ignored = ERR_INIT;
    AUTO_FD int own = attempt_open_git(h->a, "lfs/objects");
    AUTO_FD int dir = fs_open_dir(AT_FDCWD, h->a->dir, &ignored);
    AUTO_FD int new =
        dir < 0 ? -1
                : fs_open_beneath(dir, "scratch/lfs/objects", O_RDONLY | O_DIRECTORY, 0, &ignored);
    return lfs_bring_home(own, h->a->repo, err) && lfs_bring_home(new, h->a->repo, err);
}

static bool import(struct homecoming *h, struct err *err)
{
    AUTO_BUF struct buf tips = BUF_INIT;
    if (!import_lfs(h, err))
        return false;
    if (h->box.pack_fd < 0)
        return true;
    list_tips(h, &tips);
    h->has_quarantine = true;
    return quarantine_fill(h->quarantine, h->a, h->box.pack_fd, &tips, err) && wt_fault(err) &&
           quarantine_migrate(h->quarantine, h->a->repo, err) && wt_fault(err);
}

static bool summarise(struct wt_harvest *ret, const struct homecoming *h, struct err *err)
{
    const struct wt_attempt *a = h->a;
    AUTO_BUF struct buf count = BUF_INIT;
    AUTO_TREEDIFF struct treediff diff = TREEDIFF_INIT;
    AUTO_FREE char *range = xasprintf("%s..%s", a->base, ret->tip);
    struct gitrun g = {.git_dir = a->repo};
    if (!gitrun_line(&count, &g, GIT_ARGS("rev-list", "--count", range), err) ||
        !treediff_get(&diff, a->repo, a->base, ret->tip, err))
        return false;
    ret->commits = strtoll(count.ptr, NULL, 10);
    ret->files = (int64_t)diff.n;
    left_add_review(&ret->review, &h->box);
    return review_list(&ret->review, a->repo, &diff, a->hooks_in_tree, err);
}

static void add_sentence(struct buf *note, const char *text)
{
    if (note->len > 0)
        buf_adds(note, "; ");
    buf_adds(note, text);
}

static char *make_note(const struct homecoming *h, const char *obstacle)
{
    AUTO_BUF struct buf note = BUF_INIT;
    if (obstacle)
        buf_addf(&note, "%s; the attempt's own tip is at %s", obstacle, h->names.head);
    left_add_note(&note, &h->box);
    if (h->box.note.len > 0)
        add_sentence(&note, h->box.note.ptr);
    AUTO_FREE char *held_back = include_note(h->a->dir);
    if (held_back)
        add_sentence(&note, held_back);
    return note.len > 0 ? buf_steal(&note) : NULL;
}

/* A git that was killed with its box leaves locks, which would stop every git of a resumed one. */
static void clear_locks(const struct wt_attempt *a)
{
    static const char *const locks[] = {"index.lock", "HEAD.lock", "packed-refs.lock",
                                        "config.lock", "shallow.lock"};
    AUTO_FD int gitdir = attempt_open_git(a, ".");
    for (size_t i = 0; gitdir >= 0 && i < ARRAY_LEN(locks); i++)
        unlinkat(gitdir, locks[i], 0);
}

static bool bring_home(struct wt_harvest *ret, struct homecoming *h, wt_box_fn run_in_box,
                       void *arg, struct err *err)
{
    AUTO_FREE char *why = NULL;
    const char *const *patterns =
        GIT_ARGS("refs/heads", "refs/remotes", "refs/tags", h->names.own, h->names.keep);
    meanwhile_begin(&h->meanwhile, h->a->repo);
    refs_release(&h->known);
    harvest_box_release(&h->box);
    h->has_quarantine = false;
    if (!refs_list(&h->known, h->a->repo, patterns, err))
        return false;
    struct harvest_ask ask = {
        .a = h->a,
        .with_snapshot = h->with_snapshot,
        .known = &h->known,
        .last_snapshot = refs_oid(&h->known, h->names.snapshot),
        .run_in_box = run_in_box,
        .arg = arg,
    };
    if ((h->with_snapshot && !moment_begin(h->a, err)) || !harvest_box_run(&h->box, &ask, err))
        return false;
    if (h->with_snapshot)
        clear_locks(h->a);
    h->tip = *h->box.snapshot ? h->box.snapshot : *h->box.head ? h->box.head : NULL;
    if (!import(h, err) || !set_refs(h, &why, err) || !wt_fault(err) ||
        (h->with_snapshot && (!left_keep(h->a, &h->box, err) || !moment_keep(h->a, err))))
        return false;
    const char *tip = h->tip ? h->tip : h->a->base;
    memcpy(ret->tip, tip, strlen(tip) + 1);
    memcpy(ret->snapshot, h->box.snapshot, sizeof(ret->snapshot));
    ret->branch_moved = !why;
    ret->note = make_note(h, why);
    return summarise(ret, h, err);
}

/* A person's `git gc --prune=now` or `git prune` takes what is on its way in, and a branch that is
 * deleted then takes what the box took for granted; the box still has everything. */
static bool was_disturbed(const struct homecoming *h)
{
    return (h->has_quarantine && !quarantine_is_whole(h->quarantine)) ||
           meanwhile_is_different(&h->meanwhile, h->a->repo, &h->known, h->names.public);
}

static bool harvest_here(struct wt_harvest *ret, const struct wt_attempt *a, bool with_snapshot,
                         wt_box_fn run_in_box, void *arg, struct err *err)
{
    AUTO_HOMECOMING struct homecoming h = {
        .a = a,
        .with_snapshot = with_snapshot,
        .meanwhile = MEANWHILE_INIT,
        .known = REF_LIST_INIT,
        .box = HARVEST_BOX_INIT,
        .quarantine = quarantine_path(a->repo, a->dir),
    };
    struct wt_harvest harvest = {.note = NULL};
    make_names(&h.names, a);
    AUTO_FREE char *extra = xasprintf("quarantine=%s", h.quarantine);
    if (!attempt_begin(a, OP_HARVEST, extra, err))
        return false;
    bool is_done = false;
    for (int i = 1; !is_done && (i == 1 || (i <= TRIES && was_disturbed(&h))); i++) {
        *err = (struct err)ERR_INIT;
        wt_harvest_release(&harvest);
        is_done = attempt_sweep_harvest(a->dir, h.quarantine, err) && wt_fault(err) &&
                  bring_home(&harvest, &h, run_in_box, arg, err);
    }
    struct err sweep = ERR_INIT;
    if (!attempt_sweep_harvest(a->dir, h.quarantine, &sweep) || !attempt_end(a, &sweep)) {
        if (is_done)
            *err = sweep;
        is_done = false;
    }
    if (!is_done) {
        wt_harvest_release(&harvest);
        return false;
    }
    *ret = harvest;
    return true;
}

/* What a submodule brings is told with the rest. */
static void take_over(struct wt_harvest *all, const struct wt_sub *sub, const struct wt_harvest *h)
{
    AUTO_BUF struct buf note = BUF_INIT;
    AUTO_FREE char *shown = text_clean(sub->path);
    if (all->note)
        buf_addf(&note, "%s; ", all->note);
    if (h->commits > 0)
        buf_addf(&note, "submodule %s: %" PRId64 " commit%s on a branch of the same name there",
                 shown, h->commits, h->commits == 1 ? "" : "s");
    if (h->note)
        buf_addf(&note, "%ssubmodule %s: %s", h->commits > 0 ? "; " : "", shown, h->note);
    for (size_t i = 0; i < h->review.n; i++) {
        const char *tab = strchr(h->review.v[i], '\t');
        if (tab)
            strv_pushf(&all->review, "%.*s\t%s/%s", (int)(tab - h->review.v[i]), h->review.v[i],
                       shown, tab + 1);
    }
    if (h->commits == 0 && !h->note)
        return;
    free(all->note);
    all->note = buf_steal(&note);
}

static bool harvest_sub(struct wt_harvest *all, const struct wt_attempt *a, size_t i,
                        bool with_snapshot, wt_box_fn run_in_box, void *arg, struct err *err)
{
    AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    subs_view(&s, a, i);
    AUTO_FD int gitdir = attempt_open_git(&s, ".");
    if (gitdir < 0 || !fs_is_dir(s.repo)) /* the agent or the person removed it */
        return true;
    if (!refs_list_attempt(&refs, s.repo, s.branch, err))
        return false;
    if (!subs_has_news(a, &s, i, with_snapshot) && refs.n == 0)
        return true;
    if ((refs.n == 0 && !attempt_make_refs(&s, NULL, err)) ||
        !harvest_here(&h, &s, with_snapshot, run_in_box, arg, err))
        return err_prefix(err, "submodule %s", a->subs.v[i].path);
    take_over(all, &a->subs.v[i], &h);
    return true;
}

/* Submodules first: the attempt's own commits record theirs. */
bool wt_harvest(struct wt_harvest *ret, const struct wt_attempt *a, bool with_snapshot,
                wt_box_fn run_in_box, void *arg, struct err *err)
{
    AUTO_WT_HARVEST struct wt_harvest subs = WT_HARVEST_INIT;
    struct wt_harvest h = WT_HARVEST_INIT;
    for (size_t i = 0; i < a->subs.n; i++)
        if (!harvest_sub(&subs, a, i, with_snapshot, run_in_box, arg, err))
            return false;
    if (!harvest_here(&h, a, with_snapshot, run_in_box, arg, err))
        return false;
    strv_push_all(&h.review, strv_array(&subs.review));
    if (subs.note && h.note) {
        char *both = xasprintf("%s; %s", h.note, subs.note);
        free(h.note);
        h.note = both;
    } else if (subs.note) {
        h.note = steal_ptr(&subs.note);
    }
    *ret = h;
    return true;
}
