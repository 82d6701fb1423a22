/*
 * memory: what the processes of a box use, counted by its pid 1 where no cgroup does.
 *
 * Resident sets first, and once their sum is over the limit the proportional ones with swap
 * (smaps_rollup, proc(5)), so that shared pages count once. The next look comes the sooner the less
 * is left: as soon as the rest could be filled. What belongs to no process (a memfd that nobody
 * maps) is not seen: this is the degraded form of the layer, and is reported as that.
 */
#ifndef SANDBOX_LAUNCH_MEMORY_H
#define SANDBOX_LAUNCH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/base/err.h"

struct memory {
    int64_t limit_bytes; /* 0: nothing is counted */
    int64_t due_ms;      /* clock_mono_ms of the next look */
};

void memory_count(struct memory *m, int64_t limit_bytes);
/* For poll(2): until the next look; -1: never. */
int memory_wait_ms(const struct memory *m);
/* Look when it is due. True when the box is over: err says so to a person. */
bool memory_is_over(struct memory *m, struct err *err);

#endif
