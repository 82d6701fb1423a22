/*
 * probe: the tables of what can be tried from inside a box (launch/probe.c).
 */
#ifndef SANDBOX_LAUNCH_PROBE_H
#define SANDBOX_LAUNCH_PROBE_H

#include "sandbox/launch/sys.h"

/* An attempt that printed its own line gives this; else it gives 0 (it came through) or an errno.
 * Above every errno, below 256. */
enum { PROBE_PRINTED = 250 };

struct probe_attempt {
    const char *name;
    int (*run)(const char *argument);
};

extern const struct probe_attempt probe_views[]; /* probe_view.c: what is seen and reached */
extern const struct probe_attempt probe_calls[]; /* probe_call.c: system calls that are refused */
/* Of the escape suite (sandbox/escape/try_*.c). */
extern const struct probe_attempt probe_spaces[], probe_escape_calls[], probe_ipc[], probe_life[],
    probe_net[];

#endif
