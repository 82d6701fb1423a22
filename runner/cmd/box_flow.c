#include "runner/cmd/box_flow.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void box_flow_init(struct box_flow *f, int from, int to)
{
    f->from = from;
    f->to = to;
    f->at = f->len = 0;
    f->has_ended = f->is_done = from < 0 || to < 0;
}

struct pollfd box_flow_poll(const struct box_flow *f)
{
    if (f->is_done)
        return (struct pollfd){.fd = -1};
    if (f->len > 0)
        return (struct pollfd){.fd = f->to, .events = POLLOUT};
    return (struct pollfd){.fd = f->from, .events = POLLIN};
}

static bool is_passing(int why)
{
    return why == EINTR || why == EAGAIN;
}

static void take(struct box_flow *f)
{
    ssize_t got = read(f->from, f->data, sizeof(f->data));
    if (got < 0 && is_passing(errno))
        return;
    f->at = 0;
    f->len = got > 0 ? (size_t)got : 0; /* a terminal whose other side is gone gives EIO: its end */
    f->has_ended = got <= 0;
}

static void give(struct box_flow *f)
{
    ssize_t put = write(f->to, f->data + f->at, f->len);
    if (put < 0 && is_passing(errno))
        return;
    if (put < 0) {
        f->len = 0;
        f->has_ended = true;
        return;
    }
    f->at += (size_t)put;
    f->len -= (size_t)put;
}

void box_flow_step(struct box_flow *f, short events)
{
    if (f->is_done || events == 0)
        return;
    if (f->len > 0)
        give(f);
    else
        take(f);
    if (f->has_ended && f->len == 0) {
        f->is_done = true;
        shutdown(f->to, SHUT_WR); /* tells the other side of a socket; no effect elsewhere */
    }
}
