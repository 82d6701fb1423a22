/*
 * repo: what the rest of this folder asks about a repository that a person named.
 */
#ifndef WORKTREE_REPO_H
#define WORKTREE_REPO_H

#include "runner/base/buf.h"
#include "runner/base/strv.h"
#include "worktree/worktree.h"

/* Where a branch is checked out: *ret is the path of that worktree (allocated), NULL for nowhere.
 * Detached worktrees, and so every host face, never count. git(1) is asked, since only it knows
 * every ref format. */
bool repo_checkout_of(char **ret, const char *common_dir, const char *full_ref,
                      struct err *err) WARN_UNUSED;
/* All worktrees as `git worktree list --porcelain -z` has them, the main one first. */
bool repo_list_worktrees(struct buf *out, const char *common_dir, struct err *err) WARN_UNUSED;

#endif
