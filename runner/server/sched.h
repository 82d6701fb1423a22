/*
 * sched: whose turn it is. The queue is in the store; its order is by run and number. A run has at
 * most `jobs` attempts active, all runs together run.attempts; when memory is short, only what runs
 * already goes on.
 */
#ifndef SERVER_SCHED_H
#define SERVER_SCHED_H

#include "runner/server/core.h"

void sched_init(struct server *s);
/* Look at the queue soon. */
void sched_kick(struct server *s);

struct sched_run {
    int64_t run;
    int64_t jobs;
    int64_t active;
};

struct sched_view {
    struct sched_run *runs; /* oldest first; active is counted up as attempts are chosen */
    size_t n_runs;
    int64_t active; /* of all runs */
    int64_t max_active;
    bool is_memory_short;
};

/* The run whose next queued attempt may start now (counted as active in view), or 0. queued_runs
 * holds, for each attempt that still waits, its run. Pure. */
int64_t sched_choose(struct sched_view *view, const int64_t *queued_runs, size_t n_queued);

#endif
