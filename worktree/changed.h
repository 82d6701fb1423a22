/*
 * changed: whether anything in a folder is newer than a moment, by the kernel's own change times.
 */
#ifndef WORKTREE_CHANGED_H
#define WORKTREE_CHANGED_H

#include <stdbool.h>
#include <time.h>

/* True when the folder root (or root/below, unless NULL) or anything in it changed after that
 * moment, or cannot be looked at. An absent folder has not changed. True as well while that moment
 * is still to come: the clock was set back, and what changed since looks older. Below root no
 * symlink is followed. */
bool changed_since(const char *root, const char *below, const struct timespec *when);

#endif
