#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/mem.h"

/*
 * `headgate-box --hold PID UID GID`, with a socket on descriptor 3: for each plan that comes, join
 * the namespaces of the box whose pid 1 that is, as the account that made them, and take its steps
 * there. Every process of the box but pid 1 is stopped meanwhile. The box cannot reach this
 * process: it has capabilities that nothing there has (ptrace(2)). The answer is the errno of what
 * failed, or 0.
 */

static bool join_by(pid_t pid)
{
    AUTO_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd >= 0 && setns(fd, CLONE_NEWUSER) == 0 && setns(fd, CLONE_NEWNS | CLONE_NEWPID) == 0;
}

/* By one of its children, the agent first: pid 1 itself is closed to its own account, and was
 * exec'ed outside. None of them can be in other namespaces. */
static bool join(pid_t init_pid, struct err *err)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)init_pid, (int)init_pid);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[len > 0 ? len : 0] = '\0';
    char *next = text;
    for (long pid; (pid = strtol(next, &next, 10)) > 0;)
        if (join_by((pid_t)pid))
            return true;
    return err_sys(err, errno, "cannot join the box");
}

/* Started by root: what is done inside is done as the account of the box. */
static bool become(uid_t uid, gid_t gid, struct err *err)
{
    if (geteuid() != 0)
        return true;
    return (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
            setresuid(uid, uid, uid) == 0) ||
           err_sys(err, errno, "cannot become uid %u", uid);
}

/* A file of its own: what the box opened while it could is another one then. */
static bool write_again(const char *path, const char *content, struct err *err)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS};
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return err_set(err, ERR_FORMAT, "%s is not whole", path);
    *slash = '\0';
    AUTO_FD int dir = (int)syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof(how));
    if (dir < 0 || (unlinkat(dir, slash + 1, 0) != 0 && errno != ENOENT))
        return err_sys(err, errno, "cannot remove %s", path);
    AUTO_FD int fd =
        openat(dir, slash + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    size_t len = strlen(content);
    return (fd >= 0 && write(fd, content, len) == (ssize_t)len) ||
           err_sys(err, errno, "cannot write %s", path);
}

static bool bind_again(const char *source, const char *path, struct err *err)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    AUTO_FD int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FD int tree =
        place < 0 ? -1 : open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return (tree >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0 &&
            move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
                0) ||
           err_sys(err, errno, "cannot mount %s again", path);
}

static bool take_steps(const struct plan *plan, struct err *err)
{
    const struct plan_step *step = NULL;
    while ((step = plan_next(plan, step))) {
        bool ok = step->kind == PLAN_FREEZE ? freeze_apply(plan_text(step, 0), err)
                  : step->kind == PLAN_MASK ? mask_apply(plan_text(step, 0), err)
                  : step->kind == PLAN_FILE
                      ? write_again(plan_text(step, 0), plan_text(step, 1), err)
                  : step->kind == PLAN_BIND
                      ? bind_again(plan_text(step, 0), plan_text(step, 1), err)
                      : err_set(err, ERR_FORMAT, "a step that no running box takes");
        if (!ok)
            return false;
    }
    return true;
}

static int code_of(const struct err *err)
{
    return err->sys_errno > 0 && err->sys_errno < 126 ? err->sys_errno : EINVAL;
}

/* What one plan asks for, in a child of the box's pid namespace. */
static int hold(int plan_fd, pid_t init_pid)
{
    static bool has_joined;
    struct plan plan = {0};
    struct err err = ERR_INIT;
    int status = 1;
    if (!plan_map(&plan, plan_fd, &err) || !(has_joined = has_joined || join(init_pid, &err)))
        return code_of(&err);
    pid_t pid = fork();
    if (pid == 0) {
        kill(-1, SIGSTOP);
        bool ok = take_steps(&plan, &err);
        kill(-1, SIGCONT);
        _exit(ok ? 0 : code_of(&err));
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    plan_unmap(&plan);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

int hold_main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct wire_cmd cmd;
    if (argc != 3 || !become((uid_t)atol(argv[1]), (gid_t)atol(argv[2]), &err))
        return 1;
    for (;;) {
        AUTO_FD int fd = -1;
        if (!launch_receive(WIRE_CTL_FD, &cmd, &fd, 0))
            return 0;
        int32_t why = hold(fd, (pid_t)atol(argv[0]));
        if (send(WIRE_CTL_FD, &why, sizeof(why), MSG_NOSIGNAL) < 0)
            return 0;
    }
}
