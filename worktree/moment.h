/*
 * moment: when all that a worktree holds was known last: its last harvest with a snapshot, else its
 * creation. What changed later is nowhere else, and discard asks.
 */
#ifndef WORKTREE_MOMENT_H
#define WORKTREE_MOMENT_H

#include <time.h>

#include "worktree/attempt.h"

/* It was made, and `made` is the record of that: whatever is written from here on is later. */
bool moment_made(const struct wt_attempt *a, const char *made, struct err *err) WARN_UNUSED;
/* Now, before the worktree is read: whatever is written from here on is later. Counts once it is
 * kept. */
bool moment_begin(const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* What was read is at home. */
bool moment_keep(const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* made: name of the record of its creation. False: there is neither. */
bool moment_known(struct timespec *ret, const struct wt_attempt *a, const char *made) WARN_UNUSED;

#endif
