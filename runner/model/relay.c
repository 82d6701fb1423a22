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
    SILENCE_MS = 20 * 60 * 1000,   /* a model may think for long */
    AGAIN_BYTES = 8 * 1024 * 1024, /* of a body that is kept to be sent once more */
    STATUS_BYTES = 12,             /* "HTTP/1.1 401" */
};

struct relay {
    const struct upstream *u;
    struct tls_context *context;
    struct tokens *tokens;
    struct token token; /* of a login */
    int client;
    struct tls *tls;
    struct buf head;       /* of the request, as it came */
    struct http_body body; /* of the request */
    struct buf in;         /* of the client, not looked at yet */
    struct buf up, down;   /* to be sent */
    struct buf again;      /* of the body, what was sent */
    bool can_send_again;   /* all of it is in there, and it was not sent twice yet */
    bool is_judged;        /* the answer's status is known to be passed on */
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

static bool take_head(struct relay *r, struct err *err)
{
    struct http_head head;
    enum http_result result;
    while ((result = http_request(&head, r->in.ptr, r->in.len, err)) == HTTP_MORE) {
        if (r->in.len > HTTP_HEAD_BYTES)
            return err_set(err, ERR_LIMIT, "the head of the request is too long");
        if (!receive(r, HEAD_MS))
            return err_set(err, ERR_FAILED, "the request did not come whole");
    }
    if (result == HTTP_BAD)
        return false;
    http_body_init(&r->body, &head);
    buf_add(&r->head, r->in.ptr, head.len);
    buf_consume(&r->in, head.len);
    return true;
}

/* What goes up first: the head, changed. */
static bool begin_request(struct relay *r, struct err *err)
{
    struct http_head head;
    return http_request(&head, r->head.ptr, r->head.len, err) == HTTP_DONE &&
           upstream_head(&r->up, r->u, r->u->has_login ? &r->token : NULL, &head, err);
}

static void keep_for_again(struct relay *r, const char *bytes, size_t n)
{
    r->can_send_again = r->can_send_again && r->again.len + n <= AGAIN_BYTES;
    if (r->can_send_again)
        buf_add(&r->again, bytes, n);
    else
        buf_release(&r->again);
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
    keep_for_again(r, r->in.ptr, n);
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

static bool has_status(const struct relay *r, const char *status)
{
    return r->down.len >= STATUS_BYTES && memcmp(r->down.ptr, "HTTP/1.", 7) == 0 &&
           r->down.ptr[8] == ' ' && memcmp(r->down.ptr + 9, status, 3) == 0;
}

/* A login that was made anew ends its tokens of before, which Anthropic tells with 403 and these
 * words. */
static bool is_refused(const struct relay *r)
{
    static const char words[] = "OAuth token has been revoked";
    return has_status(r, "401") ||
           (has_status(r, "403") && memmem(r->down.ptr, r->down.len, words, sizeof(words) - 1));
}

static bool is_whole(const struct relay *r)
{
    struct http_head head;
    struct http_body body;
    struct err ignored = ERR_INIT;
    size_t n;
    if (r->upstream_ended || r->down.len >= CHUNK_BYTES)
        return true;
    if (http_response(&head, r->down.ptr, r->down.len, &ignored) != HTTP_DONE)
        return false;
    http_body_init(&body, &head);
    return !http_body_take(&body, &n, r->down.ptr + head.len, r->down.len - head.len) ||
           (body.is_done && head.framing != HTTP_NO_BODY);
}

/* Whether what came may go to the client. A token that was refused is held back, and so is an
 * answer of which no status has come yet. */
static bool judge(struct relay *r)
{
    bool is_told = has_status(r, "403") && r->can_send_again
                       ? is_whole(r)
                       : r->down.len >= STATUS_BYTES || r->upstream_ended;
    if (!r->is_judged && is_told) {
        r->is_judged = !(r->can_send_again && is_refused(r));
        if (r->is_judged && r->u->has_login && is_refused(r))
            tokens_drop(r->tokens, r->token.text);
    }
    return r->is_judged;
}

/* One wait for either side, and what it brought. Each direction holds one chunk: a slow side stops
 * the other's reading. */
static bool turn(struct relay *r)
{
    bool reads_client = r->up.len == 0 && !r->body.is_done;
    bool reads_model = (r->down.len == 0 || !r->is_judged) && !r->upstream_ended;
    bool sends_down = r->down.len > 0 && r->is_judged;
    struct pollfd fds[2] = {
        {.fd = r->client,
         .events = (short)((reads_client ? POLLIN : 0) | (sends_down ? POLLOUT : 0))},
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
           (r->down.len == 0 || !judge(r) || send_down(r));
}

/* Until the answer was passed on, or is a refusal after which the request can be sent again. */
static bool exchange(struct relay *r)
{
    bool ok = true;
    while (ok && !(r->upstream_ended && r->down.len == 0)) {
        ok = turn(r);
        if (ok && !r->is_judged && is_refused(r))
            return true;
    }
    return ok;
}

/* The rest of the body, which the first time had no use for. */
static bool take_whole_body(struct relay *r, struct err *err)
{
    while (!r->body.is_done && r->can_send_again) {
        buf_clear(&r->up);
        if (!receive(r, HEAD_MS) || !take_body(r))
            return err_set(err, ERR_FAILED, "the request did not come whole");
    }
    return r->can_send_again || err_set(err, ERR_FAILED,
                                        "the provider refused the token of a long request, which "
                                        "is now renewed: send it again");
}

static void refuse_for(int client, const struct err *err)
{
    if (err->code == ERR_REFUSED)
        refuse(client, 403, "Forbidden", err->text); /* agents try anything else again and again */
    else
        refuse(client, 502, "Bad Gateway", err->text);
}

static bool open_up(struct relay *r, struct err *err)
{
    r->tls = tls_open(r->context, r->u, CONNECT_MS, err);
    return r->tls != NULL;
}

/* The same with a renewed token. */
static bool connect_again(struct relay *r, struct err *err)
{
    AUTO_TOKEN struct token refused = r->token;
    tls_close(r->tls);
    r->tls = NULL;
    r->token = (struct token){0};
    r->upstream_ended = false;
    buf_clear(&r->down);
    tokens_drop(r->tokens, refused.text);
    if (!take_whole_body(r, err) || !tokens_get(&r->token, r->tokens, refused.text, err))
        return false;
    r->can_send_again = false;
    explicit_bzero(r->up.ptr, r->up.len);
    buf_clear(&r->up);
    if (!begin_request(r, err))
        return false;
    buf_add(&r->up, r->again.ptr, r->again.len);
    buf_release(&r->again);
    return open_up(r, err);
}

static void converse(struct relay *r)
{
    struct err err = ERR_INIT;
    bool ok = exchange(r);
    if (ok && !r->is_judged && is_refused(r)) {
        if (!connect_again(r, &err)) {
            refuse_for(r->client, &err);
            return;
        }
        ok = exchange(r);
    }
    if (!ok && !r->has_answer)
        refuse(r->client, 502, "Bad Gateway", "the connection to the model broke");
}

static void serve(struct relay *r)
{
    struct err err = ERR_INIT;
    r->can_send_again = r->u->has_login;
    if (!take_head(r, &err))
        refuse(r->client, 400, "Bad Request", err.text);
    else if (r->u->has_login && !tokens_get(&r->token, r->tokens, NULL, &err))
        refuse_for(r->client, &err);
    else if (!begin_request(r, &err))
        refuse(r->client, 400, "Bad Request", err.text);
    else if (!take_body(r))
        refuse(r->client, 400, "Bad Request", "the chunks of the body are malformed");
    else if (!open_up(r, &err))
        refuse_for(r->client, &err);
    else
        converse(r);
    shutdown(r->client, SHUT_WR);
}

void relay_serve(int client, struct tls_context *context, const struct upstream *u,
                 struct tokens *tokens)
{
    struct relay r = {.u = u,
                      .context = context,
                      .tokens = tokens,
                      .client = client,
                      .head = BUF_INIT,
                      .in = BUF_INIT,
                      .up = BUF_INIT,
                      .down = BUF_INIT,
                      .again = BUF_INIT};
    serve(&r);
    explicit_bzero(r.up.ptr, r.up.len);
    token_release(&r.token);
    tls_close(r.tls);
    buf_release(&r.head);
    buf_release(&r.in);
    buf_release(&r.up);
    buf_release(&r.down);
    buf_release(&r.again);
}
