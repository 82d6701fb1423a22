#include "sandbox/launch/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum { BACKLOG = 128 };

static int listen_on(int family, const struct sockaddr *address, socklen_t len)
{
    const int on = 1;
    AUTO_FD int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, address, len) != 0 || listen(fd, BACKLOG) != 0)
        return -1;
    return steal_fd(&fd);
}

static bool hand_out(const struct launch *l, int fd, int port, struct err *err)
{
    struct wire_msg msg = {.kind = BOX_MSG_LISTENER, .port = port};
    if (!launch_send(l->ctl_fd, &msg, fd))
        return err_set(err, ERR_SYS, "cannot hand out the listener of port %d", port);
    return true;
}

/* A kernel without IPv6 leaves the second socket out; programs then have no ::1 to try either. */
static bool open_port(const struct launch *l, int port, struct err *err)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons((uint16_t)port),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    AUTO_FD int first = listen_on(AF_INET, (const struct sockaddr *)&v4, sizeof(v4));
    if (first < 0)
        return err_sys(err, errno, "cannot listen on port %d in the box", port);
    if (!hand_out(l, first, port, err))
        return false;
    AUTO_FD int second = listen_on(AF_INET6, (const struct sockaddr *)&v6, sizeof(v6));
    if (second < 0 && errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
        return err_sys(err, errno, "cannot listen on port %d of ::1 in the box", port);
    return second < 0 || hand_out(l, second, port, err);
}

bool net_apply(struct launch *l, struct err *err)
{
    const struct plan_step *step = NULL;
    while ((step = plan_next(&l->plan, step)))
        if (step->kind == PLAN_PORT && !open_port(l, atoi(plan_text(step, 0)), err))
            return false;
    const struct plan_step *name = plan_find(&l->plan, PLAN_HOSTNAME);
    if (name && l->report.layer[LAYER_UTS].state == LAYER_ACTIVE &&
        sethostname(plan_text(name, 0), strlen(plan_text(name, 0))) != 0)
        return err_sys(err, errno, "cannot name the box %s", plan_text(name, 0));
    launch_mark(l, "network");
    return true;
}

int net_dial(int port, bool is_v6, struct err *err)
{
    const struct sockaddr_in v4 = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    const struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6,
        .sin6_port = htons((uint16_t)port),
        .sin6_addr = IN6ADDR_LOOPBACK_INIT,
    };
    const struct sockaddr *address =
        is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
    AUTO_FD int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        (connect(fd, address, is_v6 ? sizeof v6 : sizeof v4) != 0 && errno != EINPROGRESS))
        return err_sys(err, errno, "nothing answers at port %d of the box", port), -1;
    return steal_fd(&fd);
}
