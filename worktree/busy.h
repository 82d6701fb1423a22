/*
 * busy: whether an operation of the person's that is not finished, a rebase or a bisection, has a
 * branch in hand. HEAD is detached meanwhile, so no worktree has the branch checked out; yet git
 * will set it in the end, to what it was at the start when the person gives up. Whoever moves it
 * meanwhile loses what it was moved to. git(1) refuses the same (`git branch -f`).
 */
#ifndef WORKTREE_BUSY_H
#define WORKTREE_BUSY_H

#include "worktree/worktree.h"

/* *ret: a clause for people, "is being rebased at PATH", allocated; NULL: the branch is free. What
 * cannot be read counts as free: it is git's to complain of. */
void busy_with(char **ret, const char *common_dir, const char *full_ref);
/* The same for what will set the branch when it ends: a rebase. A bisection only goes back to it,
 * wherever it is by then. */
void busy_rewriting(char **ret, const char *common_dir, const char *full_ref);
/* Short name of the branch that is being rebased in the worktree of a git folder, allocated; NULL:
 * none. */
char *busy_branch(const char *git_dir);

#endif
