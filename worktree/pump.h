/*
 * pump: bytes of a pipe into a file, up to a bound, on a thread of its own, while a blocking call
 * fills the pipe.
 *
 * What comes out of a box may be without end. Past the bound the pipe is closed, so that the writer
 * fails.
 */
#ifndef WORKTREE_PUMP_H
#define WORKTREE_PUMP_H

#include <pthread.h>
#include <stdint.h>

#include "runner/base/err.h"

struct pump {
    int write_fd; /* for the writer; owned by the pump */
    int read_fd, to_fd;
    int64_t max_bytes;
    struct err err;
    pthread_t thread;
};

/* to_fd is borrowed. */
bool pump_start(struct pump *p, int to_fd, int64_t max_bytes, struct err *err) WARN_UNUSED;
/* Close the write end, wait for the end of the stream. ERR_LIMIT when the bound was met. Every copy
 * of write_fd must be closed. */
bool pump_finish(struct pump *p, struct err *err) WARN_UNUSED;

#endif
