/*
 * exec_trace: lets an exec go on and makes sure that the kernel did the one that was decided.
 *
 *   parked --seize, continue, interrupt--> going on --exec stop: equal-----> stands   EXEC_BEGAN
 *                                             |      --exec stop: different-> killed   EXEC_RACED
 *                                             +------other stop: it failed--> let go   EXEC_FAILED
 *
 * The kernel reads path and arguments again after the answer, and other threads may change them
 * until then. So the thread is seized while it is parked; at the exec stop, before the first
 * instruction of the new program, executable and arguments are what they will be.
 *
 * Invariants:
 * 1. A thread in the table is traced by this process until an event takes it out.
 * 2. Whatever does not compare equal is killed, also what cannot be compared.
 * 3. All calls come from the keeper's one thread, which is the tracer. Its loop of waitpid(-1) is
 * the only one: the thread that calls exec may end under another number than it began (ptrace(2)).
 * 4. When the keeper dies, so does all that is traced (PTRACE_O_EXITKILL).
 */
#ifndef KEEP_EXEC_TRACE_H
#define KEEP_EXEC_TRACE_H

#include "runner/keep/exec_image.h"

enum exec_outcome {
    EXEC_NONE,   /* not ours, or nothing to tell yet */
    EXEC_BEGAN,  /* as decided; it still stands before its first instruction */
    EXEC_FAILED, /* the kernel refused it; the caller has its errno */
    EXEC_RACED,  /* something else was about to run, and was killed */
    EXEC_GONE,   /* the caller was killed before */
};

struct exec_watch {
    pid_t tid;
    struct exec_image image; /* owned */
    bool is_stale;           /* its notification is gone: whatever it does is not ours */
    bool is_dying;           /* killed by us, to be reaped */
};

struct exec_trace {
    struct exec_watch *all;
    size_t n;
};

void exec_trace_release(struct exec_trace *t);
/* True when another thread of the same process is in the table. */
bool exec_trace_has_sibling(const struct exec_trace *t, pid_t tid);
/* Seize a parked thread. 0, else an errno: EPERM when somebody traces it already, or the kernel
 * lets nobody (Yama 3). On success the image is taken over. A thread whose last exec failed may be
 * back with its next one before the interrupt has reached it (a shell that runs a script without a
 * first line does so at once): it is still seized, and parked it has no stop to tell of, so that it
 * only gets the new image. To wait for its stop would be to wait for ever. */
int exec_trace_seize(struct exec_trace *t, pid_t tid, struct exec_image *image);
/* After the answer was sent: make an exec that fails come to a stop. is_answered false: the
 * notification had gone, and with it the meaning of the number. */
void exec_trace_answered(struct exec_trace *t, pid_t tid, bool is_answered);
/* One status of waitpid. ret_image (released by the caller) is set for all but EXEC_NONE. */
enum exec_outcome exec_trace_event(struct exec_trace *t, pid_t pid, int status,
                                   struct exec_image *ret_image);
/* After EXEC_BEGAN, when all that is to be known of the process has been read: it may be gone, and
 * its number another's, a moment later. */
void exec_trace_let_begin(pid_t pid);

#endif
