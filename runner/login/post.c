#include "runner/login/post.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/url.h"
#include "runner/model/tls.h"

enum { ANSWER_BYTES = 512 * 1024, CHUNK_BYTES = 16 * 1024 };

static bool await(const struct tls *tls, int64_t deadline_ms, struct err *err)
{
    struct pollfd p = {.fd = tls_fd(tls), .events = tls_events(tls)};
    int64_t left = deadline_ms - clock_mono_ms();
    return (left > 0 && poll(&p, 1, (int)left) > 0) ||
           err_set(err, ERR_FAILED, "the issuer does not answer");
}

static bool send_all(struct tls *tls, const struct buf *text, int64_t deadline_ms, struct err *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t n = tls_write(tls, text->ptr + at, text->len - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EAGAIN)
            return err_set(err, ERR_FAILED, "the connection to the issuer broke");
        else if (!await(tls, deadline_ms, err))
            return false;
    }
    return true;
}

/* It was told to close after its answer. */
static bool receive_all(struct buf *out, struct tls *tls, int64_t deadline_ms, struct err *err)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t n = tls_read(tls, chunk, sizeof(chunk));
        if (n == 0)
            return true;
        if (n > 0) {
            buf_add(out, chunk, (size_t)n);
            explicit_bzero(chunk, (size_t)n);
        } else if (errno != EAGAIN) { /* many end a stream without a word: what came may be whole */
            return out->len > 0 || err_set(err, ERR_FAILED, "the connection to the issuer broke");
        } else if (!await(tls, deadline_ms, err)) {
            return false;
        }
        if (out->len > ANSWER_BYTES)
            return err_set(err, ERR_LIMIT, "the issuer's answer is too long");
    }
}

/* Sizes and ends of chunks left out; the syntax was checked. */
static void add_chunks(struct buf *out, const char *bytes)
{
    for (;;) {
        char *end;
        unsigned long size = strtoul(bytes, &end, 16);
        if (size == 0)
            return;
        buf_add(out, end + 2, size);
        bytes = end + 2 + size + 2;
    }
}

bool post_answer(int *ret_status, struct buf *out, const char *bytes, size_t len, struct err *err)
{
    struct http_head head;
    struct http_body body;
    size_t n = 0;
    enum http_result result = http_response(&head, bytes, len, err);
    if (result != HTTP_DONE)
        return result == HTTP_BAD ? err_prefix(err, "the issuer's answer")
                                  : err_set(err, ERR_FORMAT, "the issuer's answer is cut");
    bytes += head.len;
    len -= head.len;
    http_body_init(&body, &head);
    if (head.framing == HTTP_NO_BODY)
        buf_add(out, bytes, len); /* up to the end of the stream */
    else if (!http_body_take(&body, &n, bytes, len) || !body.is_done)
        return err_set(err, ERR_FORMAT, "the issuer's answer is cut");
    else if (head.framing == HTTP_CHUNKED)
        add_chunks(out, bytes);
    else
        buf_add(out, bytes, n);
    *ret_status = head.status;
    return true;
}

static bool exchange(int *ret_status, struct buf *answer, struct tls *tls,
                     const struct buf *request, int limit_ms, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    int64_t deadline_ms = clock_mono_ms() + limit_ms;
    bool ok = send_all(tls, request, deadline_ms, err) &&
              receive_all(&bytes, tls, deadline_ms, err) &&
              post_answer(ret_status, answer, bytes.ptr, bytes.len, err);
    explicit_bzero(bytes.ptr, bytes.len);
    return ok;
}

bool post_json(int *ret_status, struct buf *answer, const char *url, const char *ca,
               const struct buf *body, int limit_ms, struct err *err)
{
    struct upstream issuer = {.ca_file = (char *)(uintptr_t)ca};
    AUTO_BUF struct buf request = BUF_INIT;
    const char *path;
    if (!url_split_https(&issuer.host, &issuer.port, &path, url))
        return err_set(err, ERR_USAGE, "the issuer must be an https URL: %s", url);
    AUTO_FREE char *host = issuer.host;
    buf_addf(&request,
             "POST %s HTTP/1.1\r\nHost: %s:%u\r\nUser-Agent: headgate/" HEADGATE_VERSION
             "\r\nAccept: application/json\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
             path[0] ? path : "/", host, issuer.port, body->len);
    buf_add(&request, body->ptr, body->len);
    struct tls_context *context = tls_context_new(&issuer, err);
    struct tls *tls = context ? tls_open(context, &issuer, limit_ms, err) : NULL;
    bool ok = tls && exchange(ret_status, answer, tls, &request, limit_ms, err);
    explicit_bzero(request.ptr, request.len);
    tls_close(tls);
    tls_context_free(context);
    return ok;
}
