/*
 * subvol: btrfs subvolumes, as an account without rights may use them (btrfs-subvolume(8),
 * <linux/btrfs.h>; measured on Linux 6.18).
 *
 * Anybody may make one in a folder of theirs and take a snapshot of one that is theirs. Removing
 * one at once needs root, or a mount with user_subvol_rm_allowed; emptied like any folder it goes
 * by rmdir(2). Inside the same mount a subvolume is no mount point, but nothing can be renamed out
 * of it. All of it blocks.
 */
#ifndef BASE_SUBVOL_H
#define BASE_SUBVOL_H

#include <stdbool.h>
#include "runner/base/err.h"

/* Make an empty one. Anything but a btrfs: ERR_SYS with ENOTTY. */
bool subvol_create(const char *path, struct err *err) WARN_UNUSED;
/* A writable copy at `path`, which shares all content and keeps every inode number and time. */
bool subvol_snapshot(const char *from, const char *path, struct err *err) WARN_UNUSED;
/* The open folder is the top of one. */
bool subvol_is(int fd);
/* Remove it, open as fd and called name in dirfd, at once with all that it holds; false where that
 * is not allowed: it can then be emptied, also when it was read-only. */
bool subvol_drop(int dirfd, const char *name, int fd);

#endif
