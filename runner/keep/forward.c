#include "runner/keep/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/mem.h"

enum { FORWARD_BACKLOG = 64, FORWARD_WAITING_MAX = 64, FORWARD_PORT_MAX = 65535 };

struct forward {
    struct forward *next;
    struct forwards *all;
    const void *owner;
    struct listener *listener;
    int port; /* in the box */
};

struct forward_wait {
    struct forward_wait *next;
    int id, fd;
};

static void forward_on_accept(void *arg, int fd)
{
    const struct forward *forward = arg;
    struct forwards *f = forward->all;
    struct err err = ERR_INIT;
    int id = FORWARD_FIRST_ID + f->last_id++ % FORWARD_FIRST_ID;
    if (f->n_waiting >= FORWARD_WAITING_MAX || !f->dial(f->arg, id, forward->port, &err)) {
        close(fd);
        return;
    }
    struct forward_wait *wait = xcalloc(1, sizeof *wait);
    *wait = (struct forward_wait){.next = f->waiting, .id = id, .fd = fd};
    f->waiting = wait;
    f->n_waiting++;
}

void forwards_dialed(struct forwards *f, int id, int fd)
{
    struct forward_wait **at = &f->waiting;
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    struct forward_wait *wait = *at;
    if (!wait) {
        if (fd >= 0)
            close(fd);
        return;
    }
    *at = wait->next;
    f->n_waiting--;
    if (fd >= 0)
        services_relay(f->services, fd, wait->fd);
    else
        close(wait->fd);
    free(wait);
}

static int forward_listen(int wanted, int *ret_port, struct err *err)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)wanted),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, errno, "cannot make a socket"), -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&address, len) != 0) {
        int why = errno;
        if (why == EADDRINUSE)
            err_set(err, ERR_CONFLICT,
                    "port %d of this host is in use; choose another with --listen", wanted);
        else
            err_sys(err, why, "cannot listen on port %d of this host", wanted);
        return -1;
    }
    if (listen(fd, FORWARD_BACKLOG) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return err_sys(err, errno, "cannot listen on port %d of this host", wanted), -1;
    *ret_port = ntohs(address.sin_port);
    return steal_fd(&fd);
}

bool forwards_open(struct forwards *f, const void *owner, int port, int wanted, int *ret_port,
                   struct err *err)
{
    if (port < 1 || port > FORWARD_PORT_MAX || wanted < 0 || wanted > FORWARD_PORT_MAX)
        return err_set(err, ERR_USAGE, "a port is a number from 1 to %d", FORWARD_PORT_MAX);
    int fd = forward_listen(wanted, ret_port, err);
    if (fd < 0)
        return false;
    struct forward *forward = xcalloc(1, sizeof *forward);
    *forward = (struct forward){.next = f->open, .all = f, .owner = owner, .port = port};
    forward->listener = listener_open(f->services->loop, fd, forward_on_accept, forward, err);
    if (!forward->listener) {
        free(forward);
        return false;
    }
    f->open = forward;
    return true;
}

static void forward_close(struct forward *forward)
{
    listener_close(forward->listener);
    free(forward);
}

void forwards_leave(struct forwards *f, const void *owner)
{
    struct forward **at = &f->open;
    while (*at) {
        struct forward *forward = *at;
        if (forward->owner != owner) {
            at = &forward->next;
            continue;
        }
        *at = forward->next;
        forward_close(forward);
    }
}

void forwards_init(struct forwards *f, struct services *services, forward_dial_fn dial, void *arg)
{
    *f = (struct forwards){.services = services, .dial = dial, .arg = arg};
}

void forwards_close(struct forwards *f)
{
    while (f->open) {
        struct forward *next = f->open->next;
        forward_close(f->open);
        f->open = next;
    }
    while (f->waiting)
        forwards_dialed(f, f->waiting->id, -1);
}
