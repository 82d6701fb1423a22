/*
 * exec_notice: one parked exec.
 */
#ifndef KEEP_EXEC_NOTICE_H
#define KEEP_EXEC_NOTICE_H

#include "runner/keep/notice.h"

struct exec_notice {
    uint64_t id;
    pid_t tid; /* of the caller, as the keeper sees it */
    int dirfd; /* AT_FDCWD for execve */
    int flags; /* of execveat */
    uint64_t path, argv;
};

/* False: it is another call. */
bool exec_notice_of(struct exec_notice *ret, const struct notice *n);
bool exec_notice_lives(const struct exec_notice *n, int listener_fd);
/* why 0: go on. False: the caller was killed or interrupted meanwhile. */
bool exec_notice_answer(const struct exec_notice *n, int listener_fd, int why);

#endif
