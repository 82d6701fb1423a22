/*
 * tls_hello: the server name of a TLS ClientHello (RFC 8446, RFC 6066), read from the first bytes
 * that a client sends. Nothing is decrypted. Pure.
 *
 * With Encrypted ClientHello the name that is read is the outer one; where it is not the name that
 * was asked for, the connection is refused, and so is the inner one.
 */
#ifndef KEEP_TLS_HELLO_H
#define KEEP_TLS_HELLO_H

#include "gate/host.h"

enum { TLS_HELLO_BYTES = 64 * 1024 };

enum tls_result {
    TLS_MORE, /* it may become a ClientHello */
    TLS_NAME, /* with a name, which is in *ret in its canonical form */
    TLS_NO_NAME,
    TLS_BAD, /* it began as one and is malformed: several names, a name that is none, lengths */
    TLS_NOT, /* the bytes are no TLS handshake */
};
enum tls_result tls_hello(struct host *ret, const unsigned char *bytes, size_t len);
/* The same of the message's body alone, without its header of four bytes; TLS_NAME, TLS_NO_NAME or
 * TLS_BAD. */
enum tls_result tls_hello_body(struct host *ret, const unsigned char *body, size_t len);

#endif
