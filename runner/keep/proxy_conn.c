/*
 * A client's way to its connection: judged, resolved, connected; or refused.
 */
#include "runner/keep/proxy_conn.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/mem.h"
#include "runner/keep/own_address.h"

enum {
    PROXY_HEAD_MS = 10 * 1000, /* for a whole head, however slowly it drips */
    PROXY_CONNECT_MS = 10 * 1000,
    PROXY_CONNECT_NEXT_MS = 3 * 1000, /* where the name has another address */
    PROXY_RESOLVE_MS = 12 * 1000,
    PROXY_LAST_MS = 2000,
    PROXY_KEEPALIVE_S = 60,
    PORT_HTTP = 80,
    PORT_HTTPS = 443,
};

/* ---- life ---- */

static void proxy_conn_free(struct proxy_conn *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    c->proxy->n_conns--;
    buf_release(&c->in);
    buf_release(&c->head);
    buf_release(&c->answer);
    buf_release(&c->server_head);
    tls_flight_release(&c->flight);
    free(c);
}

static void proxy_handle_closed(struct proxy_conn *c)
{
    if (--c->n_handles == 0)
        proxy_conn_free(c);
}

static void proxy_on_end_closed(uv_handle_t *handle)
{
    struct proxy_end *end = handle->data;
    struct proxy_conn *c = end->conn;
    buf_release(&end->out);
    free(end);
    proxy_handle_closed(c);
}

static void proxy_on_timer_closed(uv_handle_t *handle)
{
    proxy_handle_closed(handle->data);
}

struct proxy_end *proxy_end_new(struct proxy_conn *c)
{
    struct proxy_end *end = xcalloc(1, sizeof *end);
    *end = (struct proxy_end){.conn = c, .out = BUF_INIT};
    uv_tcp_init(c->proxy->loop, &end->tcp);
    end->tcp.data = end;
    c->n_handles++;
    return end;
}

void proxy_end_close(struct proxy_end *end)
{
    uv_close((uv_handle_t *)&end->tcp, proxy_on_end_closed);
}

void proxy_conn_close(struct proxy_conn *c)
{
    const struct proxy *p = c->proxy;
    if (c->state == PROXY_CLOSED)
        return;
    bool was_waiting = c->state == PROXY_JUDGED;
    c->state = PROXY_CLOSED;
    if (c->lookup)
        resolver_cancel(c->lookup);
    c->lookup = NULL;
    proxy_end_close(c->client);
    if (c->server)
        proxy_end_close(c->server);
    uv_close((uv_handle_t *)&c->timer, proxy_on_timer_closed);
    if (was_waiting)
        p->ops->gave_up(p->arg, c);
    if (c->was_made)
        p->ops->closed(p->arg, &c->target, c->up, c->down);
}

static void proxy_on_limit(uv_timer_t *timer)
{
    proxy_conn_close(timer->data);
}

void proxy_conn_limit(struct proxy_conn *c, uint64_t ms)
{
    if (c->state == PROXY_CLOSED)
        return;
    if (ms)
        uv_timer_start(&c->timer, proxy_on_limit, ms, 0);
    else
        uv_timer_stop(&c->timer);
}

static void proxy_conn_begin(struct proxy_conn *c)
{
    c->state = PROXY_HEAD;
    proxy_conn_limit(c, PROXY_HEAD_MS);
    proxy_read(c->client);
}

static void proxy_on_paced(uv_timer_t *timer)
{
    proxy_conn_begin(timer->data);
}

void proxy_conn_open(struct proxy *p, int fd, uint64_t delay_ms)
{
    struct proxy_conn *c = xcalloc(1, sizeof *c);
    *c = (struct proxy_conn){.proxy = p,
                             .next = p->conns,
                             .link = &p->conns,
                             .in = BUF_INIT,
                             .head = BUF_INIT,
                             .answer = BUF_INIT,
                             .server_head = BUF_INIT,
                             .flight = {.message = BUF_INIT}};
    if (c->next)
        c->next->link = &c->next;
    p->conns = c;
    p->n_conns++;
    uv_timer_init(p->loop, &c->timer);
    c->timer.data = c;
    c->n_handles = 1;
    c->client = proxy_end_new(c);
    if (uv_tcp_open(&c->client->tcp, fd) != 0) {
        close(fd);
        proxy_conn_close(c);
    } else if (delay_ms) {
        uv_timer_start(&c->timer, proxy_on_paced, delay_ms, 0);
    } else {
        proxy_conn_begin(c);
    }
}

uint16_t proxy_client_port(const struct proxy_conn *c, bool *ret_is_v6)
{
    struct sockaddr_storage address = {0};
    int len = sizeof address;
    if (c->state == PROXY_CLOSED ||
        uv_tcp_getpeername(&c->client->tcp, (struct sockaddr *)&address, &len) != 0)
        return 0;
    *ret_is_v6 = address.ss_family == AF_INET6;
    return ntohs(*ret_is_v6 ? ((const struct sockaddr_in6 *)&address)->sin6_port
                            : ((const struct sockaddr_in *)&address)->sin_port);
}

