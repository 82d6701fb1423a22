/*
 * changes_index: which names git's index has at the top of a worktree. The changes hook needs them:
 * of a file that was there only and is gone, nothing but the index still tells the name.
 */
#ifndef GATE_HOOK_CHANGES_INDEX_H
#define GATE_HOOK_CHANGES_INDEX_H

#include "runner/base/buf.h"

/* Append each name, ended by a NUL; one that has others below it ends in a slash. The working
 * folder is the top of the worktree; the index is the one that the calling git uses. False for what
 * is not known through and through: format version 4, a split index. */
bool changes_index_tops(struct buf *out, struct err *err) WARN_UNUSED;

#endif
