#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/mem.h"

int begin_mount(const char *type, const char *const *options, unsigned attr)
{
    AUTO_FD int fs = fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0)
        return -1;
    for (; *options; options += 2)
        if (fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0) != 0)
            return -1;
    if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        return -1;
    return fsmount(fs, FSMOUNT_CLOEXEC, attr);
}

static bool make_root(struct launch *l, struct err *err)
{
    static const char *const options[] = {"source", "tmpfs", "mode", "0755", "size", "16m", NULL};
    l->root_fd = begin_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (l->root_fd >= 0)
        return true;
    err_sys(err, errno, "cannot make the root of the box");
    if (err->sys_errno == EPERM || err->sys_errno == EACCES)
        err->code = ERR_LAYER;
    return false;
}

/* The kernel allows a new procfs only while an uncovered one is in sight, so it is made before the
 * old root goes. There is no way around it: the host's would show the host's processes. */
static bool make_proc(struct launch *l, struct err *err)
{
    static const char *const options[] = {"source", "proc", NULL};
    l->proc_fd =
        begin_mount("proc", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    if (l->proc_fd >= 0)
        return true;
    if (errno == EPERM) {
        return err_set(err, ERR_LAYER,
                       "the kernel refuses a procfs of the box's own (%s); in a container, start "
                       "it with an unmasked /proc (docker: --security-opt "
                       "systempaths=unconfined)",
                       err_describe(errno));
    }
    return err_sys(err, errno, "cannot mount a procfs of the box's own");
}

/* What one box may have of what the kernel counts for the person outside as well: her editor would
 * go without. Zero where the kernel has no such limit. */
static long share_of(int proc_fd, const char *limit)
{
    enum { SHARE = 4, LEAST = 16 };
    char text[32] = "";
    AUTO_FD int fd = openat(proc_fd, limit, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return 0;
    long share = strtol(text, NULL, 10) / SHARE;
    return share > LEAST ? share : LEAST;
}

/* Per user namespace; no nested one can be made after this, by whatever call (namespaces(7)).
 * Written through the box's own procfs, which becomes read-only later: a container's may be
 * read-only already. */
static bool limit_namespace(const struct launch *l, struct err *err)
{
    static const struct {
        const char *name, *share_of; /* NULL: none at all */
    } limits[] = {
        {"sys/user/max_user_namespaces", NULL},
        {"sys/user/max_inotify_instances", "sys/fs/inotify/max_user_instances"},
        {"sys/user/max_inotify_watches", "sys/fs/inotify/max_user_watches"},
    };
    char text[32];
    AUTO_FD int host = l->proc_fd >= 0 ? -1 : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int proc_fd = l->proc_fd >= 0 ? l->proc_fd : host;
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        long most = limits[i].share_of ? share_of(proc_fd, limits[i].share_of) : 0;
        if (limits[i].share_of && most == 0)
            continue;
        int len = snprintf(text, sizeof(text), "%ld", most);
        AUTO_FD int fd = openat(proc_fd, limits[i].name, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, text, (size_t)len) != len)
            return err_sys(err, errno, "cannot set the box's own %s", limits[i].name + 4);
    }
    return true;
}

static bool raise_loopback(struct err *err)
{
    struct ifreq request = {.ifr_name = "lo"};
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, errno, "cannot reach the box's loopback interface");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        return err_sys(err, errno, "cannot raise the box's loopback interface");
    return true;
}

bool begin(struct launch *l, struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        err_sys(err, errno, "cannot make the mounts of the box private");
        launch_blame_apparmor(err);
        return false;
    }
    if ((launch_has(l, LAYER_MOUNT) && !make_root(l, err)) ||
        (launch_has(l, LAYER_PID) && !make_proc(l, err)) ||
        (launch_has(l, LAYER_LIMITS) && !limit_namespace(l, err)))
        return false;
    if (launch_has(l, LAYER_NET) && l->report.layer[LAYER_NET].state == LAYER_ACTIVE &&
        !raise_loopback(err))
        return false;
    launch_mark(l, "root, procfs, lo");
    return true;
}
