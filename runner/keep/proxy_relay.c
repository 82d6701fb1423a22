/*
 * The bytes of the proxy's connections. A side is read only while nothing waits to be written to
 * the other, so that a connection never holds more than one piece for each direction.
 */
#include <string.h>
#include "runner/base/mem.h"
#include "runner/keep/proxy_conn.h"

enum {
    PROXY_CHUNK_BYTES = 256 * 1024, /* of all connections together: it is written at once */
    PROXY_IN_BYTES = 64 * 1024,     /* that a client may send ahead */
    PROXY_LAST_MS = 2000,           /* for a client to take the last */
};

struct proxy_end *proxy_peer(const struct proxy_end *end)
{
    return end == end->conn->client ? end->conn->server : end->conn->client;
}

static uv_stream_t *proxy_stream(struct proxy_end *end)
{
    return (uv_stream_t *)&end->tcp;
}

/* ---- writing ---- */

static void proxy_on_shutdown(uv_shutdown_t *request, int status)
{
    struct proxy_end *end = request->handle->data;
    struct proxy_conn *c = end->conn;
    (void)status;
    if (c->state == PROXY_RELAYING && c->client->is_shut && c->server->is_shut)
        proxy_conn_close(c);
}

static void proxy_shut_now(struct proxy_end *end)
{
    if (uv_shutdown(&end->shutdown, proxy_stream(end), proxy_on_shutdown) != 0)
        proxy_conn_close(end->conn);
}

void proxy_shut(struct proxy_end *end)
{
    if (end->is_shut)
        return;
    end->is_shut = true;
    if (!end->is_writing)
        proxy_shut_now(end);
}

static void proxy_on_written(uv_write_t *write, int status)
{
    struct proxy_end *to = write->data;
    struct proxy_conn *c = to->conn;
    if (c->state == PROXY_CLOSED)
        return;
    to->is_writing = false;
    buf_clear(&to->out);
    if (status != 0) {
        proxy_conn_close(c);
        return;
    }
    if (to->is_shut)
        proxy_shut_now(to);
    struct proxy_end *from = proxy_peer(to);
    if (from && c->state != PROXY_ENDING)
        proxy_read(from);
}

void proxy_send(struct proxy_end *to, const char *bytes, size_t len)
{
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    if (len == 0)
        return;
    if (to->is_writing) { /* only whoever reads nothing back can bring us here */
        proxy_conn_close(to->conn);
        return;
    }
    int sent = uv_try_write(proxy_stream(to), &piece, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        proxy_conn_close(to->conn);
        return;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == len)
        return;
    struct proxy_end *from = proxy_peer(to);
    if (from)
        proxy_stop_reading(from);
    buf_add(&to->out, bytes + done, len - done);
    uv_buf_t rest = uv_buf_init(to->out.ptr, (unsigned)to->out.len);
    to->is_writing = true;
    to->write.data = to;
    if (uv_write(&to->write, proxy_stream(to), &rest, 1, proxy_on_written) != 0)
        proxy_conn_close(to->conn);
}

/* ---- reading ---- */

/* Of a plain HTTP client: its request's body, and no byte behind it. */
static void proxy_send_body(struct proxy_conn *c, const char *bytes, size_t len)
{
    size_t n = 0;
    if (!http_body_take(&c->body, &n, bytes, len)) {
        proxy_conn_reject(c, 400, "the chunks of the request are malformed");
        return;
    }
    c->up += n;
    proxy_send(c->server, bytes, n);
}

void proxy_relay_request(struct proxy_conn *c)
{
    AUTO_BUF struct buf in = c->in;
    size_t n = 0;
    c->in = (struct buf)BUF_INIT;
    c->state = PROXY_RELAYING;
    if (!http_body_take(&c->body, &n, in.ptr, in.len)) {
        proxy_conn_reject(c, 400, "the chunks of the request are malformed");
        return;
    }
    buf_add(&c->head, in.ptr, n);
    c->up += c->head.len;
    proxy_send(c->server, c->head.ptr, c->head.len);
    buf_release(&c->head);
    if (c->state == PROXY_RELAYING && !c->server->is_writing)
        proxy_read(c->client);
}

/* ---- a second hello ---- */

enum { PROXY_ANSWER_MS = 30 * 1000 };

