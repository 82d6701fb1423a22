#include "runner/keep/box_side.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"

enum {
    BOX_SIDE_GROUP_FILE_BYTES = 4096,
};

static void box_side_stop_polling(struct box_side *b)
{
    if (!b->is_polling)
        return;
    b->is_polling = false;
    uv_poll_stop(&b->ctl);
    uv_close((uv_handle_t *)&b->ctl, NULL);
}

/* Hand on every message that is there. */
static void box_side_hear(struct box_side *b)
{
    while (b->is_polling) {
        struct box_msg msg;
        struct err err = ERR_INIT;
        if (!box_recv(&msg, b->child.ctl_fd, &err)) {
            box_side_stop_polling(b);
            box_side_kill(b); /* a box that cannot be heard cannot be kept */
        } else if (msg.kind == BOX_MSG_CLOSED)
            box_side_stop_polling(b);
        else if (msg.kind == BOX_MSG_NONE)
            return;
        else
            b->ops->message(b->arg, &msg);
    }
}

static void box_side_on_ctl(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    box_side_hear(poll->data);
}

/* The member `oom_kill` of a group's memory.events (cgroup version 2) or memory.oom_control
 * (version 1); the line `oom_kill_disable` of the latter is another one. */
static int64_t box_side_oom_kills(const char *group, const char *file)
{
    AUTO_FREE char *path = fs_join(group, file);
    AUTO_BUF struct buf text = BUF_INIT;
    struct err absent = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, path, BOX_SIDE_GROUP_FILE_BYTES, &absent))
        return 0;
    const char *member = strstr(text.ptr, "oom_kill ");
    return member ? strtoll(member + strlen("oom_kill "), NULL, 10) : 0;
}

static void box_side_gone(struct box_side *b, int wait_status)
{
    box_side_hear(b); /* what pid 1 said before it ended */
    box_side_stop_polling(b);
    for (size_t i = 0; i < b->child.groups.n; i++)
        b->n_oom_kills += box_side_oom_kills(b->child.groups.v[i], "memory.events") +
                          box_side_oom_kills(b->child.groups.v[i], "memory.oom_control");
    box_close(&b->child);
    b->child = (struct box_child){.ctl_fd = -1};
    b->ops->gone(b->arg, proc_exit_code(wait_status));
}

static void box_side_on_sigchld(uv_signal_t *handle, int signal_number)
{
    struct box_side *b = handle->data;
    int status;
    pid_t pid;
    (void)signal_number;
    while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        if (pid == b->child.pid && !WIFSTOPPED(status))
            box_side_gone(b, status);
        else
            b->ops->traced(b->arg, pid, status);
    }
}

void box_side_init(struct box_side *b, uv_loop_t *loop, const struct box_side_ops *ops, void *arg)
{
    *b = (struct box_side){.ops = ops, .arg = arg, .child = {.ctl_fd = -1}};
    uv_signal_init(loop, &b->sigchld);
    b->sigchld.data = b;
}

bool box_side_start(struct box_side *b, const struct buf *plan, const int std_fds[3],
                    struct err *err)
{
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    if (!launcher)
        return false;
    /* The signal is watched first, else an end between the two would never be heard of. */
    uv_signal_start(&b->sigchld, box_side_on_sigchld, SIGCHLD);
    if (!box_spawn(&b->child, launcher, plan, std_fds, err)) {
        b->child = (struct box_child){.ctl_fd = -1};
        return false;
    }
    int status = uv_poll_init(b->sigchld.loop, &b->ctl, b->child.ctl_fd);
    if (status != 0) {
        box_side_kill(b);
        return err_sys(err, -status, "cannot listen to the box");
    }
    b->ctl.data = b;
    b->is_polling = true;
    uv_poll_start(&b->ctl, UV_READABLE, box_side_on_ctl);
    return true;
}

int box_side_ctl(const struct box_side *b)
{
    return b->is_polling ? b->child.ctl_fd : -1;
}

void box_side_kill(struct box_side *b)
{
    if (b->child.pid > 0)
        kill(b->child.pid, SIGKILL);
}

void box_side_close(struct box_side *b)
{
    box_side_stop_polling(b);
    if (!uv_is_closing((uv_handle_t *)&b->sigchld))
        uv_close((uv_handle_t *)&b->sigchld, NULL);
}
