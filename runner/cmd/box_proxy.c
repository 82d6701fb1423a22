#include "runner/cmd/box_proxy.h"

#include <stdlib.h>

#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/keep/own_address.h"
#include "runner/keep/proxy.h"

struct box_proxy {
    uv_loop_t loop;
    struct proxy proxy;
    struct policy policy;
    uint16_t port;
};

/* libuv adds what a callback began to watch to its descriptor in its next turn only. So each step
 * has two turns, and while connections are open there is another step soon. */
enum { TURN_MS = 10 };

/* Told as the command's own, so that rules for one kind of agent do not come in. */
static const char agent[] = "command";

static enum proxy_verdict on_judge(void *arg, struct proxy_conn *conn,
                                   const struct net_target *target, struct buf *ret_reason)
{
    const struct box_proxy *p = arg;
    const struct policy_place place = {.worktree = "/", .home = "/"};
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct judgement j = {0};
    (void)conn;
    net_request(&request, target, agent);
    net_judge(&j, &p->policy, &request, target, &place);
    if (j.verdict == VERDICT_ALLOW)
        return PROXY_ALLOW;
    host_add_with_port(ret_reason, &target->host, target->port);
    buf_addf(ret_reason, " is denied: %s",
             j.verdict == VERDICT_ASK ? "it is not listed (headgate box --net HOST:PORT)"
                                      : j.reason);
    return PROXY_DENY;
}

static bool on_may_reach(void *arg, const struct host_address *address, uint16_t port)
{
    const struct box_proxy *p = arg;
    return net_may_reach(&p->policy, agent, address, port, own_address_is(address));
}

static void on_gave_up(void *arg, struct proxy_conn *conn)
{
    (void)arg;
    (void)conn; /* nothing waits here */
}

static void on_refused(void *arg, const struct net_target *target, const char *why)
{
    (void)arg;
    (void)target;
    (void)why; /* the client was told, and there is no log */
}

static void on_closed(void *arg, const struct net_target *target, uint64_t up, uint64_t down)
{
    (void)arg;
    (void)target;
    (void)up;
    (void)down;
}

bool box_proxy_new(struct box_proxy **ret, const struct strv *hosts, uint16_t port, struct err *err)
{
    static const struct proxy_ops ops = {.judge = on_judge,
                                         .gave_up = on_gave_up,
                                         .may_reach = on_may_reach,
                                         .refused = on_refused,
                                         .closed = on_closed};
    AUTO_FREE char *resolver = paths_program("headgate-keep", err);
    if (!resolver)
        return false;
    struct box_proxy *p = xcalloc(1, sizeof(*p));
    p->policy.ladder = LADDER_AUTO;
    p->port = port;
    int status = uv_loop_init(&p->loop);
    if (status != 0) {
        free(p);
        return err_sys(err, -status, "cannot make an event loop");
    }
    proxy_init(&p->proxy, &p->loop, &ops, p, resolver);
    *ret = p;
    return net_add_listed(&p->policy, hosts, err);
}

void box_proxy_free(struct box_proxy *p)
{
    if (!p)
        return;
    proxy_close(&p->proxy);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    uv_loop_close(&p->loop);
    proxy_release(&p->proxy);
    policy_release(&p->policy);
    free(p);
}

bool box_proxy_is_port(const struct box_proxy *p, int port)
{
    return p && p->port == port;
}

bool box_proxy_listen(struct box_proxy *p, int fd, struct err *err)
{
    bool is_listening = proxy_listen(&p->proxy, fd, err);
    box_proxy_step(p); /* the loop's descriptor knows of a socket only after a turn */
    return is_listening;
}

struct pollfd box_proxy_poll(const struct box_proxy *p, int *ret_timeout_ms)
{
    *ret_timeout_ms = p ? uv_backend_timeout(&p->loop) : -1;
    if (p && p->proxy.n_conns && (*ret_timeout_ms < 0 || *ret_timeout_ms > TURN_MS))
        *ret_timeout_ms = TURN_MS;
    return (struct pollfd){.fd = p ? uv_backend_fd(&p->loop) : -1, .events = POLLIN};
}

void box_proxy_step(struct box_proxy *p)
{
    uv_run(&p->loop, UV_RUN_NOWAIT);
    uv_run(&p->loop, UV_RUN_NOWAIT);
}
