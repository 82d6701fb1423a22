#include "runner/keep/tls_hello.h"

#include <string.h>
#include "runner/base/buf.h"

enum {
    RECORD_HANDSHAKE = 22,
    RECORD_HEAD = 5,
    RECORD_MAX = 16384 + 256,
    HANDSHAKE_CLIENT_HELLO = 1,
    HANDSHAKE_HEAD = 4,
    EXTENSION_SERVER_NAME = 0,
    NAME_TYPE_HOST = 0,
};

/* Bytes that are left to read; a read beyond the end makes it broken for good. */
struct view {
    const unsigned char *at;
    size_t left;
    bool is_broken;
};

static struct view take(struct view *v, size_t n)
{
    struct view part = {v->at, n, v->is_broken || n > v->left};
    v->is_broken = part.is_broken;
    if (part.is_broken) {
        part.left = 0;
        return part;
    }
    v->at += n;
    v->left -= n;
    return part;
}

static size_t take_number(struct view *v, size_t n_bytes)
{
    struct view part = take(v, n_bytes);
    size_t number = 0;
    for (size_t i = 0; i < part.left; i++)
        number = number << 8 | part.at[i];
    return number;
}

/* What a length of n_bytes announces. */
static struct view take_vector(struct view *v, size_t n_bytes)
{
    return take(v, take_number(v, n_bytes));
}

static enum tls_result take_names(struct host *ret, struct view extension)
{
    struct view list = take_vector(&extension, 2);
    struct err ignored = ERR_INIT;
    size_t type = take_number(&list, 1);
    struct view name = take_vector(&list, 2);
    bool is_one = !list.is_broken && list.left == 0 && extension.left == 0 && !extension.is_broken;
    if (!is_one || type != NAME_TYPE_HOST ||
        !host_parse(ret, (const char *)name.at, name.left, &ignored))
        return TLS_BAD;
    return TLS_NAME;
}

static enum tls_result take_extensions(struct host *ret, struct view hello)
{
    enum tls_result result = TLS_NO_NAME;
    if (hello.left == 0)
        return TLS_NO_NAME; /* TLS 1.2 and older can do without extensions */
    struct view list = take_vector(&hello, 2);
    if (hello.left != 0)
        return TLS_BAD;
    while (list.left > 0 && !list.is_broken) {
        size_t type = take_number(&list, 2);
        struct view extension = take_vector(&list, 2);
        if (type != EXTENSION_SERVER_NAME)
            continue;
        if (result != TLS_NO_NAME || list.is_broken)
            return TLS_BAD;
        result = take_names(ret, extension);
        if (result != TLS_NAME)
            return result;
    }
    return list.is_broken || hello.is_broken ? TLS_BAD : result;
}

enum tls_result tls_hello_body(struct host *ret, const unsigned char *body, size_t len)
{
    enum { VERSION_AND_RANDOM = 34 };
    struct view hello = {body, len, false};
    take(&hello, VERSION_AND_RANDOM);
    take_vector(&hello, 1); /* session */
    take_vector(&hello, 2); /* ciphers */
    take_vector(&hello, 1); /* compressions */
    return hello.is_broken ? TLS_BAD : take_extensions(ret, hello);
}

/* The handshake message as its records carry it, put together in out. TLS_NAME: it is whole. */
static enum tls_result take_records(struct buf *out, struct view in)
{
    size_t wanted = HANDSHAKE_HEAD;
    while (out->len < wanted) {
        if (in.left < RECORD_HEAD)
            return in.left > 0 && in.at[0] != RECORD_HANDSHAKE ? TLS_BAD : TLS_MORE;
        if (in.at[0] != RECORD_HANDSHAKE || in.at[1] != 3)
            return TLS_BAD;
        struct view head = take(&in, RECORD_HEAD);
        size_t len = (size_t)head.at[3] << 8 | head.at[4];
        if (len == 0 || len > RECORD_MAX)
            return TLS_BAD;
        bool is_cut = len > in.left;
        struct view body = take(&in, is_cut ? in.left : len);
        buf_add(out, body.at, body.left);
        if (out->len >= HANDSHAKE_HEAD) {
            const unsigned char *h = (const unsigned char *)out->ptr;
            wanted = HANDSHAKE_HEAD + ((size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3]);
            if (h[0] != HANDSHAKE_CLIENT_HELLO || wanted > TLS_HELLO_BYTES)
                return TLS_BAD;
        }
        if (is_cut)
            return out->len >= wanted ? TLS_NAME : TLS_MORE;
    }
    return TLS_NAME;
}

enum tls_result tls_hello(struct host *ret, const unsigned char *bytes, size_t len)
{
    AUTO_BUF struct buf message = BUF_INIT;
    if (len > 0 && bytes[0] != RECORD_HANDSHAKE)
        return TLS_NOT;
    if (len > 1 && bytes[1] != 3)
        return TLS_NOT;
    enum tls_result result = take_records(&message, (struct view){bytes, len, false});
    if (result != TLS_NAME)
        return result == TLS_MORE && len >= TLS_HELLO_BYTES ? TLS_BAD : result;
    struct view in = {(const unsigned char *)message.ptr, message.len, false};
    take(&in, 1);
    struct view hello = take_vector(&in, 3);
    return hello.is_broken ? TLS_BAD : tls_hello_body(ret, hello.at, hello.left);
}
