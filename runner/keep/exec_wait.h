/*
 * exec_wait: parked execs that wait for a person.
 *
 *   asked -> allowed (consumed on disk, then it goes on)
 *         -> refused (decided so, or the deadline: expired)
 *         -> orphaned (the caller was killed, or the attempt ends)
 *
 * As at the gate socket (door.h): a decision counts only for the digest that was asked, no exec
 * goes on before `consumed` is on disk, and a denial for want of time is told as that in the log.
 * An approval that comes later becomes a grant for the next try.
 */
#ifndef KEEP_EXEC_WAIT_H
#define KEEP_EXEC_WAIT_H

#include <uv.h>
#include "runner/keep/exec_notice.h"
#include "runner/keep/exec_record.h"

enum { EXEC_WAIT_MAX = 256, EXEC_REMEMBERED = 256 };

struct exec_waiting;

struct exec_wait_ops {
    bool (*lives)(void *arg, const struct exec_notice *n);
    /* Go on with it; the image is the callee's. */
    void (*allow)(void *arg, const struct exec_notice *n, struct exec_image *image);
    void (*refuse)(void *arg, const struct exec_notice *n);
};

struct exec_wait {
    const struct exec_wait_ops *ops;
    void *arg;
    struct records *records; /* borrowed */
    int64_t deadline_ms;     /* how long one waits */
    struct exec_waiting *all;
    size_t n;
    uv_timer_t timer;
    char allowed[EXEC_REMEMBERED][DIGEST_HEX_SIZE]; /* actions that a person allowed, in a ring */
    size_t next_allowed;
};

void exec_wait_init(struct exec_wait *w, uv_loop_t *loop, const struct exec_wait_ops *ops,
                    void *arg, struct records *records, int64_t deadline_ms);
/* True when a person has allowed this very action in this attempt before. */
bool exec_wait_remembers(const struct exec_wait *w, const char *action);
/* Ask. False (and the caller answers) when it cannot be recorded or too many wait. */
bool exec_wait_ask(struct exec_wait *w, const struct exec_notice *n, struct exec_image *image,
                   const struct exec_record *record, const struct judgement *j);
/* A `decide` and a `name` message. False: it is about no exec that waits. */
bool exec_wait_decide(struct exec_wait *w, const json_t *msg);
bool exec_wait_name(struct exec_wait *w, const json_t *msg);
/* Append {"call","name"} of each. */
void exec_wait_list(const struct exec_wait *w, json_t *list);
/* Orphan all. Idempotent. */
void exec_wait_close(struct exec_wait *w);
void exec_wait_release(struct exec_wait *w);

#endif