/* ---- refusals ---- */

static const char *proxy_title(int status)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},
        {403, "Denied by Headgate"},
        {421, "Misdirected Request"},
        {502, "Bad Gateway"},
    };
    for (size_t i = 0; i < ARRAY_LEN(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Refused";
}

/* The sentence once in a header, where programs that hide the body may show it, and as the body. */
static void proxy_refuse_http(struct proxy_conn *c, int status, const char *why)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text, "HTTP/1.1 %d %s\r\nX-Headgate: ", status, proxy_title(status));
    for (const char *s = why; *s; s++)
        buf_addch(&text, *s >= ' ' && *s <= '~' ? *s : ' ');
    buf_addf(&text,
             "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\nheadgate: %s\n",
             strlen("headgate: \n") + strlen(why), why);
    proxy_send(c->client, text.ptr, text.len);
}

static void proxy_reply_socks(struct proxy_conn *c, enum socks_reply reply)
{
    const char bytes[] = {5, (char)reply, 0, 1, 0, 0, 0, 0, 0, 0};
    proxy_send(c->client, bytes, sizeof bytes);
}

static bool proxy_speaks_socks(const struct proxy_conn *c)
{
    return c->state == PROXY_SOCKS || (c->target.via && strcmp(c->target.via, "socks5") == 0);
}

void proxy_conn_refuse(struct proxy_conn *c, int status, enum socks_reply reply, const char *why)
{
    /* Plain HTTP inside of a tunnel is answered in HTTP, everything else there with the end. */
    if (c->state == PROXY_CLOSED)
        return;
    if ((c->is_tunnel && !c->is_http) || c->has_answer || c->client->is_writing) {
        proxy_conn_close(c);
        return;
    }
    if (proxy_speaks_socks(c) && !c->is_tunnel)
        proxy_reply_socks(c, reply);
    else
        proxy_refuse_http(c, status, why);
    if (c->state == PROXY_CLOSED)
        return;
    c->state = PROXY_ENDING;
    if (c->server)
        proxy_stop_reading(c->server);
    proxy_shut(c->client);
    proxy_read(c->client);
    proxy_conn_limit(c, PROXY_LAST_MS);
}

void proxy_conn_reject(struct proxy_conn *c, int status, const char *why)
{
    const struct proxy *p = c->proxy;
    if (c->state == PROXY_CLOSED)
        return;
    p->ops->refused(p->arg, &c->target, why);
    proxy_conn_refuse(c, status, status == 403 ? SOCKS_NOT_ALLOWED : SOCKS_FAILURE, why);
}

/* ---- connecting ---- */

bool proxy_is_strict(const struct proxy_conn *c)
{
    return c->target.port == PORT_HTTP || c->target.port == PORT_HTTPS;
}

static void proxy_connect_next(struct proxy_conn *c);

