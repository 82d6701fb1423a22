/* subs_merge: commits of submodules that a merge makes the person's branch record. */
#ifndef WORKTREE_SUBS_MERGE_H
#define WORKTREE_SUBS_MERGE_H

#include "worktree/worktree.h"

/* Hold, in the person's copies, every commit of a submodule that differs between two commits.
 * *ret_note: a sentence, allocated, or NULL when no submodule moved. */
bool subs_hold_merged(char **ret_note, const struct wt_repo *repo, const char *from, const char *to,
                      struct err *err) WARN_UNUSED;

#endif
