/*
 * socks: the client's two messages of SOCKS5 (RFC 1928), CONNECT only, without authentication: the
 * socket is the identity. Pure.
 */
#ifndef KEEP_SOCKS_H
#define KEEP_SOCKS_H

#include <stdint.h>
#include "gate/host.h"

enum socks_result { SOCKS_MORE, SOCKS_DONE, SOCKS_BAD };
enum socks_reply {
    SOCKS_OK = 0,
    SOCKS_FAILURE = 1,
    SOCKS_NOT_ALLOWED = 2,
    SOCKS_UNREACHABLE = 4,
    SOCKS_REFUSED = 5,
    SOCKS_NO_COMMAND = 7,
    SOCKS_NO_ADDRESS_TYPE = 8,
};

/* The greeting. *ret_len bytes were read; *ret_has_method: the client can do without
 * authentication. */
enum socks_result socks_hello(size_t *ret_len, bool *ret_has_method, const unsigned char *bytes,
                              size_t len);
/* The request. SOCKS_BAD: *ret_reply is what to answer, err why. */
enum socks_result socks_request(size_t *ret_len, struct host *ret_host, uint16_t *ret_port,
                                enum socks_reply *ret_reply, const unsigned char *bytes, size_t len,
                                struct err *err);

#endif
