/*
 * exec_args: what a parked execve was called with, copied out of its caller's memory.
 *
 * A copy of what was there: others can write that memory, so it says what was asked and decided,
 * and exec_trace compares it with what the kernel took in the end.
 */
#ifndef KEEP_EXEC_ARGS_H
#define KEEP_EXEC_ARGS_H

#include <stdint.h>
#include <sys/types.h>
#include "runner/base/buf.h"

enum {
    EXEC_PATH_BYTES = 4096,            /* PATH_MAX, the final NUL included */
    EXEC_ARGS_BYTES = 8 * 1024 * 1024, /* above the kernel's own bound, 6 MiB (execve(2)) */
};

struct exec_args {
    char *path;      /* as given */
    struct buf argv; /* every argument with its NUL; the kernel makes one empty one of none */
};
#define EXEC_ARGS_INIT   \
    {                    \
        .argv = BUF_INIT \
    }
#define AUTO_EXEC_ARGS __attribute__((cleanup(exec_args_release)))
void exec_args_release(struct exec_args *a);

/* Read a path alone. Returns as below. */
int exec_path_read(char ret[EXEC_PATH_BYTES], pid_t tid, uint64_t path);

/* Read them from a thread by the addresses of its path and argv. Returns 0, else the errno for the
 * caller: EFAULT, ENAMETOOLONG and E2BIG as the kernel itself would say, EACCES when its memory may
 * not be read. */
int exec_args_read(struct exec_args *ret, pid_t tid, uint64_t path, uint64_t argv);

#endif
