/*
 * fault: a failure injected at one step of an operation, in the test variant of this library only.
 *
 * Every operation of several steps calls wt_fault() between two of them. In the variant built with
 * WT_FAULTS the n-th call fails, or ends the process as a crash would; elsewhere it is nothing at
 * all.
 */
#ifndef WORKTREE_FAULT_H
#define WORKTREE_FAULT_H

#include "runner/base/err.h"

#ifdef WT_FAULTS
bool wt_fault(struct err *err) WARN_UNUSED;
/* The n-th call from now on fails (n from 1; 0: none); with crash the process ends at once with
 * status 86. */
void wt_fault_at(int n, bool crash);
#else
static inline bool wt_fault(struct err *err)
{
    (void)err;
    return true;
}
#endif

#endif
