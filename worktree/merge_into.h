/* merge_into: the branch that a merge is for when nobody named one. */
#ifndef WORKTREE_MERGE_INTO_H
#define WORKTREE_MERGE_INTO_H

#include "runner/base/err.h"

/* *ret, allocated: the short name of the branch of the main checkout, also while it is rebased
 * there, or of a bare repository's HEAD. ERR_USAGE: it is on none, with the words that name the one
 * that it was on. */
bool merge_into_default(char **ret, const char *common_dir, struct err *err) WARN_UNUSED;

#endif
