/*
 * merged: whether work is in a branch although its commits are not: squashed or picked there by
 * somebody, as the merge button of a hosting service does. By patch identity, so that "yes" means
 * that the very same change is a commit there; a change that was edited on the way counts as not
 * merged.
 */
#ifndef WORKTREE_MERGED_H
#define WORKTREE_MERGED_H

#include "worktree/worktree.h"

/* Whether all of base..tip is in the branch of the main checkout or in a remote's default branch:
 * as one commit, or commit by commit. Blocks for twenty seconds at most, and then says no. */
bool merged_elsewhere(bool *ret, const char *common_dir, const char *base, const char *tip,
                      struct err *err) WARN_UNUSED;
/* The same for one commit, whose history is looked at. */
bool merged_into(bool *ret, const char *common_dir, const char *base, const char *tip,
                 const char *target, struct err *err) WARN_UNUSED;

#endif
