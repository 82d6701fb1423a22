#include "runner/model/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum {
    CHUNK_BYTES = 32 * 1024,
    HEAD_MS = 60 * 1000, /* for the client's head, from its first byte or none */
    CONNECT_MS = 30 * 1000,
    SILENCE_MS = 20 * 60 * 1000, /* a model may think for long */
};

struct relay {
    int client;
    struct tls *tls;
    struct http_body body; /* of the request */
    struct buf in;         /* of the client, not looked at yet */
    struct buf up, down;   /* to be sent */
    bool has_answer;       /* a byte of it went to the client */
    bool upstream_ended;
};

static void refuse(int client, int status, const char *reason, const char *why)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf body = BUF_INIT;
    buf_addf(&body, "headgate: %s\n", why);
    buf_addf(&text,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: "
             "close\r\n\r\n%s",
             status, reason, body.len, body.ptr);
    ssize_t ignored = send(client, text.ptr, text.len, MSG_NOSIGNAL);
    (void)ignored;
}

/* False at the end of the stream, or when nothing comes. */
static bool receive(struct relay *r, int limit_ms)
{
    char chunk[CHUNK_BYTES];
    struct pollfd p = {.fd = r->client, .events = POLLIN};
    if (poll(&p, 1, limit_ms) <= 0)
        return false;
    ssize_t n = recv(r->client, chunk, sizeof(chunk), 0);
    if (n > 0)
        buf_add(&r->in, chunk, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* The request's head, changed, is what goes up first. */
static bool take_head(struct relay *r, const struct upstream *u, struct err *err)
{
    struct http_head head;
    enum http_result result;
    while ((result = http_request(&head, r->in.ptr, r->in.len, err)) == HTTP_MORE) {
        if (r->in.len > HTTP_HEAD_BYTES)
            return err_set(err, ERR_LIMIT, "the head of the request is too long");
        if (!receive(r, HEAD_MS))
            return err_set(err, ERR_FAILED, "the request did not come whole");
    }
    if (result == HTTP_BAD || !upstream_head(&r->up, u, &head, err))
        return false;
    http_body_init(&r->body, &head);
    buf_consume(&r->in, head.len);
    return true;
}

/* As much of the body as is there; what is behind it is dropped. */
static bool take_body(struct relay *r)
{
    size_t n;
    if (r->body.is_done) {
        buf_clear(&r->in);
        return true;
    }
    if (!http_body_take(&r->body, &n, r->in.ptr, r->in.len))
        return false;
    buf_add(&r->up, r->in.ptr, n);
    buf_consume(&r->in, n);
    return true;
}

static bool send_up(struct relay *r)
{
    ssize_t n = r->up.len ? tls_write(r->tls, r->up.ptr, r->up.len) : 0;
    if (n > 0)
        buf_consume(&r->up, (size_t)n);
    return n >= 0 || errno == EAGAIN;
}

static bool receive_down(struct relay *r)
{
    char chunk[CHUNK_BYTES];
    ssize_t n = tls_read(r->tls, chunk, sizeof(chunk));
    if (n > 0)
        buf_add(&r->down, chunk, (size_t)n);
    r->upstream_ended = n == 0;
    return n >= 0 || errno == EAGAIN;
}

static bool send_down(struct relay *r)
{
    ssize_t n = send(r->client, r->down.ptr, r->down.len, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    r->has_answer |= n > 0;
    buf_consume(&r->down, (size_t)n);
    return true;
}

/* One wait for either side, and what it brought. Each direction holds one chunk: a slow side stops
 * the other's reading. */
static bool turn(struct relay *r)
{
    bool reads_client = r->up.len == 0 && !r->body.is_done;
    bool reads_model = r->down.len == 0 && !r->upstream_ended;
    struct pollfd fds[2] = {
        {.fd = r->client,
         .events = (short)((reads_client ? POLLIN : 0) | (r->down.len ? POLLOUT : 0))},
        {.fd = r->upstream_ended ? -1 : tls_fd(r->tls),
         .events = (short)((reads_model ? POLLIN : 0) | (r->up.len ? POLLOUT : 0) |
                           (reads_model || r->up.len ? tls_events(r->tls) : 0))},
    };
    int limit_ms = reads_model && tls_has_pending(r->tls) ? 0 : SILENCE_MS;
    int n = poll(fds, ARRAY_LEN(fds), limit_ms);
    if (n < 0 && errno != EINTR)
        return false;
    if (n == 0 && limit_ms)
        return false;
    if (fds[0].revents & (POLLERR | POLLNVAL))
        return false;
    if ((fds[0].revents & POLLIN) && reads_client && !receive(r, 0))
        return false;
    return take_body(r) && send_up(r) && (!reads_model || receive_down(r)) &&
           (r->down.len == 0 || send_down(r));
}

void relay_serve(int client, struct tls_context *context, const struct upstream *u)
{
    struct err err = ERR_INIT;
    struct relay r = {.client = client, .in = BUF_INIT, .up = BUF_INIT, .down = BUF_INIT};
    if (!take_head(&r, u, &err))
        refuse(client, 400, "Bad Request", err.text);
    else if (!take_body(&r))
        refuse(client, 400, "Bad Request", "the chunks of the body are malformed");
    else if (!(r.tls = tls_open(context, u, CONNECT_MS, &err)) && err.code == ERR_REFUSED)
        refuse(client, 403, "Forbidden", err.text); /* agents try anything else again and again */
    else if (!r.tls)
        refuse(client, 502, "Bad Gateway", err.text);
    else {
        bool ok = true;
        while (ok && !(r.upstream_ended && r.down.len == 0))
            ok = turn(&r);
        if (!ok && !r.has_answer)
            refuse(client, 502, "Bad Gateway", "the connection to the model broke");
        shutdown(client, SHUT_WR);
    }
    explicit_bzero(r.up.ptr, r.up.len);
    tls_close(r.tls);
    buf_release(&r.in);
    buf_release(&r.up);
    buf_release(&r.down);
}
