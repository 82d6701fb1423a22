/*
 * moves: renames in the box, each of which parks at the listener where the worktree is an overlay.
 *
 *   parked -> no folder of the overlay -> the kernel carries it out
 *          -> a folder -> waits for its turn -> pid 1 carries it out (sandbox/launch/move.h) -> its
 * errno
 *
 * A program that narrows itself by Landlock must not rename what its rules keep from it, and pid 1
 * cannot take those on: the kernel has the word on what it and its offspring rename (narrowed.h).
 *
 * Nothing is decided here: a caller that deceives the look gets the kernel's answer instead of pid
 * 1's, or the other way round, and both act with the box's own rights.
 */
#ifndef KEEP_MOVES_H
#define KEEP_MOVES_H

#include "runner/keep/box_side.h"
#include "runner/keep/narrowed.h"
#include "runner/keep/notice.h"
#include "runner/keep/records.h"

struct moves {
    const char *worktree;       /* in the box; borrowed */
    const int *listener_fd;     /* borrowed */
    struct records *records;    /* borrowed */
    const struct box_side *box; /* borrowed */
    int root_fd;                /* of the box; -1: not looked for yet */
    dev_t dev;                  /* of the overlay, once there is root_fd */
    struct notice *waiting;     /* in order; the first is under way when is_moving */
    size_t n_waiting;
    bool is_moving;
    bool has_told;
    pid_t told_of; /* whom the last note was about that stood in a folder */
    int last_id;
    struct narrowed narrowed;
};

void moves_init(struct moves *m, const char *worktree, const int *listener_fd,
                const struct box_side *box, struct records *records);
/* A call that is no exec: it is answered, or waits. */
void moves_take(struct moves *m, const struct notice *n);
/* BOX_MSG_MOVED. */
void moves_over(struct moves *m, int id, int status);
void moves_release(struct moves *m);

#endif
