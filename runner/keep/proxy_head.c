/*
 * What a client of the proxy asks for, and whether what it sends then is for that host.
 */
#include <string.h>
#include "runner/keep/proxy_conn.h"
#include "runner/keep/tls_hello.h"

enum { SOCKS_VERSION = 5, PORT_HTTP = 80, PORT_HTTPS = 443 };

static void refuse_head(struct proxy_conn *c, const char *why)
{
    proxy_conn_refuse(c, 400, SOCKS_FAILURE, why);
}

/* The Host header, where there is one, names the target. Without a port it means the one that the
 * scheme of the request implies. */
static bool host_fits(const struct proxy_conn *c, const struct http_head *head, uint16_t implied)
{
    struct host host;
    uint16_t port;
    struct err ignored = ERR_INIT;
    if (!head->host.ptr)
        return true;
    return host_parse_authority(&host, &port, head->host.ptr, head->host.len, implied, &ignored) &&
           port == c->target.port && strcmp(host.text, c->target.host.text) == 0;
}

static void add_host(struct buf *out, const struct net_target *target)
{
    bool is_v6 = target->host.is_address && target->host.address.is_v6;
    buf_addf(out, "Host: %s%s%s", is_v6 ? "[" : "", target->host.text, is_v6 ? "]" : "");
    if (target->port != PORT_HTTP)
        buf_addf(out, ":%u", target->port);
    buf_adds(out, "\r\n");
}

static void add_request(struct proxy_conn *c, const struct http_head *head, struct http_text path)
{
    struct buf *out = &c->head;
    buf_add(out, head->method.ptr, head->method.len);
    buf_adds(out, path.len && path.ptr[0] == '/' ? " " : " /"); /* `?query` alone has no slash */
    buf_add(out, path.ptr, path.len);
    buf_addf(out, " HTTP/1.%d\r\n", head->minor);
    if (!head->host.ptr) /* of HTTP/1.0, which need not name it */
        add_host(out, &c->target);
    http_add_end_to_end(out, head);
    http_body_init(&c->body, head);
}

/* ---- CONNECT host:port ---- */

static void take_connect(struct proxy_conn *c, const struct http_head *head)
{
    struct err err = ERR_INIT;
    uint16_t port = 0;
    if (!host_parse_authority(&c->target.host, &port, head->target.ptr, head->target.len, 0,
                              &err)) {
        refuse_head(c, err.text);
        return;
    }
    c->target.port = port;
    if (port == 0 || head->framing != HTTP_NO_BODY) {
        refuse_head(c, port == 0 ? "CONNECT names no port" : "CONNECT has no body");
        return;
    }
    if (!host_fits(c, head, port)) {
        proxy_conn_refuse(c, 421, SOCKS_FAILURE, "Host is another than CONNECT names");
        return;
    }
    buf_consume(&c->in, head->len);
    c->target.via = "connect";
    proxy_conn_judge(c);
}

/* ---- METHOD http://host[:port]/path ---- */

static bool split_target(struct http_text *ret_authority, struct http_text *ret_path,
                         struct http_text target)
{
    static const char scheme[] = "http://";
    size_t start = sizeof scheme - 1;
    if (target.len < start || !http_text_is_nocase((struct http_text){target.ptr, start}, scheme))
        return false;
    size_t end = start;
    while (end < target.len && !memchr("/?#", target.ptr[end], 3))
        end++;
    *ret_authority = (struct http_text){target.ptr + start, end - start};
    *ret_path = (struct http_text){target.ptr + end, target.len - end};
    return !memchr(target.ptr, '#', target.len);
}

static void take_absolute(struct proxy_conn *c, const struct http_head *head)
{
    struct err err = ERR_INIT;
    struct http_text authority, path;
    if (!split_target(&authority, &path, head->target)) {
        refuse_head(c, "this is a proxy: ask with CONNECT host:port, or with a whole http:// URL");
        return;
    }
    if (!host_parse_authority(&c->target.host, &c->target.port, authority.ptr, authority.len,
                              PORT_HTTP, &err)) {
        refuse_head(c, err.text);
        return;
    }
    if (c->target.port == PORT_HTTPS) {
        refuse_head(c, "port 443 takes TLS, so ask with CONNECT");
        return;
    }
    if ((head->minor == 1 && !head->host.ptr) || !host_fits(c, head, PORT_HTTP)) {
        proxy_conn_refuse(c, 421, SOCKS_FAILURE, "Host is another than the URL names");
        return;
    }
    add_request(c, head, path);
    buf_consume(&c->in, head->len);
    c->target.via = "http";
    proxy_conn_judge(c);
}

