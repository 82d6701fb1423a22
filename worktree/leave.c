#include "worktree/leave.h"

#include <fcntl.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/busy.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/reftx.h"

static const char *short_name(const struct leave *l)
{
    return l->ref + strlen("refs/heads/");
}

static bool unmoved(const struct leave *l, const struct err *why, struct err *err)
{
    AUTO_FREE char *shown = text_clean(short_name(l));
    return err_set(err, why->code, "the branch %s could not be moved, nothing was changed: %s%s",
                   shown, why->text, why->code == ERR_CONFLICT ? "; merge again" : "");
}

/* git moves no ref beside a lock on the HEAD that names it, so the transactions are those of a
 * worktree of its own, which stands on no branch. *ret is its git folder. */
static bool make_stand(char **ret, const struct leave *l, struct err *err)
{
    AUTO_FREE char *stand = fs_join(l->scratch, "stand");
    AUTO_FREE char *head = fs_join(stand, "HEAD");
    AUTO_FREE char *common = fs_join(stand, "commondir");
    AUTO_FREE char *at = xasprintf("%s\n", l->target);
    AUTO_FREE char *of = xasprintf("%s\n", l->repo->common_dir);
    if (!fs_mkdirs(stand, 0755, err) ||
        !fs_write_plain(AT_FDCWD, head, at, strlen(at), 0644, err) ||
        !fs_write_plain(AT_FDCWD, common, of, strlen(of), 0644, err))
        return false;
    *ret = steal_ptr(&stand);
    return true;
}

/* With everything locked: git compared the commits of the HEADs, not which branch they name, and
 * knows nothing of a rebase that began since and would set the branch back. */
static bool check_places(const struct leave *l, struct err *err)
{
    AUTO_PLACES struct places now = PLACES_INIT;
    AUTO_FREE char *busy = NULL;
    if (!places_of(&now, l->repo, l->ref, err))
        return false;
    if (!places_are_same(&now, l->places))
        return err_set(err, ERR_CONFLICT,
                       "somebody switched a checkout to it or away from it meanwhile");
    busy_rewriting(&busy, l->repo->common_dir, l->ref);
    return !busy || err_set(err, ERR_CONFLICT, "by now it %s", busy);
}

/* Whether it is as the detached HEAD that was made of it. */
static bool is_left(const struct place *p, const char *target)
{
    AUTO_BUF struct buf at = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result named = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = p->git_dir};
    struct err ignored = ERR_INIT;
    refs_where(&at, &g, "HEAD");
    return gitrun(&named, &g, GIT_ARGS("symbolic-ref", "-q", "HEAD"), &ignored) &&
           named.status != 0 && strcmp(at.ptr, target) == 0;
}

/* The branch is not where it was to go: its checkouts go back to it, which changes no file either.
 * Not when somebody else moved it, for their indexes are not of that commit. */
static bool take_back(const struct leave *l, bool is_moved, const struct err *why, struct err *err)
{
    AUTO_BUF struct buf stayed = BUF_INIT;
    AUTO_FREE char *shown = text_clean(short_name(l));
    AUTO_FREE char *reason = xasprintf("checkout: moving from %s to %s; headgate: %s, taken back",
                                       l->target, short_name(l), l->what);
    for (size_t i = 0; i < l->places->n; i++) {
        const struct place *p = &l->places->v[i];
        AUTO_BUF struct buf out = BUF_INIT;
        struct gitrun g = {.git_dir = p->git_dir};
        struct err ignored = ERR_INIT; /* told by what stayed */
        if (!is_left(p, l->target) ||
            (!is_moved &&
             gitrun_out(&out, &g, GIT_ARGS("symbolic-ref", "-m", reason, "HEAD", l->ref),
                        &ignored)))
            continue;
        AUTO_FREE char *path = text_clean(p->path);
        buf_addf(&stayed, "%s%s", stayed.len ? ", " : "", path);
    }
    if (stayed.len == 0)
        return unmoved(l, why, err);
    return err_set(err, ERR_CONFLICT,
                   "%s the branch %s, but the checkout at %s is off it now, its files as they "
                   "were: git switch %s there goes back (%s)",
                   is_moved ? "somebody else moved" : "nothing moved", shown, stayed.ptr, shown,
                   why->text);
}

static bool commit_both(const struct leave *l, const char *new_oid, struct reftx *heads,
                        struct reftx *branch, struct err *err)
{
    AUTO_BUF struct buf now = BUF_INIT;
    struct gitrun g = {.git_dir = l->repo->common_dir};
    struct err why = ERR_INIT;
    if ((l->places->n == 0 || reftx_commit(heads, &why)) && wt_fault(&why) &&
        reftx_commit(branch, &why))
        return true;
    refs_where(&now, &g, l->ref); /* git may have died between the deed and its answer */
    return strcmp(now.ptr, new_oid) == 0 ||
           take_back(l, strcmp(now.ptr, l->target) != 0, &why, err);
}

bool leave_and_move(const struct leave *l, const char *new_oid, struct err *err)
{
    AUTO_REFTX struct reftx heads = REFTX_INIT;
    AUTO_REFTX struct reftx branch = REFTX_INIT;
    AUTO_BUF struct buf head_lines = BUF_INIT, branch_lines = BUF_INIT;
    AUTO_FREE char *stand = NULL;
    AUTO_FREE char *reason = xasprintf("headgate: %s", l->what);
    /* The form is git's: by it `git switch -` finds the way back, and status the commit. */
    AUTO_FREE char *moving = xasprintf("checkout: moving from %s to %s; headgate: %s",
                                       short_name(l), l->target, l->what);
    struct err why = ERR_INIT;
    for (size_t i = 0; i < l->places->n; i++)
        refs_tx_set(&head_lines, l->places->v[i].head, l->target, l->target);
    refs_tx_set(&branch_lines, l->ref, new_oid, l->target);
    bool is_held = make_stand(&stand, l, &why) && wt_fault(&why) &&
                   (l->places->n == 0 || reftx_prepare(&heads, stand, &head_lines, moving, &why)) &&
                   wt_fault(&why) && reftx_prepare(&branch, stand, &branch_lines, reason, &why) &&
                   check_places(l, &why) && wt_fault(&why);
    return is_held ? commit_both(l, new_oid, &heads, &branch, err) : unmoved(l, &why, err);
}
