/*
 * sys: system calls and constants that the C library may not know yet.
 *
 * The launcher is built with musl where that is installed, since a start of glibc asks the
 * processor about its caches: in a virtual machine each such question is a way out to the host and
 * back (0.6 ms a start against 0.1, measured). musl has no wrapper for these calls.
 */
#ifndef LAUNCH_SYS_H
#define LAUNCH_SYS_H

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467 /* one number on every architecture */
#endif

/* The kernel's own name of an error or signal ("EPERM", "KILL"); "?" when unknown. */
const char *sys_errno_name(int errnum);
const char *sys_signal_name(int signal_number);

#ifndef __GLIBC__
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/stat.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static inline int open_tree(int dirfd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int move_mount(int from_fd, const char *from, int to_fd, const char *to,
                             unsigned flags)
{
    return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

static inline int mount_setattr(int dirfd, const char *path, unsigned flags,
                                struct mount_attr *attr, size_t size)
{
    return (int)syscall(SYS_mount_setattr, dirfd, path, flags, attr, size);
}

static inline int fsopen(const char *type, unsigned flags)
{
    return (int)syscall(SYS_fsopen, type, flags);
}

static inline int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux)
{
    return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

static inline int fsmount(int fd, unsigned flags, unsigned attributes)
{
    return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret)
{
    return (int)syscall(SYS_statx, dirfd, path, flags, mask, ret);
}

static inline int renameat2(int from_fd, const char *from, int to_fd, const char *to,
                            unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}
#endif

#endif
