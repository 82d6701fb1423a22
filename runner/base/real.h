/*
 * real: where a path leads: symbolic links followed, `.`, `..` and doubled slashes resolved as the
 * kernel does, also when the last components do not exist yet.
 *
 * What it tells was true when it was asked; whoever acts on the path opens it so that a change
 * cannot matter (fs_open_beneath).
 */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include <stdbool.h>

/* The real path of an absolute path as it is seen below root ("" for this process's own),
 * allocated; links lead within root. NULL: too many links, or a component that cannot be looked at.
 * Blocks. */
char *real_path(const char *root, const char *path);
/* The first executable file of this name in the folders of PATH (separated by colons), as PATH
 * spells it, seen below root as above; allocated. NULL: there is none, or *ret_is_relative: a
 * folder that comes before it is not absolute, so that it depends on where the caller stands.
 * Blocks. */
char *real_program(const char *root, const char *path, const char *name, bool *ret_is_relative);

#endif
