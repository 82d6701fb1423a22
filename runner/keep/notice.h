/*
 * notice: the raw side of the listener: one parked call taken, checked, answered.
 *
 * The numbers of a notification mean something only as long as it lives; whatever was read of its
 * thread counts only when it still lives afterwards (seccomp_unotify(2)).
 */
#ifndef KEEP_NOTICE_H
#define KEEP_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notice {
    uint64_t id;
    pid_t tid; /* of the caller, as the keeper sees it */
    int call;  /* SYS_execve, ... */
    uint64_t args[6];
};

/* Let a caller that was answered run at once on this CPU, where the kernel can (Linux 6.6): keeper
 * and caller take turns anyway. */
void notice_take_turns(int listener_fd);
/* False: none is there. Never waits, as there is one reader. */
bool notice_take(struct notice *ret, int listener_fd);
bool notice_lives(uint64_t id, int listener_fd);
/* Answers. False: the caller was killed or interrupted meanwhile. */
bool notice_go_on(uint64_t id, int listener_fd);        /* the kernel carries the call out */
bool notice_end(uint64_t id, int listener_fd, int why); /* it is over with this errno, or 0 */

#endif
