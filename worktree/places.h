/*
 * places: the worktrees of a repository that have a branch checked out. git allows one, and with
 * --force any number; one whose folder is gone, or on a disk that is not there now, has it too, for
 * its index is as old as it was.
 */
#ifndef WORKTREE_PLACES_H
#define WORKTREE_PLACES_H

#include "worktree/worktree.h"

struct place {
    char *path;    /* its folder, raw */
    char *git_dir; /* its own git folder */
    char *head;    /* its HEAD, as a ref that every worktree knows: "worktrees/side/HEAD" */
    bool is_there; /* its folder is */
};

struct places {
    struct place *v;
    size_t n;
};
#define PLACES_INIT \
    {               \
        .v = NULL   \
    }
#define AUTO_PLACES __attribute__((cleanup(places_release)))
void places_release(struct places *p);

/* Those that have the branch, the main one first. What is detached, as every host face and every
 * rebase is, does not count. */
bool places_of(struct places *ret, const struct wt_repo *repo, const char *full_ref,
               struct err *err) WARN_UNUSED;
bool places_are_same(const struct places *a, const struct places *b);
/* What is under way in a worktree and not finished, in git's words: "merge", "cherry-pick",
 * "revert", "am"; NULL: nothing. Static. */
const char *places_doing(const struct place *p);

#endif
