/*
 * exec_probe: the exec gate proved by trying it, for `headgate doctor`.
 *
 * In a real box a program is refused, and another has its path changed in the caller's memory after
 * it was allowed (exec_trial); the first must have its errno, the second must not run. The same
 * again in a box without verification and in one without a gate, where they run, else the first
 * answers prove nothing. Three boxes; blocks for well under a second.
 */
#ifndef KEEP_EXEC_PROBE_H
#define KEEP_EXEC_PROBE_H

#include <sys/types.h>
#include "runner/base/jx.h"
#include "sandbox/layer.h"

/* The name of the layer, in reports and in lists of what is required. */
#define EXEC_LAYER_NAME "exec"

/* {"name","mechanism","state","reason","proof"} for boxes that run as uid and gid; new reference.
 */
json_t *exec_probe_run(struct layer_status *ret, const char *launcher, uid_t uid, gid_t gid);

#endif