static void proxy_connected(struct proxy_conn *c)
{
    uv_tcp_nodelay(&c->server->tcp, 1);
    uv_tcp_nodelay(&c->client->tcp, 1);
    uv_tcp_keepalive(&c->server->tcp, 1, PROXY_KEEPALIVE_S);
    c->was_made = true;
    if (strcmp(c->target.via, "http") == 0) {
        c->is_http = true;
        proxy_conn_limit(c, 0);
        proxy_relay_request(c);
    } else {
        static const char through[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        bool is_socks = proxy_speaks_socks(c);
        c->is_http = c->target.port == PORT_HTTP;
        c->is_tunnel = true;
        c->state = PROXY_CHECKING;
        /* A server of another port may speak first, and the client never. */
        proxy_conn_limit(c, proxy_is_strict(c) ? PROXY_HEAD_MS : 0);
        if (is_socks)
            proxy_reply_socks(c, SOCKS_OK);
        else
            proxy_send(c->client, through, sizeof through - 1);
        if (c->state == PROXY_CHECKING)
            proxy_check_step(c);
    }
    if (c->state == PROXY_CLOSED)
        return;
    if (c->state != PROXY_ENDING && !c->client->is_writing)
        proxy_read(c->server);
}

static void proxy_on_connected(uv_connect_t *connect, int status)
{
    struct proxy_end *end = connect->handle->data;
    struct proxy_conn *c = end->conn;
    if (c->state != PROXY_CONNECTING || c->server != end)
        return;
    if (status == 0) {
        proxy_connected(c);
        return;
    }
    c->server = NULL;
    proxy_end_close(end);
    proxy_connect_next(c);
}

static void proxy_fill_address(struct sockaddr_storage *ret, const struct host_address *address,
                               uint16_t port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    *ret = (struct sockaddr_storage){0};
    memcpy(&v6.sin6_addr, address->bytes, sizeof v6.sin6_addr);
    memcpy(&v4.sin_addr, address->bytes, sizeof v4.sin_addr);
    if (address->is_v6)
        memcpy(ret, &v6, sizeof v6);
    else
        memcpy(ret, &v4, sizeof v4);
}

static void proxy_on_connect_late(uv_timer_t *timer)
{
    struct proxy_conn *c = timer->data;
    struct proxy_end *end = c->server;
    c->server = NULL;
    proxy_end_close(end);
    proxy_connect_next(c);
}

static void proxy_connect_next(struct proxy_conn *c)
{
    struct sockaddr_storage address;
    if (c->next_address == c->n_addresses) {
        AUTO_FREE char *why =
            xasprintf("%s does not answer on port %u", c->target.host.text, c->target.port);
        proxy_conn_refuse(c, 502, SOCKS_REFUSED, why);
        return;
    }
    c->state = PROXY_CONNECTING;
    bool is_last = c->next_address + 1 == c->n_addresses;
    uv_timer_start(&c->timer, proxy_on_connect_late,
                   is_last ? PROXY_CONNECT_MS : PROXY_CONNECT_NEXT_MS, 0);
    proxy_fill_address(&address, &c->addresses[c->next_address++], c->target.port);
    c->server = proxy_end_new(c);
    if (uv_tcp_connect(&c->server->connect, &c->server->tcp, (const struct sockaddr *)&address,
                       proxy_on_connected) != 0)
        uv_timer_start(&c->timer, proxy_on_connect_late, 0, 0);
}

/* ---- addresses ---- */

/* Only addresses that may be reached are left; the connection goes to one of exactly these. */
static void proxy_take_addresses(struct proxy_conn *c, const struct host_address *found, size_t n)
{
    const struct proxy *p = c->proxy;
    for (size_t i = 0; i < n; i++)
        if (p->ops->may_reach(p->arg, &found[i], c->target.port))
            c->addresses[c->n_addresses++] = found[i];
    if (c->n_addresses) {
        proxy_connect_next(c);
    } else if (n == 0) {
        AUTO_FREE char *why = xasprintf("the name %s has no address", c->target.host.text);
        proxy_conn_refuse(c, 502, SOCKS_UNREACHABLE, why);
    } else {
        struct host host;
        host_of_address(&host, &found[0]);
        AUTO_FREE char *why =
            xasprintf("%s leads to %s, %s address, which is reached only when a rule lists that "
                      "address with its port",
                      c->target.host.text, host.text, own_address_class(&host.address));
        proxy_conn_reject(c, 403, why);
    }
}

bool proxy_conn_may_stay(const struct proxy_conn *c)
{
    const struct proxy *p = c->proxy;
    return c->next_address == 0 ||
           p->ops->may_reach(p->arg, &c->addresses[c->next_address - 1], c->target.port);
}

static void proxy_on_resolved(void *arg, const struct host_address *addresses, size_t n)
{
    struct proxy_conn *c = arg;
    c->lookup = NULL;
    proxy_take_addresses(c, addresses, n);
}

static void proxy_on_resolve_late(uv_timer_t *timer)
{
    struct proxy_conn *c = timer->data;
    if (c->lookup)
        resolver_cancel(c->lookup);
    proxy_on_resolved(c, NULL, 0);
}

static void proxy_allowed(struct proxy_conn *c)
{
    if (c->target.host.is_address) {
        proxy_take_addresses(c, &c->target.host.address, 1);
        return;
    }
    c->state = PROXY_RESOLVING;
    uv_timer_start(&c->timer, proxy_on_resolve_late, PROXY_RESOLVE_MS, 0);
    c->lookup = resolver_ask(&c->proxy->resolver, c->target.host.text, proxy_on_resolved, c);
}

void proxy_conn_judge(struct proxy_conn *c)
{
    const struct proxy *p = c->proxy;
    AUTO_BUF struct buf reason = BUF_INIT;
    c->state = PROXY_JUDGED;
    proxy_conn_limit(c, 0);
    switch (p->ops->judge(p->arg, c, &c->target, &reason)) {
    case PROXY_ALLOW:
        proxy_allowed(c);
        break;
    case PROXY_DENY:
        proxy_conn_refuse(c, 403, SOCKS_NOT_ALLOWED, reason.ptr);
        break;
    case PROXY_WAIT:
        break;
    }
}

void proxy_answer(struct proxy_conn *c, bool allow, const char *reason)
{
    if (c->state != PROXY_JUDGED)
        return;
    if (allow)
        proxy_allowed(c);
    else
        proxy_conn_refuse(c, 403, SOCKS_NOT_ALLOWED, reason);
}
