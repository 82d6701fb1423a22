/*
 * host: names and addresses of hosts, as rules list them and as connections ask for them.
 *
 * There is one canonical form, made once, and only it is compared: a name is lower-case LDH labels
 * without a trailing dot; an IPv4 address is four decimal numbers; an IPv6 address is
 * inet_ntop(3)'s text without brackets; an IPv4 address that is mapped into IPv6 is that IPv4
 * address. Everything else that some resolver would read as an address (`127.1`, `0x7f.1`,
 * `2130706433`) is no host at all, so that no two parties can read one text in two ways. Names that
 * are not ASCII are written in their A-label form by whoever asks.
 *
 * Pure; no name is ever resolved here.
 */
#ifndef GATE_HOST_H
#define GATE_HOST_H

#include <stddef.h>
#include <stdint.h>
#include "runner/base/buf.h"
#include "runner/base/err.h"

enum { HOST_TEXT_SIZE = 254 }; /* 253 characters are the longest name (RFC 1035) */

struct host_address {
    bool is_v6;
    unsigned char bytes[16]; /* in network order; the first 4 of IPv4 */
};

struct host {
    char text[HOST_TEXT_SIZE]; /* canonical */
    bool is_address;
    struct host_address address;
};

/* Parse bytes that name a host: a name, an IPv4 address, an IPv6 address with or without brackets.
 * ERR_FORMAT says what is wrong, without quoting bytes that are not printable. */
bool host_parse(struct host *ret, const char *text, size_t len, struct err *err) WARN_UNUSED;
/* `host` or `host:port`, IPv6 in brackets. *ret_port is the fallback where no port is told. */
bool host_parse_authority(struct host *ret, uint16_t *ret_port, const char *text, size_t len,
                          uint16_t fallback, struct err *err) WARN_UNUSED;
/* The host that an address is. Also brings a mapped address to its one form. */
void host_of_address(struct host *ret, const struct host_address *address);
/* `host:port` for people, IPv6 in brackets. */
void host_add_with_port(struct buf *out, const struct host *host, uint16_t port);
bool host_address_equal(const struct host_address *a, const struct host_address *b);

/* Where an address leads. Only HOST_PUBLIC is reached because a name was listed. */
enum host_class {
    HOST_PUBLIC,
    HOST_LOOPBACK,
    HOST_PRIVATE, /* RFC 1918, RFC 6598 (shared), RFC 4193 (unique local) */
    HOST_LINK_LOCAL,
    HOST_METADATA, /* of cloud providers */
    HOST_MULTICAST,
    HOST_RESERVED, /* everything else that is nobody's public host */
};
enum host_class host_address_class(const struct host_address *address);
const char *host_class_name(enum host_class class);

/* What a rule lists: `name`, `*.name` (every name below, not the name itself), an address; each
 * with or without `:port`. */
struct host_pattern {
    struct host host; /* without the `*.` */
    bool is_below;    /* `*.name` */
    uint16_t port;    /* 0: not told */
};
bool host_pattern_parse(struct host_pattern *ret, const char *text, struct err *err) WARN_UNUSED;
/* True when the pattern names this host, whatever the port. On label borders. */
bool host_pattern_names(const struct host_pattern *p, const struct host *host);
/* For allow: a pattern without a port means 443 and 80. port 0 (a tool that tells none) fits all.
 */
bool host_pattern_covers(const struct host_pattern *p, const struct host *host, uint16_t port);
/* For ask and deny: a pattern without a port means every port. */
bool host_pattern_touches(const struct host_pattern *p, const struct host *host, uint16_t port);

#endif