/* Send what was held, as far as it may go. */
static void proxy_follow_hello(struct proxy_conn *c)
{
    size_t clear = 0;
    switch (tls_flight_take(&c->flight, &clear, (const unsigned char *)c->in.ptr, c->in.len)) {
    case TLS_FOLLOW_OTHER:
        proxy_conn_reject(c, 403, "the second TLS handshake names another host");
        return;
    case TLS_FOLLOW_OVER:
        c->follow = PROXY_FOLLOW_NONE;
        break;
    case TLS_FOLLOW_MORE:
        break;
    }
    c->up += clear;
    proxy_send(c->server, c->in.ptr, clear);
    buf_consume(&c->in, clear);
}

/* The server has answered: what waited may go, or is looked at. */
static void proxy_follow_answer(struct proxy_conn *c, const char *bytes, size_t len)
{
    buf_add(&c->server_head, bytes, len);
    switch (tls_answer((const unsigned char *)c->server_head.ptr, c->server_head.len)) {
    case TLS_ANSWER_MORE:
        return;
    case TLS_ANSWER_RETRY:
        c->follow = PROXY_FOLLOW_HELLO;
        break;
    case TLS_ANSWER_OTHER:
        c->follow = PROXY_FOLLOW_NONE;
        break;
    }
    buf_release(&c->server_head);
    proxy_conn_limit(c, 0);
    if (c->follow == PROXY_FOLLOW_HELLO) {
        proxy_follow_hello(c);
    } else {
        c->up += c->in.len;
        proxy_send(c->server, c->in.ptr, c->in.len);
        buf_clear(&c->in);
    }
    if (c->state == PROXY_RELAYING && !c->server->is_writing)
        proxy_read(c->client);
}

/* Of the client of a tunnel. */
static void proxy_send_up(struct proxy_conn *c, const char *bytes, size_t len)
{
    if (c->follow == PROXY_FOLLOW_HELLO) {
        buf_add(&c->in, bytes, len);
        proxy_follow_hello(c);
        return;
    }
    c->up += len;
    proxy_send(c->server, bytes, len);
}

void proxy_relay_start(struct proxy_conn *c)
{
    AUTO_BUF struct buf in = c->in;
    size_t len = in.len;
    c->in = (struct buf)BUF_INIT;
    c->state = PROXY_RELAYING;
    proxy_conn_limit(c, 0);
    if (c->follow == PROXY_FOLLOW_ASKED) {
        /* The first hello alone; the client is read again after the answer. */
        len = tls_hello_len((const unsigned char *)in.ptr, in.len);
        buf_add(&c->in, in.ptr + len, in.len - len);
        proxy_stop_reading(c->client);
        proxy_conn_limit(c, PROXY_ANSWER_MS);
    }
    proxy_send_up(c, in.ptr, len);
    if (c->state != PROXY_RELAYING || c->follow == PROXY_FOLLOW_ASKED)
        return;
    if (c->client->has_ended)
        proxy_shut(c->server);
    else if (!c->server->is_writing)
        proxy_read(c->client);
}

/* The head of an answer: `100 Continue` passes, a change of protocol does not, and the client is
 * told that the connection ends with this answer. */
static void proxy_take_answer(struct proxy_conn *c)
{
    AUTO_BUF struct buf out = BUF_INIT;
    while (!c->has_answer) {
        struct http_head head;
        struct err err = ERR_INIT;
        enum http_result result = http_response(&head, c->answer.ptr, c->answer.len, &err);
        if (result == HTTP_MORE)
            break;
        if (result == HTTP_BAD || head.status == 101) {
            proxy_conn_reject(c, 502,
                              result == HTTP_BAD ? err.text : "the server changed the protocol");
            return;
        }
        c->has_answer = head.status >= 200;
        if (c->has_answer) {
            buf_add(&out, head.line.ptr, head.line.len);
            buf_adds(&out, "\r\n");
            http_add_end_to_end(&out, &head);
        } else {
            buf_add(&out, c->answer.ptr, head.len);
        }
        buf_consume(&c->answer, head.len);
    }
    if (c->has_answer) {
        buf_add(&out, c->answer.ptr, c->answer.len);
        buf_release(&c->answer);
    }
    proxy_send(c->client, out.ptr, out.len);
}

