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

/* One connection that was accepted, while its way inside is tried. */
struct forward_wait {
    struct forward_wait *next;
    struct forwards *all;
    int id, port, outside;
    bool is_v6;
    int inside; /* -1: not told yet; else on its way */
    uv_poll_t arrival;
};

static void forward_wait_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Take it from the list; it is freed by the loop, and its sockets are the caller's. */
static void forward_wait_end(struct forward_wait *wait)
{
    struct forward_wait **at = &wait->all->waiting;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    wait->all->n_waiting--;
    if (wait->inside < 0) {
        free(wait);
        return;
    }
    uv_poll_stop(&wait->arrival);
    uv_close((uv_handle_t *)&wait->arrival, forward_wait_on_closed);
}

static void forward_wait_drop(struct forward_wait *wait)
{
    int inside = wait->inside, outside = wait->outside;
    forward_wait_end(wait);
    if (inside >= 0)
        close(inside);
    if (outside >= 0)
        close(outside);
}

/* Takes outside over. */
static void forward_try(struct forwards *f, int id, int port, bool is_v6, int outside)
{
    struct err err = ERR_INIT;
    if (f->n_waiting >= FORWARD_WAITING_MAX || !f->dial(f->arg, id, port, is_v6, &err)) {
        close(outside);
        return;
    }
    struct forward_wait *wait = xcalloc(1, sizeof *wait);
    *wait = (struct forward_wait){.next = f->waiting,
                                  .all = f,
                                  .id = id,
                                  .port = port,
                                  .outside = outside,
                                  .is_v6 = is_v6,
                                  .inside = -1};
    f->waiting = wait;
    f->n_waiting++;
}

/* Nobody there; but a server may listen on ::1 alone. */
static void forward_refused(struct forward_wait *wait)
{
    struct forwards *f = wait->all;
    int id = wait->id, port = wait->port, outside = wait->outside;
    if (wait->is_v6) {
        forward_wait_drop(wait);
        return;
    }
    wait->outside = -1;
    forward_wait_drop(wait);
    forward_try(f, id, port, true, outside);
}

static void forward_on_arrival(uv_poll_t *poll, int status, int events)
{
    struct forward_wait *wait = poll->data;
    struct services *services = wait->all->services;
    int why = 0, inside = wait->inside, outside = wait->outside;
    socklen_t len = sizeof why;
    (void)events;
    (void)status; /* the socket tells */
    if (getsockopt(inside, SOL_SOCKET, SO_ERROR, &why, &len) != 0 || why != 0) {
        forward_refused(wait);
        return;
    }
    forward_wait_end(wait);
    services_relay(services, inside, outside);
}

static void forward_await_arrival(struct forward_wait *wait, int inside)
{
    if (uv_poll_init(wait->all->services->loop, &wait->arrival, inside) != 0) {
        close(inside);
        forward_wait_drop(wait);
        return;
    }
    wait->inside = inside;
    wait->arrival.data = wait;
    uv_poll_start(&wait->arrival, UV_WRITABLE, forward_on_arrival);
}

static void forward_on_accept(void *arg, int fd)
{
    const struct forward *forward = arg;
    struct forwards *f = forward->all;
    int id = FORWARD_FIRST_ID + f->last_id++ % FORWARD_FIRST_ID;
    forward_try(f, id, forward->port, false, fd);
}

void forwards_dialed(struct forwards *f, int id, int fd)
{
    struct forward_wait *wait = f->waiting;
    while (wait && (wait->id != id || wait->inside >= 0))
        wait = wait->next;
    if (wait && fd >= 0)
        forward_await_arrival(wait, fd);
    else if (wait)
        forward_refused(wait);
    else if (fd >= 0)
        close(fd);
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
        forward_wait_drop(f->waiting);
}
