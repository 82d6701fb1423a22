#include "runner/keep/exec_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* Newer than the headers of Debian 12 (linux/seccomp.h). */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define NOTIF_SYNC_WAKE_UP 1UL

enum { NOTICE_BYTES = 512 }; /* a newer kernel's notification is longer than ours */

void exec_notice_take_turns(int listener_fd)
{
    /* An older kernel wakes it as ever. */
    ioctl(listener_fd, NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP);
}

bool exec_notice_take(struct exec_notice *ret, int listener_fd)
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
    const struct seccomp_data *data = &got.notif.data;
    bool is_at = data->nr == SYS_execveat;
    const __u64 *vectors = data->args + (is_at ? 1 : 0);
    *ret = (struct exec_notice){
        .id = got.notif.id,
        .tid = (pid_t)got.notif.pid,
        .dirfd = is_at ? (int)data->args[0] : AT_FDCWD,
        .flags = is_at ? (int)data->args[4] : 0,
        .path = vectors[0],
        .argv = vectors[1],
    };
    return ret->id != 0;
}

bool exec_notice_lives(const struct exec_notice *n, int listener_fd)
{
    uint64_t id = n->id;
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool exec_notice_answer(const struct exec_notice *n, int listener_fd, int why)
{
    struct seccomp_notif_resp answer = {
        .id = n->id,
        .error = -why,
        .flags = why ? 0U : (uint32_t)SECCOMP_USER_NOTIF_FLAG_CONTINUE,
    };
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}
