#include "runner/keep/proxy.h"

#include <stdlib.h>
#include <unistd.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/keep/proxy_conn.h"

/* How long a connection that comes too fast waits for its turn: for the second in which there is
 * room again. Programs that are denied try again without end; they are slowed down and not
 * answered with errors. */
static uint64_t proxy_delay_ms(struct proxy *p)
{
    int64_t now_ms = clock_mono_ms();
    if (now_ms - p->second_ms >= 1000) {
        p->second_ms = now_ms;
        p->n_in_second = 0;
    }
    int turn = p->n_in_second++ / LIMIT_PROXY_PER_SECOND;
    int64_t at_ms = p->second_ms + turn * (int64_t)1000;
    return turn == 0 ? 0 : (uint64_t)(at_ms - now_ms);
}

static void proxy_on_accept(void *arg, int fd)
{
    struct proxy *p = arg;
    if (p->n_conns >= LIMIT_PROXY_CONNECTIONS)
        close(fd);
    else
        proxy_conn_open(p, fd, proxy_delay_ms(p));
}

void proxy_init(struct proxy *ret, uv_loop_t *loop, const struct proxy_ops *ops, void *arg,
                const char *resolver)
{
    *ret = (struct proxy){.loop = loop, .ops = ops, .arg = arg};
    resolver_init(&ret->resolver, loop, resolver);
}

bool proxy_listen(struct proxy *p, int fd, struct err *err)
{
    AUTO_FD int own = fd;
    if (p->n_listeners == PROXY_LISTENERS)
        return err_set(err, ERR_LIMIT, "the proxy listens on too many sockets");
    if (!fs_set_nonblock(own, err))
        return false;
    struct listener *l = listener_open(p->loop, steal_fd(&own), proxy_on_accept, p, err);
    if (!l)
        return false;
    p->listeners[p->n_listeners++] = l;
    return true;
}

void proxy_recheck(struct proxy *p, bool (*keeps)(void *arg, const struct net_target *target))
{
    for (struct proxy_conn *c = p->conns; c; c = c->next) {
        bool is_allowed = c->state >= PROXY_RESOLVING && c->state <= PROXY_RELAYING;
        if (is_allowed && (!keeps(p->arg, &c->target) || !proxy_conn_may_stay(c)))
            proxy_conn_close(c);
    }
}

void proxy_deafen(struct proxy *p)
{
    for (size_t i = 0; i < p->n_listeners; i++)
        listener_close(p->listeners[i]);
    p->n_listeners = 0;
}

void proxy_close(struct proxy *p)
{
    if (p->is_closed)
        return;
    p->is_closed = true;
    proxy_deafen(p);
    for (struct proxy_conn *c = p->conns; c; c = c->next)
        proxy_conn_close(c);
    resolver_close(&p->resolver);
}

void proxy_release(struct proxy *p)
{
    resolver_release(&p->resolver);
    free(p->chunk);
    p->chunk = NULL;
}
