/*
 * fs: files and folders, never following what an agent may have planted.
 *
 * Descriptors are O_CLOEXEC from birth. Functions that take a dirfd and a relative path resolve
 * with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS). All of it blocks.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/stat.h>
#include "runner/base/buf.h"

/* Append at most max_bytes of the file; a longer file is ERR_LIMIT. dirfd may be AT_FDCWD (then
 * symlinks are followed, as for any path that the user named). */
bool fs_read_file(struct buf *out, int dirfd, const char *path, size_t max_bytes,
                  struct err *err) WARN_UNUSED;
/* The same for an open descriptor, from its present offset to its end. */
bool fs_read_fd(struct buf *out, int fd, size_t max_bytes, struct err *err) WARN_UNUSED;
/* Write all, restarting after EINTR. */
bool fs_write_fd(int fd, const void *data, size_t len, struct err *err) WARN_UNUSED;
/* Replace atomically: temporary file beside it, fsync, rename, fsync of the folder. */
bool fs_write_atomic(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                     struct err *err) WARN_UNUSED;
/* Create or truncate without durability (private, re-creatable files). */
bool fs_write_plain(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                    struct err *err) WARN_UNUSED;
/* Ask the file system to put new folders in this one apart from each other (attribute T of
 * chattr(1)): what is made anew then need not be fitted in between what was just removed beside it,
 * which ext4 is slow at for some minutes. A wish: where it cannot be had nothing happens. */
void fs_scatter(const char *path);
/* mkdir -p. An existing folder is fine, anything else there is an error. */
bool fs_mkdirs(const char *path, mode_t mode, struct err *err) WARN_UNUSED;
/* Open below dirfd without following any symlink or leaving it. Returns -1 with err filled. */
int fs_open_beneath(int dirfd, const char *path, int flags, mode_t mode, struct err *err);
/* Open a folder (O_DIRECTORY|O_RDONLY). Returns -1 with err filled. */
int fs_open_dir(int dirfd, const char *path, struct err *err);
/* Remove name below dirfd and all under it, however deep. Follows no symlink, crosses no mount
 * point (ERR_REFUSED), makes mode-000 folders passable first; subvolumes of btrfs go as well.
 * Absent is success. */
bool fs_remove_tree(int dirfd, const char *name, struct err *err) WARN_UNUSED;
/* Copy one regular file with mode and mtime: FICLONE, then copy_file_range, then read/write. The
 * target must not exist. */
bool fs_copy_file(int from_dirfd, const char *from, int to_dirfd, const char *to,
                  struct err *err) WARN_UNUSED;
/* chown -R without following symlinks; what is theirs already keeps its change time. Deeper than 64
 * folders is ERR_LIMIT, a mount point ERR_REFUSED. */
bool fs_chown_tree(int dirfd, const char *name, uid_t uid, gid_t gid, struct err *err) WARN_UNUSED;
bool fs_exists(const char *path); /* lstat succeeds */
bool fs_is_dir(const char *path); /* stat says folder */
/* The name of the file system type when it is a network one ("nfs", "cifs", "fuse.sshfs", "9p",
 * ...), else NULL. Static string. */
const char *fs_network_type(const char *path);
/* Allocated: join with exactly one slash; realpath; folder of; last component (borrowed). */
char *fs_join(const char *a, const char *b);
char *fs_realpath(const char *path, struct err *err);
char *fs_dirname(const char *path);
const char *fs_basename(const char *path);
/* As the paths are written; path NULL: false. Both absolute, without a slash at the end. */
bool fs_is_at_or_below(const char *path, const char *folder);
bool fs_set_nonblock(int fd, struct err *err) WARN_UNUSED;

#endif
