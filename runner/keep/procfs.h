/*
 * procfs: small files of /proc/PID, each taken in one read, since a gate that looks at every exec
 * pays for each system call.
 */
#ifndef KEEP_PROCFS_H
#define KEEP_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to size - 1 bytes of /proc/PID/NAME, with a NUL behind them. Returns how many, -1: it is gone
 * or may not be read. */
ssize_t procfs_read(char *ret, size_t size, pid_t pid, const char *name);

/* The process of a thread; the same number where that cannot be read. */
pid_t procfs_group(pid_t tid);

/* Of a thread, in the innermost pid namespace that it is in. */
struct procfs_numbers {
    long process, thread;
};
/* False: there is no such thread, or it may not be looked at. */
bool procfs_numbers_inside(struct procfs_numbers *ret, pid_t tid);

struct procfs_stat {
    char state; /* R, S, T... (proc(5)) */
    pid_t parent;
    uint64_t start_ticks;
};
/* False: there is no such process or thread. */
bool procfs_stat_of(struct procfs_stat *ret, pid_t pid);

#endif
