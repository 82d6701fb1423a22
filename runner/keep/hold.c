#include "runner/keep/hold.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include "runner/base/mem.h"

void hold_init(struct hold *h, uv_loop_t *loop, int64_t patience_ms, const struct hold_ops *ops,
               void *arg)
{
    *h = (struct hold){.loop = loop, .ops = ops, .arg = arg, .patience_ms = patience_ms};
    uv_timer_init(loop, &h->patience);
    h->patience.data = h;
}

bool hold_is_on(const struct hold *h)
{
    return h->patience_ms > 0 && !h->was_greeted && !h->is_closed;
}

static void hold_on_closed(uv_handle_t *handle)
{
    struct hold_socket *s =
        (struct hold_socket *)((char *)handle - offsetof(struct hold_socket, poll));
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

static void hold_on_patience_over(uv_timer_t *timer)
{
    struct hold *h = timer->data;
    h->ops->overdue(h->arg);
}

int64_t hold_patience_ms(const struct hold *h)
{
    return h->is_wanted ? h->patience_ms : h->patience_ms * HOLD_START_TIMES;
}

static void hold_wait(struct hold *h)
{
    uv_timer_start(&h->patience, hold_on_patience_over, (uint64_t)hold_patience_ms(h), 0);
}

void hold_expect(struct hold *h)
{
    if (hold_is_on(h) && !h->is_wanted)
        hold_wait(h);
}

/* Somebody waits for it. One look is enough: it stays readable. */
static void hold_on_wanted(uv_poll_t *poll, int status, int events)
{
    struct hold *h = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (h->is_wanted)
        return;
    h->is_wanted = true;
    hold_wait(h);
}

void hold_keep(struct hold *h, int port, int fd)
{
    struct hold_socket *s = xcalloc(1, sizeof *s);
    if (!hold_is_on(h) || h->n_sockets == HOLD_SOCKETS ||
        uv_poll_init(h->loop, &s->poll, fd) != 0) {
        free(s);
        if (hold_is_on(h))
            close(fd); /* what cannot be held is not served either */
        else
            h->ops->serve(h->arg, port, fd);
        return;
    }
    s->port = port;
    s->fd = fd;
    s->poll.data = h;
    h->sockets[h->n_sockets++] = s;
    uv_poll_start(&s->poll, UV_READABLE, hold_on_wanted);
}

/* Its poll must be gone before another watches the same descriptor. */
static void hold_on_let_go(uv_handle_t *handle)
{
    struct hold_socket *s =
        (struct hold_socket *)((char *)handle - offsetof(struct hold_socket, poll));
    struct hold *h = handle->data;
    int fd = s->fd;
    s->fd = -1;
    if (h->is_closed)
        close(fd);
    else
        h->ops->serve(h->arg, s->port, fd);
    hold_on_closed(handle);
}

static void hold_empty(struct hold *h, uv_close_cb then)
{
    uv_timer_stop(&h->patience);
    for (size_t i = 0; i < h->n_sockets; i++)
        uv_close((uv_handle_t *)&h->sockets[i]->poll, then);
    h->n_sockets = 0;
}

void hold_greeted(struct hold *h)
{
    if (h->was_greeted || h->is_closed)
        return;
    h->was_greeted = true;
    hold_empty(h, hold_on_let_go);
}

void hold_close(struct hold *h)
{
    if (h->is_closed)
        return;
    h->is_closed = true;
    hold_empty(h, hold_on_closed);
    uv_close((uv_handle_t *)&h->patience, NULL);
}
