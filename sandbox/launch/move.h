/*
 * move: a rename of a folder that an overlay without root refuses (EXDEV: it lies in the base),
 * carried out by a child of pid 1: the folder is made again below a temporary name, takes its new
 * place by one rename, and the old one is emptied. What fails on the way is undone.
 *
 * The child has every layer that the agent has and its rights, and no more: whatever a caller
 * tricks it into, the caller could have done. It finds paths as the caller would, by its working
 * folder and descriptors in the procfs of the box.
 *
 * Left to the kernel, which says EXDEV: a folder that is deeper than 128 folders, an exchange
 * (RENAME_EXCHANGE). A folder in which a process stands, or something is mounted, is EBUSY, the
 * errno that rename(2) has for it: after EXDEV programs like mv would copy and remove it, and the
 * process would be left in a folder that is gone. A descriptor of the folder itself keeps to the
 * old one, which is gone.
 */
#ifndef LAUNCH_MOVE_H
#define LAUNCH_MOVE_H

#include <stdbool.h>
#include <sys/types.h>
#include "runner/base/err.h"

struct mover {
    pid_t pid; /* 0: none */
    int id;
};

/* Start on the PLAN_MOVE of a plan. tree: the overlay's root. One at a time. */
bool mover_start(struct mover *ret, int id, int plan_fd, const char *tree,
                 struct err *err) WARN_UNUSED;
/* The status of BOX_MSG_MOVED. EIO when the mover was killed. */
int mover_outcome(int wait_status);
/* Remove what a mover of an earlier box left, which was killed. */
void mover_sweep(const char *tree);

#endif
