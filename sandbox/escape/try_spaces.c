#include "sandbox/launch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

/* Namespaces, mounts and procfs, tried from inside (probe.h). */

static int from(long result)
{
    return result < 0 ? errno : 0;
}

static int append(const char *path)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd < 0 ? errno : from(write(fd, "escaped\n", 8));
}

/* Two paths in one argument. False when there is no second. */
static bool split(char first[4096], const char **ret_second, const char *argument)
{
    const char *space = strchr(argument, ' ');
    if (!space || space - argument >= 4096)
        return false;
    memcpy(first, argument, (size_t)(space - argument));
    first[space - argument] = '\0';
    *ret_second = space + 1;
    return true;
}

/* The kernel asks for the right to mount before it looks at the arguments. */
static int try_move_mount(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_move_mount, -1, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH));
}

static int try_fsmount(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_fsmount, -1, 0, 0));
}

static int try_fspick(const char *unused)
{
    (void)unused;
    return from(syscall(SYS_fspick, AT_FDCWD, "/", 0));
}

/* Take "read-only" from the mount that holds a file, in each way there is, and write. */
static int remount_and_write(const char *path)
{
    struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};
    AUTO_FREE char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    long why = syscall(SYS_mount_setattr, AT_FDCWD, folder, 0, &attr, sizeof(attr));
    if (why != 0)
        why = mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL);
    return why != 0 ? errno : append(path);
}

static int uncover_and_write(const char *path)
{
    AUTO_FREE char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return umount2(folder, MNT_DETACH) != 0 ? errno : 0;
}

static int bind_over(const char *argument)
{
    char from_path[4096];
    const char *to;
    if (!split(from_path, &to, argument))
        return EINVAL;
    return from(mount(from_path, to, NULL, MS_BIND, NULL));
}

/* A held descriptor, a user namespace, a root of one's own, and everything else let go. */
static int try_chain(const char *unused)
{
    (void)unused;
    AUTO_FD int held = open("/", O_PATH | O_CLOEXEC);
    if (held < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount("none", "/tmp", "tmpfs", 0, NULL) != 0 || mkdir("/tmp/old", 0700) != 0 ||
        syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || umount2("/old", MNT_DETACH) != 0)
        return errno;
    return from(fchdir(held));
}

static int leave_chroot(const char *folder)
{
    AUTO_FD int held = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (held < 0 || chroot(folder) != 0 || fchdir(held) != 0)
        return errno;
    return from(chdir(".."));
}

/* Open read-only what may be read, and again for writing through the descriptor. */
static int reopen_to_write(const char *path)
{
    char again[64];
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
    return append(again);
}

/* The host's file by more steps up than there are folders. */
static int read_above(const char *path)
{
    AUTO_FREE char *up = xasprintf("/proc/self/root/../../../../../../../..%s", path);
    char c;
    AUTO_FD int fd = open(up, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : from(read(fd, &c, 1));
}

static int read_some(const char *path)
{
    char c;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? errno : from(read(fd, &c, 1));
}

static int read_link(const char *path)
{
    char target[4096];
    return from(readlink(path, target, sizeof(target)));
}

static int list(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return from(fd);
}

/* All namespaces of a process, by a descriptor of it. */
static int join_process(const char *pid)
{
    AUTO_FD int fd = (int)syscall(SYS_pidfd_open, (pid_t)atol(pid), 0);
    return fd < 0 ? errno : from(setns(fd, CLONE_NEWNS));
}

/* The user namespace that owns one of ours: the host's, in a box. */
static int join_parent(const char *unused)
{
    enum { NS_GET_PARENT_ = 0xb702 };
    (void)unused;
    AUTO_FD int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    AUTO_FD int parent = own < 0 ? -1 : (int)syscall(SYS_ioctl, own, NS_GET_PARENT_, 0);
    return parent < 0 ? errno : from(setns(parent, CLONE_NEWUSER));
}

static int write_text(const char *argument)
{
    char path[4096];
    const char *text;
    if (!split(path, &text, argument))
        return EINVAL;
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? errno : from(write(fd, text, strlen(text)));
}

/* A group of one's own in any hierarchy that can be seen. */
static int make_cgroup(const char *unused)
{
    static const char *const roots[] = {"/sys/fs/cgroup/headgate-escape",
                                        "/sys/fs/cgroup/memory/headgate-escape"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (mkdir(roots[i], 0700) == 0)
            return rmdir(roots[i]), 0;
    return errno;
}

/* Linking works within one mount only, and never from what is shown to what is writable. */
static int hard_link(const char *argument)
{
    char old[4096];
    const char *new;
    if (!split(old, &new, argument))
        return EINVAL;
    if (link(old, new) != 0)
        return errno;
    return append(new);
}

static int rename_file(const char *argument)
{
    char old[4096];
    const char *new;
    return split(old, &new, argument) ? from(rename(old, new)) : EINVAL;
}

/* Through a symbolic link that the attempt makes itself. */
static int read_through_link(const char *argument)
{
    char link_path[4096];
    const char *target;
    if (!split(link_path, &target, argument))
        return EINVAL;
    if (symlink(target, link_path) != 0)
        return errno;
    int why = read_some(link_path);
    unlink(link_path);
    return why;
}

const struct probe_attempt probe_spaces[] = {
    {"append", append},
    {"move-mount", try_move_mount},
    {"fsmount", try_fsmount},
    {"fspick", try_fspick},
    {"remount-write", remount_and_write},
    {"uncover", uncover_and_write},
    {"bind-over", bind_over},
    {"chain", try_chain},
    {"leave-chroot", leave_chroot},
    {"reopen", reopen_to_write},
    {"read-above", read_above},
    {"read-link", read_link},
    {"list", list},
    {"join-process", join_process},
    {"join-parent", join_parent},
    {"write-text", write_text},
    {"make-cgroup", make_cgroup},
    {"hard-link", hard_link},
    {"rename", rename_file},
    {"read-through-link", read_through_link},
    {NULL, NULL},
};
