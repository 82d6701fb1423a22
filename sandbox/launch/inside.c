#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/mem.h"

static bool write_own(const char *path, const char *text, struct err *err)
{
    AUTO_FD int fd = openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
        err_sys(err, errno, "cannot write %s", path);
        err->code = ERR_LAYER;
        return false;
    }
    return true;
}

/* Written by the process itself: one line that maps the writer's own id needs no privilege outside
 * (user_namespaces(7)). */
static bool map_ids(const struct launch *l, struct err *err)
{
    char line[64];
    const struct plan_head *head = l->plan.head;
    uid_t uid = head ? head->uid : l->uid;
    gid_t gid = head ? head->gid : l->gid;
    if (!write_own("/proc/self/setgroups", "deny", err))
        return false;
    snprintf(line, sizeof(line), "%u %u 1", gid, gid);
    if (!write_own("/proc/self/gid_map", line, err))
        return false;
    snprintf(line, sizeof(line), "%u %u 1", uid, uid);
    return write_own("/proc/self/uid_map", line, err);
}

static void report_left_out(struct launch *l)
{
    for (unsigned id = 0; id < LAYER_COUNT; id++)
        if (!launch_has(l, id))
            launch_set(l, id, LAYER_UNAVAILABLE, "", "left out on request");
}

static bool hand_out_terminal(struct launch *l, struct err *err)
{
    const struct plan_head *head = l->plan.head;
    AUTO_FD int master = -1;
    if (!(head->flags & PLAN_PTY))
        return true;
    if (!pty_open(&master, &l->pty_fd, head->cols, head->rows, err))
        return false;
    struct wire_msg msg = {.kind = BOX_MSG_PTY};
    if (!launch_send(l->ctl_fd, &msg, master))
        return err_set(err, ERR_SYS, "cannot hand out the terminal");
    return true;
}

static bool build(struct launch *l, struct err *err)
{
    /* At once, and again when the credentials are final: a caller that dies now ends the start. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return err_sys(err, errno, "cannot tie the box to its caller");
    if (setsid() < 0)
        return err_sys(err, errno, "cannot start a session");
    /* The caller's may be narrow; folders made here, and the agent's files, have the usual modes.
     */
    umask(022);
    if (!map_ids(l, err))
        return false;
    launch_mark(l, "uid map");
    if (!begin(l, err) || (!l->plan.head && !launch_catch_up(l, err)))
        return false;
    if (!root_build(l, err) || !net_apply(l, err) || !limits_apply(l, err) ||
        !hand_out_terminal(l, err) || !confine(l, err))
        return false;
    report_left_out(l);
    return launch_check_required(l, err);
}

void inside_run(struct launch *l)
{
    struct err err = ERR_INIT;
    if (!build(l, &err)) {
        launch_send_failed(l->ctl_fd, 0, &err);
        _exit(125);
    }
    if (!launch_send_layers(l))
        _exit(125);
    init_run(l);
}
