/*
 * probe: each layer of a box proved by trying it, for `headgate doctor`.
 *
 * In a real box something is tried that the layer must stop; then again in a box without that
 * layer, where it must come out otherwise, else the first answer proves nothing. About fourteen
 * boxes, well under two seconds. Blocks. What it makes on the host (a folder in TMPDIR, a listening
 * port, a shared memory segment, a terminal) is gone afterwards.
 */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "runner/base/jx.h"
#include "sandbox/box.h"

/* {"layers":[{"name","mechanism","state","reason","proof"}]} for boxes that run as uid and gid. A
 * layer whose attempt came through is `unavailable`, with what came through as its reason, whatever
 * the launcher reports. When no box starts at all, every layer is `unavailable` with that error.
 * *ret_report: the same states. False only if the proof could not be prepared. */
bool probe_run(json_t **ret, struct layer_report *ret_report, const char *launcher, uid_t uid,
               gid_t gid, struct err *err) WARN_UNUSED;

#endif
