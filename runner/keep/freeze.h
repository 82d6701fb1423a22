/*
 * freeze: an attempt stands still while a person decides about it (gate.freeze).
 *
 *   running --something waits--> frozen --nothing waits, or the end begins--> running
 *
 * By the box's cgroup where it has one that can be frozen, else by SIGSTOP to all of its processes
 * but pid 1, which has to hear the keeper; SIGCONT then goes to those alone that were stopped here,
 * children before their parents, so that no shell takes the stop for one of its jobs. A frozen
 * process can be killed in both ways, so the end of the keeper ends the box as ever (keep.h).
 *
 * Where the kernel gives a waiting exec up at a signal (before Linux 5.19) a stop would make it ask
 * again for ever, so nothing is frozen by signals there.
 */
#ifndef KEEP_FREEZE_H
#define KEEP_FREEZE_H

#include "runner/base/proc.h"
#include "runner/base/strv.h"

struct freeze {
    const struct strv *groups; /* borrowed: the box's cgroups */
    pid_t init_pid;            /* of the box; 0: none yet, or gone */
    bool may_stop;             /* by signals */
    bool is_frozen, is_over;
    struct proc_id *stopped;
    size_t n_stopped;
};

/* Freeze or thaw; the same again does nothing, but stops what came since. */
void freeze_set(struct freeze *f, bool frozen);
/* Thaw, and freeze no more. */
void freeze_end(struct freeze *f);
void freeze_release(struct freeze *f);

#endif
