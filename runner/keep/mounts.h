/*
 * mounts: the mounts of the attempt's box that its keeper holds (sandbox/held.h), on its loop.
 *
 * With the overlay engine nothing of the worktree can go: its files are the box's own file system.
 * With the other engines the worktree is a folder of the host, and what is read-only in it is
 * watched here: the file .git and the project's settings.
 */
#ifndef KEEP_MOUNTS_H
#define KEEP_MOUNTS_H

#include <uv.h>

#include "sandbox/held.h"

struct mounts_ops {
    void (*told)(void *arg, const char *sentence);
    /* Every process of the box has been stopped and continued. */
    void (*stirred)(void *arg);
    void (*failed)(void *arg, const struct err *err); /* the box must end */
};

struct mounts {
    struct held held;
    uv_poll_t polls[2]; /* of mounts that go, of entries that change */
    bool is_polling;
    const struct mounts_ops *ops;
    void *arg;
};

/* Before the box starts, while its plan is at hand. */
void mounts_plan(struct mounts *m, const struct buf *plan, const struct mounts_ops *ops, void *arg,
                 struct err *err);
/* When its layers are in force, before the agent runs and the keeper confines itself. */
bool mounts_begin(struct mounts *m, uv_loop_t *loop, pid_t init_pid, struct err *err) WARN_UNUSED;
/* When it is over, or never came about: at once, since what is open here keeps the box's mounts. */
void mounts_end(struct mounts *m);

#endif
