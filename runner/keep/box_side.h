/*
 * box_side: the keeper's side of its box: starts it, hears pid 1, waits for children, ends it.
 *
 * The one place that forks and the one that waits. PDEATHSIG follows the forking thread (prctl(2)),
 * so everything here runs on the main thread, which lives as long as the keeper. SIGCHLD comes
 * through uv_signal; libuv's own children would be stolen by waitpid(-1), so nothing here uses
 * uv_spawn.
 *
 * When `gone` comes, pid 1 was waited for: the kernel has then ended every process of the box
 * (pid_namespaces(7)).
 */
#ifndef KEEP_BOX_SIDE_H
#define KEEP_BOX_SIDE_H

#include <uv.h>
#include "sandbox/box.h"

struct box_side_ops {
    /* One message of pid 1; msg->fd is the callee's. */
    void (*message)(void *arg, const struct box_msg *msg);
    /* A status of waitpid(2) of another process than pid 1: one that is traced. */
    void (*traced)(void *arg, pid_t pid, int status);
    /* Once, after the last message. status is pid 1's: exit code or 128 + signal. */
    void (*gone)(void *arg, int status);
};

struct box_side {
    const struct box_side_ops *ops;
    void *arg;
    struct box_child child; /* pid 0: not started, or gone */
    uv_signal_t sigchld;
    uv_poll_t ctl;
    bool is_polling;
    int64_t n_oom_kills; /* once it is gone: processes that the kernel killed at the memory limit */
};

void box_side_init(struct box_side *b, uv_loop_t *loop, const struct box_side_ops *ops, void *arg);
/* Start the box; it waits for box_go. std_fds: see box_spawn. */
bool box_side_start(struct box_side *b, const struct buf *plan, const int std_fds[3],
                    struct err *err) WARN_UNUSED;
/* The descriptor for box_go, box_join and box_signal; -1 when there is no box. */
int box_side_ctl(const struct box_side *b);
/* SIGKILL to pid 1, and with it to all. Nothing when it is gone. */
void box_side_kill(struct box_side *b);
void box_side_close(struct box_side *b);

#endif
