/*
 * executor: moves attempts through their life cycle: commits each new state, then carries out its
 * effects.
 *
 * The blocking ones (runner/attempt/attempt.h) run as jobs on worker threads, one at a time for
 * each attempt and a bounded number overall. What a job found out is committed when it returns;
 * where the store cannot be written then, that is tried again until it can, and the attempt waits.
 */
#ifndef SERVER_EXECUTOR_H
#define SERVER_EXECUTOR_H

#include "runner/server/job.h"
#include "runner/store/attempt_row.h"

/* Changes a row before the event is applied to it; it is saved in the same transaction. */
typedef void (*executor_fill)(struct attempt_row *row, void *arg);

void executor_init(struct server *s);
/* Apply an event. An event that means nothing in the attempt's state changes nothing (*ret_moved
 * false; ret_moved may be NULL). False: the store failed and nothing has changed. */
bool executor_post(bool *ret_moved, struct server *s, const char *id, enum attempt_event event,
                   executor_fill fill, void *arg, struct err *err) WARN_UNUSED;
/* The same event for many, in few transactions: stopping a queue of thousands must not stop the
 * loop. */
bool executor_post_all(struct server *s, const struct strv *ids, enum attempt_event event,
                       struct err *err) WARN_UNUSED;
/* Change a row without an event. */
bool executor_update(struct server *s, const char *id, executor_fill fill, void *arg,
                     struct err *err) WARN_UNUSED;
/* Commit records of the attempt's keeper with all that follows from them. */
bool executor_merge(struct live *live, json_t *records, struct err *err) WARN_UNUSED;
/* Carry out the effects of a committed state (also: again, at recovery). */
void executor_carry_out(struct server *s, const char *id, int64_t run, unsigned effects);

/* Have a job done when its turn comes. Asked for twice before it begins, it is done once. */
void executor_want(struct live *live, enum job_kind kind);
/* Something that jobs of this attempt wait for has changed. */
void executor_kick(struct live *live);

#endif
