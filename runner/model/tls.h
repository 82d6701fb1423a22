/*
 * tls: a verified TLS connection to an upstream, non-blocking once it is made. Certificates are
 * checked against the upstream's name; there is no way to go without.
 */
#ifndef MODEL_TLS_H
#define MODEL_TLS_H

#include "runner/model/upstream.h"

struct tls;
struct tls_context;

/* Certificates that are trusted: read once. */
struct tls_context *tls_context_new(const struct upstream *u, struct err *err);
void tls_context_free(struct tls_context *context);

/* Resolve, connect and shake hands, in at most limit_ms. NULL with err. Blocks. */
struct tls *tls_open(struct tls_context *context, const struct upstream *u, int limit_ms,
                     struct err *err);
void tls_close(struct tls *t);
int tls_fd(const struct tls *t);

/* As read(2) and write(2) of a non-blocking socket: the number of bytes, 0 at the end of the
 * stream, -1 with errno EAGAIN when it has to wait for what tls_events says, -1 with EIO when it
 * is broken. An end without the peer's close_notify counts as broken. */
ssize_t tls_read(struct tls *t, void *bytes, size_t size);
ssize_t tls_write(struct tls *t, const void *bytes, size_t len);
/* poll(2) events that the last call waits for. */
short tls_events(const struct tls *t);
/* Bytes that were received already and need no poll. */
bool tls_has_pending(const struct tls *t);

#endif
