/* merge_message: what the commit of a merge says when nobody gave it words. */
#ifndef WORKTREE_MERGE_MESSAGE_H
#define WORKTREE_MERGE_MESSAGE_H

#include "worktree/graft.h"

/* As git's own. Allocated. */
char *merge_message(const char *branch, const char *into);
/* With the subjects of what is squashed. Allocated. */
char *merge_squash_message(const char *branch, const struct graft *g);

#endif
