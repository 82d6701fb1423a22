/*
 * leave: a branch moves, and the checkouts that have it stay as they are, off the branch. Their
 * files and indexes are not touched; each HEAD is detached at the commit on which it stands, as
 * `git checkout --detach` does it, and `git switch BRANCH` there goes back with the person's
 * changes, or refuses.
 *
 * A HEAD that named the moved branch above an index of the old commit would have the person's next
 * commit take back what the branch was moved to. So:
 * 1. all HEADs and the branch are locked and compared before any of them changes;
 * 2. the HEADs change first;
 * 3. whoever dies before that has changed nothing; in between, the checkouts are detached at the
 *    commit that the branch is still at, which loses nothing.
 */
#ifndef WORKTREE_LEAVE_H
#define WORKTREE_LEAVE_H

#include "worktree/places.h"

struct leave {
    const struct wt_repo *repo;
    const char *scratch;         /* an own folder, in which one more is made */
    const char *ref;             /* the branch, in full */
    const char *target;          /* the commit that it is at */
    const char *what;            /* for the reflogs: "merge headgate/3/1" */
    const struct places *places; /* all that have it; none: the branch alone moves */
};

/* ERR_CONFLICT: somebody moved the branch or a HEAD, took the branch elsewhere, or has a lock.
 * Nothing was changed on failure, or the sentence says what was. */
bool leave_and_move(const struct leave *l, const char *new_oid, struct err *err) WARN_UNUSED;

#endif
