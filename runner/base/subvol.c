#include "runner/base/subvol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { TOP_INODE = 256 }; /* BTRFS_FIRST_FREE_OBJECTID, of the top of every subvolume */

/* The last component of path, for an argument of the kernel's. */
static bool put_name(char *to, size_t size, const char *path, struct err *err)
{
    const char *name = fs_basename(path);
    if (strlen(name) >= size)
        return err_set(err, ERR_LIMIT, "the name %s is too long", name);
    memcpy(to, name, strlen(name) + 1);
    return true;
}

static bool make(const char *path, unsigned long request, int source, struct err *err)
{
    struct btrfs_ioctl_vol_args_v2 args = {.fd = source};
    AUTO_FREE char *folder = fs_dirname(path);
    if (!put_name(args.name, sizeof(args.name), path, err))
        return false;
    AUTO_FD int parent = fs_open_dir(AT_FDCWD, folder, err);
    if (parent < 0)
        return false;
    return ioctl(parent, request, &args) == 0 ||
           err_sys(err, errno, "cannot make the subvolume %s", path);
}

bool subvol_create(const char *path, struct err *err)
{
    return make(path, BTRFS_IOC_SUBVOL_CREATE_V2, 0, err);
}

bool subvol_snapshot(const char *from, const char *path, struct err *err)
{
    AUTO_FD int source = fs_open_dir(AT_FDCWD, from, err);
    return source >= 0 && make(path, BTRFS_IOC_SNAP_CREATE_V2, source, err);
}

bool subvol_is(int fd)
{
    struct stat st;
    struct statfs fs;
    return fstat(fd, &st) == 0 && st.st_ino == TOP_INODE && S_ISDIR(st.st_mode) &&
           fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

bool subvol_drop(int dirfd, const char *name, int fd)
{
    struct btrfs_ioctl_vol_args args = {0};
    struct err ignored = ERR_INIT;
    uint64_t flags;
    if (ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, &flags) == 0 && flags & BTRFS_SUBVOL_RDONLY) {
        flags &= ~(uint64_t)BTRFS_SUBVOL_RDONLY;
        (void)!ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags);
        (void)!fchmod(fd, 0700);
    }
    return put_name(args.name, sizeof(args.name), name, &ignored) &&
           ioctl(dirfd, BTRFS_IOC_SNAP_DESTROY, &args) == 0;
}
