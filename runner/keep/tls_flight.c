#include "runner/keep/tls_flight.h"

#include <string.h>
#include "runner/keep/tls_hello.h"

enum {
    RECORD_CHANGE_CIPHER = 20,
    RECORD_HANDSHAKE = 22,
    RECORD_DATA = 23,
    RECORD_HEAD = 5,
    RECORD_MAX = 16384 + 256,
    MESSAGE_HEAD = 4,
    CLIENT_HELLO = 1,
    SERVER_HELLO = 2,
    VERSION_BYTES = 2,
    RANDOM_BYTES = 32,
};

/* The random of a server's hello that is none: SHA-256 of "HelloRetryRequest" (RFC 8446, 4.1.3). */
static const unsigned char retry_random[RANDOM_BYTES] = {
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

static size_t record_len(const unsigned char *record)
{
    return (size_t)record[3] << 8 | record[4];
}

enum tls_answer tls_answer(const unsigned char *bytes, size_t len)
{
    enum { HELLO = RECORD_HEAD + MESSAGE_HEAD + VERSION_BYTES, WHOLE = HELLO + RANDOM_BYTES };
    if (len == 0)
        return TLS_ANSWER_MORE;
    if (bytes[0] != RECORD_HANDSHAKE)
        return TLS_ANSWER_OTHER;
    if (len < RECORD_HEAD)
        return TLS_ANSWER_MORE;
    if (record_len(bytes) < WHOLE - RECORD_HEAD)
        return TLS_ANSWER_RETRY; /* no whole hello is so short; whatever it is, what follows is
                                    looked at */
    if (len < WHOLE)
        return TLS_ANSWER_MORE;
    bool is_retry = bytes[RECORD_HEAD] == SERVER_HELLO &&
                    memcmp(bytes + HELLO, retry_random, RANDOM_BYTES) == 0;
    return is_retry ? TLS_ANSWER_RETRY : TLS_ANSWER_OTHER;
}

size_t tls_hello_len(const unsigned char *bytes, size_t len)
{
    size_t at = 0, have = 0, want = MESSAGE_HEAD;
    unsigned char head[MESSAGE_HEAD] = {0};
    while (have < want && len - at >= RECORD_HEAD) {
        size_t n = record_len(bytes + at);
        at += RECORD_HEAD;
        for (size_t i = 0; i < n && have + i < MESSAGE_HEAD && at + i < len; i++)
            head[have + i] = bytes[at + i];
        have += n;
        at += n < len - at ? n : len - at;
        if (have >= MESSAGE_HEAD)
            want = MESSAGE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
    }
    return at;
}

void tls_flight_init(struct tls_flight *f, const struct host *host, bool may_be_nameless)
{
    *f =
        (struct tls_flight){.host = *host, .may_be_nameless = may_be_nameless, .message = BUF_INIT};
}

void tls_flight_release(struct tls_flight *f)
{
    buf_release(&f->message);
}

static enum tls_follow take_handshake(struct tls_flight *f, const unsigned char *payload,
                                      size_t len)
{
    struct host name;
    buf_add(&f->message, payload, len);
    const unsigned char *head = (const unsigned char *)f->message.ptr;
    if (f->message.len > 0 && head[0] != CLIENT_HELLO)
        return TLS_FOLLOW_OTHER;
    if (f->message.len < MESSAGE_HEAD)
        return TLS_FOLLOW_MORE;
    size_t body = (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (body > TLS_HELLO_BYTES)
        return TLS_FOLLOW_OTHER;
    if (f->message.len - MESSAGE_HEAD < body)
        return TLS_FOLLOW_MORE;
    enum tls_result result = tls_hello_body(&name, head + MESSAGE_HEAD, body);
    bool fits = result == TLS_NAME ? strcmp(name.text, f->host.text) == 0
                                   : result == TLS_NO_NAME && f->may_be_nameless;
    return fits ? TLS_FOLLOW_OVER : TLS_FOLLOW_OTHER;
}

enum tls_follow tls_flight_take(struct tls_flight *f, size_t *ret_clear, const unsigned char *bytes,
                                size_t len)
{
    size_t at = 0;
    enum tls_follow follow = TLS_FOLLOW_MORE;
    while (follow == TLS_FOLLOW_MORE && len - at >= RECORD_HEAD) {
        const unsigned char *record = bytes + at;
        size_t n = record_len(record);
        bool is_passed = record[0] == RECORD_CHANGE_CIPHER || record[0] == RECORD_DATA;
        if (n > RECORD_MAX || (!is_passed && record[0] != RECORD_HANDSHAKE))
            return TLS_FOLLOW_OTHER;
        if (len - at - RECORD_HEAD < n)
            break;
        if (record[0] == RECORD_HANDSHAKE)
            follow = take_handshake(f, record + RECORD_HEAD, n);
        at += RECORD_HEAD + n;
    }
    *ret_clear = follow == TLS_FOLLOW_OVER ? len : at;
    return follow;
}
