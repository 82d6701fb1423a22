/*
 * tls_flight: a second ClientHello. A server may ask for one (HelloRetryRequest, RFC 8446, 4.1.4),
 * and many take the host's name from that one, so it must name the same host as the first. Pure.
 *
 * What a client sends behind its first hello is held until the server's first bytes tell whether it
 * asks. If it does not, there is no second hello, and all that follows is relayed as it is. If it
 * does, the next handshake record is the hello (early data and ChangeCipherSpec may come before
 * it).
 */
#ifndef KEEP_TLS_FLIGHT_H
#define KEEP_TLS_FLIGHT_H

#include "gate/host.h"
#include "runner/base/buf.h"

enum tls_answer { TLS_ANSWER_MORE, TLS_ANSWER_RETRY, TLS_ANSWER_OTHER };
/* The first bytes that a server sends. */
enum tls_answer tls_answer(const unsigned char *bytes, size_t len);

/* Bytes of the records that the first hello lies in; what tls_hello found whole. */
size_t tls_hello_len(const unsigned char *bytes, size_t len);

struct tls_flight {
    struct host host;
    bool may_be_nameless;
    struct buf message; /* the second hello as far as it has come */
};
/* host: that the hello must name; may_be_nameless: or none. */
void tls_flight_init(struct tls_flight *f, const struct host *host, bool may_be_nameless);
void tls_flight_release(struct tls_flight *f);

enum tls_follow {
    TLS_FOLLOW_MORE,
    TLS_FOLLOW_OVER,  /* the hello fits: all may pass, and whatever comes */
    TLS_FOLLOW_OTHER, /* it names another host, or is none */
};
/* bytes begin with a record. *ret_clear: how many may pass; the rest is to be given again with what
 * comes. */
enum tls_follow tls_flight_take(struct tls_flight *f, size_t *ret_clear, const unsigned char *bytes,
                                size_t len);

#endif
