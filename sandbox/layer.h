/*
 * layer: the names of the layers of a box, and what is in force of each.
 */
#ifndef SANDBOX_LAYER_H
#define SANDBOX_LAYER_H

#include "runner/base/buf.h"

enum layer_id {
    LAYER_USER,  /* user namespace, identity-mapped */
    LAYER_MOUNT, /* mount namespace with a new root */
    LAYER_PID,   /* pid namespace and own procfs */
    LAYER_IPC,
    LAYER_UTS,
    LAYER_NET,    /* network namespace with only lo */
    LAYER_CGROUP, /* cgroup namespace */
    LAYER_LIMITS, /* memory and pids limits: cgroup, or rlimits and pid 1's accounting */
    LAYER_CAPS,   /* no capability in any set, no_new_privs */
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_PTY, /* own session and devpts */
    LAYER_COUNT
};

enum layer_state { LAYER_UNAVAILABLE, LAYER_DEGRADED, LAYER_ACTIVE };

struct layer_status {
    enum layer_state state;
    char mechanism[48]; /* "Landlock ABI 7", "cgroup v1 memory, pids" */
    char reason[240];   /* why not active, and what to do; "" when active */
};

struct layer_report {
    struct layer_status layer[LAYER_COUNT];
};

const char *layer_name(enum layer_id id); /* "user", "mount", ... */
const char *layer_state_name(enum layer_state state);
/* Parse "landlock,seccomp" into a mask of 1 << id. ERR_USAGE names the unknown word and the known
 * ones. */
bool layer_parse_list(unsigned *ret_mask, const char *text, struct err *err) WARN_UNUSED;
/* The same with `exec`, which is kept by whoever holds the box's listener and not by the launcher:
 * a bit of its own, that no plan may hold. */
#define LAYER_EXEC_BIT (1U << LAYER_COUNT)
bool layer_parse_required(unsigned *ret_mask, const char *text, struct err *err) WARN_UNUSED;
/* One line for a person: "user mount pid … active; limits degraded (…)". Pure. */
void layer_summary(struct buf *out, const struct layer_report *report);

#endif
