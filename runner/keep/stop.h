/*
 * stop: how an attempt is brought to its end, and why.
 *
 *   none -> asked (TERM sent, grace runs) -> killed
 *   none -> killed (no grace, or a limit that cannot wait)
 *
 * The first cause stays. A second request never makes the end come later; one with a shorter grace
 * makes it come sooner.
 */
#ifndef KEEP_STOP_H
#define KEEP_STOP_H

#include <stdint.h>
#include <uv.h>
#include "runner/base/err.h"

enum stop_cause {
    STOP_NONE,
    STOP_ASKED, /* by a person or the system: "stopped" */
    STOP_TIME,  /* "timeout" */
    STOP_OUTPUT,
    STOP_MEMORY,
    STOP_PIDS,
    STOP_FAILED, /* the box does not come up */
};

struct stop_ops {
    bool (*terminate)(void *arg); /* false: it cannot be asked; it is killed at once */
    void (*kill)(void *arg);
};

struct stop {
    const struct stop_ops *ops;
    void *arg;
    enum stop_cause cause;
    bool is_killed;
    uv_timer_t grace; /* runs between TERM and KILL */
    uv_timer_t limit; /* the attempt's time */
    enum stop_cause limit_cause;
    int64_t limit_grace_ms;
};

void stop_init(struct stop *s, uv_loop_t *loop, const struct stop_ops *ops, void *arg);
/* Ask the agent to end; kill after grace_ms (0: now). */
void stop_request(struct stop *s, enum stop_cause cause, int64_t grace_ms);
/* Request it after time_ms from now, in place of an earlier limit. 0: never. */
void stop_after(struct stop *s, int64_t time_ms, enum stop_cause cause, int64_t grace_ms);
/* The word of the `exited` record; "exit" for STOP_NONE. */
const char *stop_cause_name(enum stop_cause cause);
void stop_close(struct stop *s);

#endif
