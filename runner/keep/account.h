/*
 * account: what the box's processes use, where the kernel does not hold the limits by itself (no
 * delegated cgroup).
 *
 * Samples every half second, and more often near a limit. Memory is the resident set, and once that
 * sum is over the limit the proportional set with swap (smaps_rollup, proc(5)): N processes that
 * share a page count it once. Between two samples a box can go over: this is the degraded form of
 * the layer, and is reported as that.
 */
#ifndef KEEP_ACCOUNT_H
#define KEEP_ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>
#include <uv.h>
#include "runner/base/buf.h"

struct account_usage {
    int64_t memory_bytes;
    int64_t pids;
};

struct account_ops {
    void (*usage)(void *arg, const struct account_usage *usage); /* when it changed much */
    void (*exceeded)(void *arg, bool is_memory);                 /* once */
};

struct account {
    uv_timer_t timer;
    const struct account_ops *ops;
    void *arg;
    pid_t root;                 /* pid 1 of the box */
    int64_t memory_bytes, pids; /* limits; 0: none */
    struct account_usage told;
};

void account_init(struct account *a, uv_loop_t *loop, const struct account_ops *ops, void *arg);
void account_start(struct account *a, pid_t root, int64_t memory_bytes, int64_t pids);
void account_stop(struct account *a);
void account_close(struct account *a);

/* What the tree below root (inclusive) uses now. is_exact: proportional sets and swap. Stops
 * counting at max_pids processes. */
void account_measure(struct account_usage *ret, pid_t root, bool is_exact, int64_t max_pids);

#endif
