/*
 * reftx: a transaction of refs that is held between its two halves. Prepared, git has locked every
 * ref in it and compared the old values; nothing has changed, and nobody else's git can change any
 * of them. Then it is committed, or let go: a caller that dies lets go too, since git then reads
 * the end of its input.
 *
 * git-update-ref(1), `start`, `prepare`, `commit` of --stdin. One thread of its own waits for git.
 */
#ifndef WORKTREE_REFTX_H
#define WORKTREE_REFTX_H

#include <pthread.h>

#include "runner/base/buf.h"
#include "runner/base/proc.h"

struct reftx {
    const char *git_dir, *reason; /* borrowed */
    int fd, git_fd;               /* ours, and git's; -1: not open */
    bool is_running;
    pthread_t thread;
    bool has_ended_well;
    struct proc_result result;
    struct err err;
};

#define REFTX_INIT                                                                     \
    {                                                                                  \
        .fd = -1, .git_fd = -1, .result = PROC_RESULT_INIT, .err = {.code = ERR_NONE } \
    }
#define AUTO_REFTX __attribute__((cleanup(reftx_release)))

/* Lock and compare what the lines of refs_tx_set name; reason goes to their reflogs. ERR_CONFLICT,
 * in git's words: one has another value, or somebody else has its lock. git_dir and reason must
 * outlive it. */
bool reftx_prepare(struct reftx *tx, const char *git_dir, const struct buf *lines,
                   const char *reason, struct err *err) WARN_UNUSED;
/* On failure some refs may have their new values: git sets them one by one. Does not wait for git
 * to end, so that what hangs together is done at once. */
bool reftx_commit(struct reftx *tx, struct err *err) WARN_UNUSED;
/* Lets go of what is not committed. */
void reftx_release(struct reftx *tx);

#endif
