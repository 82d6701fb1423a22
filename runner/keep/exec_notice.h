/*
 * exec_notice: the raw side of the listener: one parked exec taken, checked, answered.
 *
 * The numbers of a notification mean something only as long as it lives; whatever was read of its
 * thread counts only when it still lives afterwards (seccomp_unotify(2)).
 */
#ifndef KEEP_EXEC_NOTICE_H
#define KEEP_EXEC_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct exec_notice {
    uint64_t id;
    pid_t tid; /* of the caller, as the keeper sees it */
    int dirfd; /* AT_FDCWD for execve */
    int flags; /* of execveat */
    uint64_t path, argv;
};

/* Let a caller that was answered run at once on this CPU, where the kernel can (Linux 6.6): keeper and
 * caller take turns anyway. */
void exec_notice_take_turns(int listener_fd);
/* False: none is there. Never waits, as there is one reader. */
bool exec_notice_take(struct exec_notice *ret, int listener_fd);
bool exec_notice_lives(const struct exec_notice *n, int listener_fd);
/* why 0: go on. False: the caller was killed or interrupted meanwhile. */
bool exec_notice_answer(const struct exec_notice *n, int listener_fd, int why);

#endif
