/*
 * clonetree: a folder of files as a copy that shares their content (FICLONE, ioctl_ficlone(2)).
 *
 * Several workers go through the folders at once. Modes, owners, symlinks and modification times
 * are kept; hard links become files of their own, anything else than files, folders and symlinks is
 * an error. For trees that nobody changes meanwhile.
 */
#ifndef WORKTREE_CLONETREE_H
#define WORKTREE_CLONETREE_H

#include <stdbool.h>
#include "runner/base/err.h"

/* Make `to`, which does not exist, from `from`, on one file system. On failure a part may be there.
 */
bool clonetree(const char *from, const char *to, struct err *err) WARN_UNUSED;
/* Make `to` share the content of the file `from`: the least of it, for a probe. */
bool clonetree_file(int from_dirfd, int to_dirfd, const char *name, struct err *err) WARN_UNUSED;

#endif