static void proxy_from_server(struct proxy_conn *c, const char *bytes, size_t len)
{
    c->down += len;
    if (!c->is_http || c->has_answer) {
        proxy_send(c->client, bytes, len);
        if (c->state == PROXY_RELAYING && c->follow == PROXY_FOLLOW_ASKED)
            proxy_follow_answer(c, bytes, len);
        return;
    }
    buf_add(&c->answer, bytes, len);
    proxy_take_answer(c);
}

static void proxy_from_client(struct proxy_conn *c, const char *bytes, size_t len)
{
    if (c->state == PROXY_ENDING)
        return;
    if (c->state == PROXY_RELAYING) {
        if (c->is_http)
            proxy_send_body(c, bytes, len);
        else
            proxy_send_up(c, bytes, len);
        return;
    }
    buf_add(&c->in, bytes, len);
    if (c->in.len >= PROXY_IN_BYTES)
        proxy_stop_reading(c->client);
    if (c->state == PROXY_HEAD)
        proxy_head_step(c);
    else if (c->state == PROXY_SOCKS)
        proxy_socks_step(c);
    else if (c->state == PROXY_CHECKING)
        proxy_check_step(c);
}

static void proxy_client_ended(struct proxy_conn *c)
{
    bool is_silent = c->state == PROXY_CHECKING && c->in.len == 0 && !proxy_is_strict(c);
    if (is_silent) /* a server of another port may have said all that the client wants */
        proxy_relay_start(c);
    else if (c->state != PROXY_RELAYING || (c->is_http && !c->body.is_done))
        proxy_conn_close(c);
    else if (!c->is_http)
        proxy_shut(c->server);
}

static void proxy_server_ended(struct proxy_conn *c)
{
    if (c->is_http && !c->has_answer) {
        proxy_conn_reject(c, 502, "the server closed the connection without an answer");
    } else if (c->is_http || c->state == PROXY_CHECKING) {
        proxy_shut(c->client);
        c->state = PROXY_ENDING;
        proxy_conn_limit(c, PROXY_LAST_MS);
        if (!c->client->is_reading)
            proxy_read(c->client);
    } else {
        proxy_shut(c->client);
        if (c->follow == PROXY_FOLLOW_ASKED) { /* it gave no answer; hear when the client ends */
            c->follow = PROXY_FOLLOW_NONE;
            proxy_conn_limit(c, PROXY_LAST_MS);
            proxy_read(c->client);
        }
    }
}

static void proxy_on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct proxy_end *from = stream->data;
    struct proxy_conn *c = from->conn;
    bool is_client = from == c->client;
    if (nread == 0 || c->state == PROXY_CLOSED)
        return;
    if (nread > 0) {
        if (is_client)
            proxy_from_client(c, buf->base, (size_t)nread);
        else
            proxy_from_server(c, buf->base, (size_t)nread);
        return;
    }
    proxy_stop_reading(from);
    from->has_ended = true;
    if (nread != UV_EOF || c->state == PROXY_ENDING)
        proxy_conn_close(c);
    else if (is_client)
        proxy_client_ended(c);
    else
        proxy_server_ended(c);
}

/* One buffer for all: what was read is written, or copied, before another read. */
static void proxy_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct proxy_end *end = handle->data;
    struct proxy_conn *c = end->conn;
    bool is_early = end == c->client && c->state < PROXY_RELAYING;
    size_t room = c->in.len < PROXY_IN_BYTES ? PROXY_IN_BYTES - c->in.len : 1;
    (void)suggested;
    if (!c->proxy->chunk)
        c->proxy->chunk = xmalloc(PROXY_CHUNK_BYTES);
    *ret = uv_buf_init(c->proxy->chunk, is_early ? (unsigned)room : PROXY_CHUNK_BYTES);
}

void proxy_read(struct proxy_end *end)
{
    struct proxy_end *peer = proxy_peer(end);
    const struct proxy_conn *c = end->conn;
    bool waits = end == c->client && c->state == PROXY_RELAYING && c->follow == PROXY_FOLLOW_ASKED;
    if (end->is_reading || end->has_ended || waits || (peer && peer->is_writing))
        return;
    end->is_reading = true;
    if (uv_read_start(proxy_stream(end), proxy_on_alloc, proxy_on_read) != 0)
        proxy_conn_close(end->conn);
}

void proxy_stop_reading(struct proxy_end *end)
{
    if (!end->is_reading)
        return;
    end->is_reading = false;
    uv_read_stop(proxy_stream(end));
}
