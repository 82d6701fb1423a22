#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/mem.h"

/*
 * A file or folder of a writable tree that stays as it is: mounted on itself, read-only. The
 * folders on the way to it are mounted on themselves too, as they are: a mount point can be neither
 * moved nor removed, so nothing else can take its place.
 */

static bool mount_on_itself(const char *path, uint64_t flags, struct err *err)
{
    struct mount_attr attr = {.attr_set = flags | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    AUTO_FD int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FD int tree =
        place < 0 ? -1
                  : open_tree(place, "",
                              OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (tree < 0 ||
        mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) != 0 ||
        move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        return err_sys(err, errno, "cannot keep %s as it is", path);
    return true;
}

static bool is_mount_point(const char *path)
{
    struct statx st;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Those between the mount that holds path and path itself, outermost first. */
static bool pin_parents(char *path, struct err *err)
{
    char *slash = strrchr(path, '/');
    if (slash == path)
        return true;
    *slash = '\0';
    bool ok = is_mount_point(path) || (pin_parents(path, err) && mount_on_itself(path, 0, err));
    *slash = '/';
    return ok;
}

/* What the name leads to: a link may be planted anew, but what it led to stays. */
static bool find(char path[PATH_MAX], const char *name)
{
    char link[64];
    AUTO_FD int fd = open(name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    return path[0] == '/';
}

bool freeze_apply(const char *name, struct err *err)
{
    char path[PATH_MAX];
    if (!find(path, name))
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
               err_sys(err, errno, "cannot keep %s as it is", name);
    return pin_parents(path, err) && mount_on_itself(path, MOUNT_ATTR_RDONLY, err);
}
