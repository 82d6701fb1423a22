#include "runner/keep/socks.h"

#include <string.h>

enum { VERSION = 5, COMMAND_CONNECT = 1, METHOD_NONE = 0 };
enum { TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4 };

enum socks_result socks_hello(size_t *ret_len, bool *ret_has_method, const unsigned char *bytes,
                              size_t len)
{
    if (len >= 1 && bytes[0] != VERSION)
        return SOCKS_BAD;
    if (len < 2 || len < 2U + bytes[1])
        return SOCKS_MORE;
    *ret_len = 2U + bytes[1];
    *ret_has_method = memchr(bytes + 2, METHOD_NONE, bytes[1]) != NULL;
    return SOCKS_DONE;
}

static enum socks_result bad(enum socks_reply *ret_reply, enum socks_reply reply, struct err *err,
                             const char *why)
{
    *ret_reply = reply;
    err_set(err, ERR_FORMAT, "%s", why);
    return SOCKS_BAD;
}

/* Bytes of the address at bytes[4], its length byte included; 0: of no type that is known. */
static size_t address_len(const unsigned char *bytes)
{
    switch (bytes[3]) {
    case TYPE_IPV4:
        return 4;
    case TYPE_NAME:
        return 1U + bytes[4];
    case TYPE_IPV6:
        return 16;
    default:
        return 0;
    }
}

static bool take_host(struct host *ret, const unsigned char *bytes, struct err *err)
{
    struct host_address address = {.is_v6 = bytes[3] == TYPE_IPV6};
    if (bytes[3] == TYPE_NAME)
        return host_parse(ret, (const char *)bytes + 5, bytes[4], err);
    memcpy(address.bytes, bytes + 4, address.is_v6 ? 16 : 4);
    host_of_address(ret, &address);
    return true;
}

enum socks_result socks_request(size_t *ret_len, struct host *ret_host, uint16_t *ret_port,
                                enum socks_reply *ret_reply, const unsigned char *bytes, size_t len,
                                struct err *err)
{
    if (len < 5)
        return SOCKS_MORE;
    if (bytes[0] != VERSION || bytes[2] != 0)
        return bad(ret_reply, SOCKS_FAILURE, err, "it is no request of SOCKS5");
    if (bytes[1] != COMMAND_CONNECT)
        return bad(ret_reply, SOCKS_NO_COMMAND, err, "only CONNECT is served");
    size_t n = address_len(bytes);
    if (n == 0)
        return bad(ret_reply, SOCKS_NO_ADDRESS_TYPE, err, "the type of the address is not known");
    if (len < 4 + n + 2)
        return SOCKS_MORE;
    const unsigned char *port = bytes + 4 + n;
    *ret_len = 4 + n + 2;
    *ret_port = (uint16_t)(port[0] << 8 | port[1]);
    *ret_reply = SOCKS_FAILURE;
    if (*ret_port == 0)
        return bad(ret_reply, SOCKS_FAILURE, err, "port 0 is no port");
    return take_host(ret_host, bytes, err) ? SOCKS_DONE : SOCKS_BAD;
}
