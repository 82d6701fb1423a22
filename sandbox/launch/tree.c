#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Flags are set while the copy is still detached: there is no moment at which it is seen without.
 * Linux 6.15 does both in one call. */
static int open_with(struct launch *l, const char *host, struct mount_attr *attr,
                     const char **ret_what)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    *ret_what = "show";
    if (!l->lacks_open_tree_attr) {
        int fd = (int)syscall(SYS_open_tree_attr, AT_FDCWD, host, flags, attr, sizeof(*attr));
        if (fd >= 0 || errno != ENOSYS)
            return fd;
        l->lacks_open_tree_attr = true;
    }
    AUTO_FD int fd = open_tree(AT_FDCWD, host, flags);
    if (fd < 0)
        return -1;
    *ret_what = "restrict";
    if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, attr, sizeof(*attr)) != 0)
        return -1;
    return steal_fd(&fd);
}

static bool open_one(struct launch *l, const char *host, unsigned flags, struct err *err)
{
    if (l->n_trees >= PLAN_MAX_TREES)
        return err_set(err, ERR_LIMIT, "a box can show at most %d files and folders of the host",
                       PLAN_MAX_TREES);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};
    const char *what;
    if (!(flags & PLAN_WRITE))
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (!(flags & PLAN_DEVICE))
        attr.attr_set |= MOUNT_ATTR_NODEV;
    if (flags & PLAN_NOEXEC)
        attr.attr_set |= MOUNT_ATTR_NOEXEC;
    int fd = open_with(l, host, &attr, &what);
    if (fd < 0)
        return err_sys(err, errno, "cannot %s %s in the box", what, host);
    l->trees[l->n_trees++] = fd;
    return true;
}

bool tree_open_all(struct launch *l, struct err *err)
{
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step))) {
        if (step->kind == PLAN_TREE && !open_one(l, plan_text(step, 0), step->flags, err))
            return false;
        if (step->kind == PLAN_OVERLAY && (!open_one(l, plan_text(step, 0), 0, err) ||
                                           !open_one(l, plan_text(step, 1), PLAN_WRITE, err)))
            return false;
        if (step->kind == PLAN_OVERLAY && *plan_text(step, PLAN_OVERLAY_UNDER) &&
            !open_one(l, plan_text(step, PLAN_OVERLAY_UNDER), 0, err))
            return false;
    }
    launch_mark(l, "open host files");
    return true;
}

int tree_take(struct launch *l)
{
    return l->trees[l->next_tree++];
}
