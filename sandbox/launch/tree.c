#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "runner/base/mem.h"

static bool open_one(struct launch *l, const char *host, unsigned flags, struct err *err)
{
    if (l->n_trees >= PLAN_MAX_TREES)
        return err_set(err, ERR_LIMIT, "a box can show at most %d files and folders of the host",
                       PLAN_MAX_TREES);
    AUTO_FD int fd = open_tree(AT_FDCWD, host, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (fd < 0)
        return err_sys(err, errno, "cannot show %s in the box", host);
    /* Set while the copy is still detached: there is no moment at which it is seen without. */
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};
    if (!(flags & PLAN_WRITE))
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (!(flags & PLAN_DEVICE))
        attr.attr_set |= MOUNT_ATTR_NODEV;
    if (flags & PLAN_NOEXEC)
        attr.attr_set |= MOUNT_ATTR_NOEXEC;
    if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) != 0)
        return err_sys(err, errno, "cannot restrict the view of %s", host);
    l->trees[l->n_trees++] = steal_fd(&fd);
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
    }
    launch_mark(l, "open host files");
    return true;
}

int tree_take(struct launch *l)
{
    return l->trees[l->next_tree++];
}
