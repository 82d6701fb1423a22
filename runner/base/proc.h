/*
 * proc: identity of processes across restarts, and running a helper program to its end.
 *
 * A pid alone is never an identity: it is stored with the start time (field 22 of
 * /proc/PID/stat, clock ticks since boot, proc(5)) and the boot id.
 * proc_run uses posix_spawn and waits for its own pid only, so it may run on a worker thread. Never
 * used in the keeper, where one thread waits for every child.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdint.h>
#include <sys/types.h>
#include "runner/base/buf.h"
#include "runner/base/strv.h"

struct proc_id {
    pid_t pid;
    uint64_t start_ticks;
    char boot_id[40];
};

/* The id of the running system's boot, 36 characters, proc_sys_kernel(5). */
bool proc_boot_id(char ret_id[40], struct err *err) WARN_UNUSED;
bool proc_id_of(struct proc_id *ret_id, pid_t pid, struct err *err) WARN_UNUSED;
/* True when that very process exists and is not a zombie. */
bool proc_id_alive(const struct proc_id *id);

struct proc_cmd {
    const struct strv *argv; /* argv[0] is looked up in PATH of env (or the caller's) */
    const struct strv *env;  /* NULL: the caller's environment */
    const char *cwd;         /* NULL: the caller's */
    const void *input;       /* standard input; NULL: /dev/null */
    size_t input_len;
    int input_fd;            /* used when > 0 and input is NULL; borrowed */
    int output_fd;           /* standard output goes here when > 0 (not captured); borrowed */
    size_t max_output_bytes; /* 0: LIMIT_CAPTURE_BYTES; more is ERR_LIMIT and the child is killed */
    int64_t timeout_ms;      /* 0: none */
    bool inherit_stderr;     /* else it is captured (its first 64 KiB) */
    bool new_session;        /* setsid in the child */
};

struct proc_result {
    int status; /* exit code, or 128 + signal */
    struct buf out;
    struct buf errout;
};

#define PROC_RESULT_INIT                                  \
    {                                                     \
        .status = -1, .out = BUF_INIT, .errout = BUF_INIT \
    }
#define AUTO_PROC_RESULT __attribute__((cleanup(proc_result_release)))

void proc_result_release(struct proc_result *r);
/* Run to exit and EOF of the captured pipes. False only if it could not be started, timed out or
 * met a limit; a non-zero status is success of this function. */
bool proc_run(struct proc_result *ret, const struct proc_cmd *cmd, struct err *err) WARN_UNUSED;

/* exit code from a waitpid status: code, or 128 + signal. */
int proc_exit_code(int wait_status);
/* pidfd_open(2), -1 with errno. */
int proc_pidfd(pid_t pid);

#endif
