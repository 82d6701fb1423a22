/*
 * output: what the agent writes: the file `log`, its bound, and the last line for lists.
 *
 * Headless, the bound is a limit: `full` is called once and the rest is dropped. An interactive
 * agent repaints its screen for hours, which is no reason to end it: its log is moved to `log.1`
 * when it meets the bound, and begun anew. Written without fsync: the log is a convenience, and the
 * agent must not wait for a disk.
 */
#ifndef KEEP_OUTPUT_H
#define KEEP_OUTPUT_H

#include <stdint.h>
#include <uv.h>
#include "runner/keep/last_line.h"

struct output_ops {
    void (*line)(void *arg, const char *line, size_t len, int64_t bytes); /* at most ten a second */
    /* A whole line as the agent wrote it, each; is_aside: to its standard error where that has a
     * pipe of its own. */
    void (*whole)(void *arg, bool is_aside, const char *line, size_t len);
    void (*full)(void *arg);
    void (*trouble)(void *arg, const struct err *err); /* the log cannot be written; once */
};

struct output {
    uv_timer_t pause; /* between two lines that are told */
    const struct output_ops *ops;
    void *arg;
    int dirfd, fd; /* dirfd borrowed; fd -1: no log any more */
    int64_t max_bytes, log_bytes, total_bytes;
    bool is_rotated, is_full, is_dirty;
    struct last_line last, aside;
};

/* kind is borrowed; it and arg outlive the loop. An existing log is continued. */
bool output_open(struct output *ret, uv_loop_t *loop, int dirfd, const char *kind,
                 int64_t max_bytes, bool is_rotated, const struct output_ops *ops, void *arg,
                 struct err *err) WARN_UNUSED;
/* Bytes of the agent. has_lines: the last line is looked for in them first (not in a second pipe).
 */
void output_add(struct output *o, const char *bytes, size_t len, bool has_lines);
/* The agent's output has ended. Of one that said nothing the last line is that of its standard
 * error, which tells why. */
void output_finish(struct output *o);
/* Tell the present line (to a server that came). */
void output_tell(struct output *o);
void output_close(struct output *o);
void output_release(struct output *o);

#endif
