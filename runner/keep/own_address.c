#include "runner/keep/own_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runner/base/mem.h"

struct place {
    struct sockaddr_storage address;
    socklen_t len;
};

static struct place place_of(const struct host_address *address)
{
    struct place place = {0};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(9)};
    memcpy(&v6.sin6_addr, address->bytes, sizeof v6.sin6_addr);
    memcpy(&v4.sin_addr, address->bytes, sizeof v4.sin_addr);
    place.len = address->is_v6 ? sizeof v6 : sizeof v4;
    memcpy(&place.address, address->is_v6 ? (const void *)&v6 : (const void *)&v4, place.len);
    return place;
}

/* bind(2) takes an address only where it is one of the machine's (ip(7), EADDRNOTAVAIL). The other
 * errors mean that there is no such protocol here, and then no way either. */
static bool can_bind(const struct host_address *address)
{
    struct place place = place_of(address);
    int family = address->is_v6 ? AF_INET6 : AF_INET;
    AUTO_FD int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (address->is_v6)
        ((struct sockaddr_in6 *)&place.address)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&place.address)->sin_port = 0;
    return fd < 0 || bind(fd, (const struct sockaddr *)&place.address, place.len) == 0 ||
           errno != EADDRNOTAVAIL;
}

/* Where the host lets any address be bound (net.ipv4.ip_nonlocal_bind, transparent proxies), a
 * route to itself still begins at that address. Connecting a datagram socket asks for the route
 * alone. */
static bool is_routed_to_itself(const struct host_address *address)
{
    struct place to = place_of(address), from = {.len = sizeof from.address};
    AUTO_FD int fd = socket(address->is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to.address, to.len) != 0)
        return false; /* no way there at all */
    if (getsockname(fd, (struct sockaddr *)&from.address, &from.len) != 0)
        return true;
    if (address->is_v6)
        return memcmp(&((struct sockaddr_in6 *)&from.address)->sin6_addr, address->bytes, 16) == 0;
    return memcmp(&((struct sockaddr_in *)&from.address)->sin_addr, address->bytes, 4) == 0;
}

bool own_address_is(const struct host_address *address)
{
    /* Nobody's own: kept for documentation (RFC 5737, RFC 3849). */
    static const struct host_address nobodys[] = {
        {.bytes = {192, 0, 2, 1}},
        {.is_v6 = true, .bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
    };
    if (!can_bind(address))
        return false;
    return !can_bind(&nobodys[address->is_v6]) || is_routed_to_itself(address);
}

const char *own_address_class(const struct host_address *address)
{
    switch (host_address_class(address)) {
    case HOST_PUBLIC:
        return own_address_is(address) ? "this machine's own" : "a public";
    case HOST_LOOPBACK:
        return "a loopback";
    case HOST_PRIVATE:
        return "a private";
    case HOST_LINK_LOCAL:
        return "a link-local";
    case HOST_METADATA:
        return "a cloud metadata";
    case HOST_MULTICAST:
        return "a multicast";
    case HOST_RESERVED:
        break;
    }
    return "a reserved";
}
