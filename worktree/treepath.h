/*
 * treepath: questions about paths inside a worktree, answered by the letter, without looking at any
 * file.
 */
#ifndef WORKTREE_TREEPATH_H
#define WORKTREE_TREEPATH_H

#include <stdbool.h>

/* True when a symlink at path (relative to the top of the tree) with this target cannot lead out of
 * the tree, whatever other symlinks that stay are on its way. Hence ".." counts only at the
 * target's beginning, where it leaves folders that hold the link itself; behind a name it may leave
 * the folder that another link leads to, and the answer is false. */
bool treepath_link_stays(const char *path, const char *target);

#endif
