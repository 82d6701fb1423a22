#include "runner/keep/narrowed.h"

#include <stdlib.h>
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"

enum { NARROWED_MAX = 1024, NARROWED_DEPTH = 256 };

static bool is_there(const struct narrowed_one *one)
{
    struct procfs_stat stat;
    return procfs_stat_of(&stat, one->pid) && stat.start_ticks == one->start_ticks;
}

static void drop_gone(struct narrowed *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (is_there(&l->v[i]))
            l->v[n++] = l->v[i];
    l->n = n;
}

void narrowed_add(struct narrowed *l, pid_t tid)
{
    struct procfs_stat stat;
    pid_t pid = procfs_group(tid);
    if (l->n == NARROWED_MAX)
        drop_gone(l);
    if (l->n == NARROWED_MAX || !procfs_stat_of(&stat, pid)) {
        l->is_unclear = true;
        l->first_ticks = 1;
        return;
    }
    l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n++] = (struct narrowed_one){.pid = pid, .start_ticks = stat.start_ticks};
    if (l->first_ticks == 0 || stat.start_ticks < l->first_ticks)
        l->first_ticks = stat.start_ticks;
}

static bool is_listed(const struct narrowed *l, pid_t pid, uint64_t start_ticks)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].pid == pid && l->v[i].start_ticks == start_ticks)
            return true;
    return false;
}

bool narrowed_may_be(const struct narrowed *l, pid_t init_pid, pid_t tid)
{
    pid_t pid = procfs_group(tid);
    if (l->first_ticks == 0)
        return false;
    for (int depth = 0; !l->is_unclear && depth < NARROWED_DEPTH; depth++) {
        struct procfs_stat stat;
        if (!procfs_stat_of(&stat, pid) || is_listed(l, pid, stat.start_ticks))
            return true;
        if (stat.parent == init_pid)
            return stat.start_ticks >= l->first_ticks;
        pid = stat.parent;
    }
    return true;
}

void narrowed_release(struct narrowed *l)
{
    free(l->v);
}
