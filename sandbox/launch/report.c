#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"

bool launch_has(const struct launch *l, enum layer_id id)
{
    return !l->plan.head || (l->plan.head->without & (1U << id)) == 0;
}

void launch_set(struct launch *l, enum layer_id id, enum layer_state state, const char *mechanism,
                const char *reason)
{
    struct layer_status *status = &l->report.layer[id];
    status->state = state;
    snprintf(status->mechanism, sizeof(status->mechanism), "%s", mechanism);
    snprintf(status->reason, sizeof(status->reason), "%s", reason);
}

void launch_mark(struct launch *l, const char *step)
{
    int64_t now_us = clock_mono_us();
    if (*step && l->times.n < BOX_TIMES) {
        snprintf(l->times.row[l->times.n].step, sizeof(l->times.row[0].step), "%s", step);
        l->times.row[l->times.n].took_us = (uint32_t)(now_us - l->marked_us);
        l->times.n++;
    }
    l->marked_us = now_us;
}

bool launch_blame_apparmor(struct err *err)
{
    char c = 0;
    AUTO_FD int fd =
        open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &c, 1) != 1 || c != '1')
        return false;
    err->code = ERR_LAYER;
    err_prefix(err, "AppArmor restricts unprivileged user namespaces; give headgate-box a profile "
                    "with userns, or set kernel.apparmor_restrict_unprivileged_userns=0");
    return true;
}

bool launch_check_required(const struct launch *l, struct err *err)
{
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        const struct layer_status *status = &l->report.layer[id];
        if ((l->plan.head->require & (1U << id)) && status->state != LAYER_ACTIVE)
            return err_set(err, ERR_LAYER, "the required layer %s is %s: %s", layer_name(id),
                           layer_state_name(status->state), status->reason);
    }
    return true;
}

bool launch_send(int ctl_fd, const struct wire_msg *msg, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof(*msg)};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        head.msg_control = control.bytes;
        head.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&head);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    ssize_t sent;
    do
        sent = sendmsg(ctl_fd, &head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*msg);
}

bool launch_send_failed(int ctl_fd, int id, const struct err *err)
{
    struct wire_msg msg = {.kind = BOX_MSG_FAILED, .id = id, .error = *err};
    return launch_send(ctl_fd, &msg, -1);
}

bool launch_send_layers(const struct launch *l)
{
    struct wire_msg msg = {.kind = BOX_MSG_LAYERS, .report = l->report, .times = l->times};
    return launch_send(l->ctl_fd, &msg, -1);
}

bool launch_receive(int ctl_fd, struct wire_cmd *ret, int *ret_fd, int flags)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = ret, .iov_len = sizeof(*ret)};
    struct msghdr head = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    ssize_t got = recvmsg(ctl_fd, &head, MSG_CMSG_CLOEXEC | flags);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        *ret = (struct wire_cmd){0};
        return true;
    }
    if (got != (ssize_t)sizeof(*ret))
        return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&head);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
    return true;
}
