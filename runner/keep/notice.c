#include "runner/keep/notice.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

/* Newer than the headers of Debian 12 (linux/seccomp.h). */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

enum { NOTICE_BYTES = 512 }; /* a newer kernel's notification is longer than ours */

void notice_take_turns(int listener_fd)
{
    /* An older kernel wakes it as ever. */
    ioctl(listener_fd, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
}

bool notice_take(struct notice *ret, int listener_fd)
{
    union {
        struct seccomp_notif notif;
        char room[NOTICE_BYTES];
    } got;
    struct pollfd p = {.fd = listener_fd, .events = POLLIN};
    do {
        if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLIN))
            return false;
        memset(&got, 0, sizeof got); /* or the kernel refuses */
    } while (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &got) != 0 &&
             (errno == ENOENT || errno == EINTR));
    *ret =
        (struct notice){.id = got.notif.id, .tid = (pid_t)got.notif.pid, .call = got.notif.data.nr};
    for (size_t i = 0; i < 6; i++)
        ret->args[i] = got.notif.data.args[i];
    return ret->id != 0;
}

bool notice_lives(uint64_t id, int listener_fd)
{
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool answer(uint64_t id, int listener_fd, int why, uint32_t flags)
{
    struct seccomp_notif_resp response = {.id = id, .error = -why, .flags = flags};
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

bool notice_go_on(uint64_t id, int listener_fd)
{
    return answer(id, listener_fd, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool notice_end(uint64_t id, int listener_fd, int why)
{
    return answer(id, listener_fd, why, 0);
}