static void take_http(struct proxy_conn *c)
{
    struct http_head head;
    struct err err = ERR_INIT;
    switch (http_request(&head, c->in.ptr, c->in.len, &err)) {
    case HTTP_MORE:
        break;
    case HTTP_BAD:
        refuse_head(c, err.text);
        break;
    case HTTP_DONE:
        if (http_text_is(head.method, "CONNECT"))
            take_connect(c, &head);
        else
            take_absolute(c, &head);
        break;
    }
}

/* ---- SOCKS5 ---- */

static void take_socks_hello(struct proxy_conn *c)
{
    size_t len = 0;
    bool has_method = false;
    if (socks_hello(&len, &has_method, (const unsigned char *)c->in.ptr, c->in.len) != SOCKS_DONE)
        return;
    const char answer[2] = {SOCKS_VERSION, (char)(has_method ? 0 : 0xff)};
    buf_consume(&c->in, len);
    c->state = PROXY_SOCKS;
    proxy_send(c->client, answer, sizeof answer);
    if (!has_method)
        proxy_conn_close(c);
    else if (c->state == PROXY_SOCKS)
        proxy_socks_step(c);
}

void proxy_socks_step(struct proxy_conn *c)
{
    size_t len = 0;
    enum socks_reply reply = SOCKS_FAILURE;
    struct err err = ERR_INIT;
    switch (socks_request(&len, &c->target.host, &c->target.port, &reply,
                          (const unsigned char *)c->in.ptr, c->in.len, &err)) {
    case SOCKS_MORE:
        break;
    case SOCKS_BAD:
        proxy_conn_refuse(c, 400, reply, err.text);
        break;
    case SOCKS_DONE:
        buf_consume(&c->in, len);
        c->target.via = "socks5";
        proxy_conn_judge(c);
        break;
    }
}

/* The first letter of a method. What begins otherwise (SOCKS4, TLS to the proxy) waits for an
 * answer before it sends a whole line. */
static bool begins_http(char first)
{
    return first >= 'A' && first <= 'Z';
}

void proxy_head_step(struct proxy_conn *c)
{
    if (c->in.len == 0)
        return;
    if (c->in.ptr[0] == SOCKS_VERSION)
        take_socks_hello(c);
    else if (begins_http(c->in.ptr[0]))
        take_http(c);
    else
        refuse_head(
            c,
            "this proxy speaks HTTP and SOCKS5 alone: no SOCKS4, and no TLS to the proxy itself");
}

/* ---- what comes through a tunnel first ---- */

/* From here on it is TLS for that host; a hello without a name goes to an address, or to a port
 * where none is wanted. */
static void follow_tls(struct proxy_conn *c, bool is_strict)
{
    tls_flight_init(&c->flight, &c->target.host, !is_strict || c->target.host.is_address);
    c->follow = PROXY_FOLLOW_ASKED;
}

static void check_tls(struct proxy_conn *c)
{
    struct host name;
    bool is_strict = c->target.port == PORT_HTTPS;
    switch (tls_hello(&name, (const unsigned char *)c->in.ptr, c->in.len)) {
    case TLS_MORE:
        return;
    case TLS_NAME:
        if (strcmp(name.text, c->target.host.text) != 0) {
            proxy_conn_reject(c, 403, "the TLS handshake names another host");
            return;
        }
        follow_tls(c, is_strict);
        break;
    case TLS_NO_NAME:
        /* A host that is listed by its address has no name to tell. */
        if (is_strict && !c->target.host.is_address) {
            proxy_conn_reject(c, 403, "the TLS handshake names no host");
            return;
        }
        follow_tls(c, is_strict);
        break;
    case TLS_BAD:
        proxy_conn_reject(c, 403, "the TLS handshake is malformed");
        return;
    case TLS_NOT:
        if (is_strict) {
            proxy_conn_reject(c, 403, "what came on port 443 is no TLS");
            return;
        }
        break;
    }
    proxy_relay_start(c);
}

static void check_http(struct proxy_conn *c)
{
    struct http_head head;
    struct err err = ERR_INIT;
    switch (http_request(&head, c->in.ptr, c->in.len, &err)) {
    case HTTP_MORE:
        return;
    case HTTP_BAD:
        proxy_conn_reject(c, 400, err.text);
        return;
    case HTTP_DONE:
        break;
    }
    if (head.target.ptr[0] != '/') {
        proxy_conn_reject(c, 400, "the request is not for a path");
        return;
    }
    if ((head.minor == 1 && !head.host.ptr) || !host_fits(c, &head, PORT_HTTP)) {
        proxy_conn_reject(c, 421, "Host is another than the connection is for");
        return;
    }
    add_request(c, &head, head.target);
    buf_consume(&c->in, head.len);
    proxy_conn_limit(c, 0);
    proxy_relay_request(c);
}

void proxy_check_step(struct proxy_conn *c)
{
    if (c->in.len == 0)
        return;
    if (c->is_http)
        check_http(c);
    else
        check_tls(c);
}
