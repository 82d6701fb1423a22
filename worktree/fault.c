#include "worktree/fault.h"

#ifdef WT_FAULTS
#include <stdatomic.h>
#include <unistd.h>

enum { CRASH_STATUS = 86 };

/* Test variant only: the one place with a global state. */
static atomic_int calls, chosen;
static atomic_bool is_crash;

void wt_fault_at(int n, bool crash)
{
    atomic_store(&calls, 0);
    atomic_store(&chosen, n);
    atomic_store(&is_crash, crash);
}

bool wt_fault(struct err *err)
{
    int n = atomic_fetch_add(&calls, 1) + 1;
    if (n != atomic_load(&chosen))
        return true;
    if (atomic_load(&is_crash))
        _exit(CRASH_STATUS);
    return err_set(err, ERR_INTERNAL, "injected fault %d", n);
}
#endif
