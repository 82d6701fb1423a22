#include "gate/host.h"

#include <arpa/inet.h>
#include <string.h>

#include "runner/base/mem.h"

enum { LABEL_MAX = 63, PORT_HTTP = 80, PORT_HTTPS = 443 };

/* A range of addresses by its first bits. */
struct range {
    unsigned char bytes[16];
    unsigned bits;
    enum host_class class;
};

static const struct range ranges_v4[] = {
    {{168, 63, 129, 16}, 32, HOST_METADATA},
    {{169, 254, 169, 254}, 32, HOST_METADATA},
    {{100, 100, 100, 200}, 32, HOST_METADATA},
    {{0}, 8, HOST_RESERVED},
    {{10}, 8, HOST_PRIVATE},
    {{100, 64}, 10, HOST_PRIVATE},
    {{127}, 8, HOST_LOOPBACK},
    {{169, 254}, 16, HOST_LINK_LOCAL},
    {{172, 16}, 12, HOST_PRIVATE},
    {{192, 0, 0}, 24, HOST_RESERVED},
    {{192, 0, 2}, 24, HOST_RESERVED},
    {{192, 88, 99}, 24, HOST_RESERVED},
    {{192, 168}, 16, HOST_PRIVATE},
    {{198, 18}, 15, HOST_RESERVED},
    {{198, 51, 100}, 24, HOST_RESERVED},
    {{203, 0, 113}, 24, HOST_RESERVED},
    {{224}, 4, HOST_MULTICAST},
    {{240}, 4, HOST_RESERVED},
};

/* The first that fits counts; the last one is all that is not global unicast. */
static const struct range ranges_v6[] = {
    {{0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, HOST_METADATA},
    {{[15] = 1}, 128, HOST_LOOPBACK},
    {{0xfe, 0x80}, 10, HOST_LINK_LOCAL},
    {{0xfc}, 7, HOST_PRIVATE},
    {{0xff}, 8, HOST_MULTICAST},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, HOST_RESERVED},
    {{0x20, 0x01, 0x00}, 23, HOST_RESERVED},
    {{0x20, 0x02}, 16, HOST_RESERVED},
    {{0x3f, 0xff}, 20, HOST_RESERVED},
    {{0x20}, 3, HOST_PUBLIC},
    {{0}, 0, HOST_RESERVED},
};

static const unsigned char mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};
/* An address behind NAT64 (RFC 6052): it leads where the IPv4 address in it leads. */
static const unsigned char nat64_prefix[12] = {0x00, 0x64, 0xff, 0x9b};

static bool in_range(const unsigned char *bytes, const struct range *r)
{
    unsigned whole = r->bits / 8, rest = r->bits % 8;
    if (memcmp(bytes, r->bytes, whole) != 0)
        return false;
    return rest == 0 || (bytes[whole] ^ r->bytes[whole]) >> (8 - rest) == 0;
}

static enum host_class class_in(const unsigned char *bytes, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (in_range(bytes, &ranges[i]))
            return ranges[i].class;
    return HOST_PUBLIC;
}

enum host_class host_address_class(const struct host_address *address)
{
    const unsigned char *bytes = address->bytes;
    if (!address->is_v6)
        return class_in(bytes, ranges_v4, ARRAY_LEN(ranges_v4));
    if (memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0 ||
        memcmp(bytes, nat64_prefix, sizeof(nat64_prefix)) == 0)
        return class_in(bytes + 12, ranges_v4, ARRAY_LEN(ranges_v4));
    return class_in(bytes, ranges_v6, ARRAY_LEN(ranges_v6));
}

const char *host_class_name(enum host_class class)
{
    static const char *const names[] = {
        [HOST_PUBLIC] = "public",           [HOST_LOOPBACK] = "loopback",
        [HOST_PRIVATE] = "private",         [HOST_LINK_LOCAL] = "link-local",
        [HOST_METADATA] = "cloud metadata", [HOST_MULTICAST] = "multicast",
        [HOST_RESERVED] = "reserved",
    };
    return names[class];
}

void host_add_with_port(struct buf *out, const struct host *host, uint16_t port)
{
    bool is_v6 = host->is_address && host->address.is_v6;
    buf_addf(out, is_v6 ? "[%s]:%u" : "%s:%u", host->text, port);
}

bool host_address_equal(const struct host_address *a, const struct host_address *b)
{
    return a->is_v6 == b->is_v6 && memcmp(a->bytes, b->bytes, a->is_v6 ? 16 : 4) == 0;
}

void host_of_address(struct host *ret, const struct host_address *address)
{
    struct host host = {.is_address = true, .address = *address};
    if (address->is_v6 && memcmp(address->bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        host.address = (struct host_address){.is_v6 = false};
        memcpy(host.address.bytes, address->bytes + 12, 4);
    }
    inet_ntop(host.address.is_v6 ? AF_INET6 : AF_INET, host.address.bytes, host.text,
              sizeof(host.text));
    *ret = host;
}

static bool parse_address(struct host *ret, int family, const char *text)
{
    struct host_address address = {.is_v6 = family == AF_INET6};
    if (inet_pton(family, text, address.bytes) != 1)
        return false;
    host_of_address(ret, &address);
    return true;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *label, size_t len)
{
    if (len == 0 || len > LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alnum(label[i]) && label[i] != '-')
            return false;
    return true;
}

/* Resolvers read a name whose last label is a number as an address (the URL standard's "ends in a
 * number"). */
static bool is_number(const char *label)
{
    if (label[0] == '0' && label[1] == 'x')
        return label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
    return label[strspn(label, "0123456789")] == '\0';
}

static bool check_name(const char *name, struct err *err)
{
    const char *label = name;
    for (;;) {
        size_t len = strcspn(label, ".");
        if (!is_label(label, len))
            return err_set(err, ERR_FORMAT,
                           "'%s' is no host name: its parts are letters, digits and hyphens", name);
        if (label[len] == '\0')
            break;
        label += len + 1;
    }
    if (is_number(label))
        return err_set(err, ERR_FORMAT, "'%s' is neither a host name nor a plain address", name);
    return true;
}

bool host_parse(struct host *ret, const char *text, size_t len, struct err *err)
{
    struct host host = {.is_address = false};
    bool is_bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (is_bracketed) {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof(host.text) + 1)
        return err_set(err, ERR_FORMAT, "a host name has 1 to %d characters", HOST_TEXT_SIZE - 1);
    char copy[HOST_TEXT_SIZE + 1] = "";
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c <= ' ' || c >= 0x7f)
            return err_set(err, ERR_FORMAT, "a host name holds a character that no host name has");
        copy[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    bool is_v6 = is_bracketed || memchr(copy, ':', len);
    if (is_v6)
        return parse_address(ret, AF_INET6, copy) ||
               err_set(err, ERR_FORMAT, "'%s' is no IPv6 address", copy);
    if (copy[len - 1] == '.')
        copy[--len] = '\0';
    if (parse_address(ret, AF_INET, copy))
        return true;
    if (len >= sizeof(host.text))
        return err_set(err, ERR_FORMAT, "a host name has 1 to %d characters", HOST_TEXT_SIZE - 1);
    if (!check_name(copy, err))
        return false;
    memcpy(host.text, copy, len);
    *ret = host;
    return true;
}

/* 1 to 65535 in decimal, no sign, no leading zero. */
static bool parse_port(uint16_t *ret, const char *text, size_t len, struct err *err)
{
    unsigned long port = 0;
    bool is_ok = len > 0 && len <= 5 && text[0] != '0';
    for (size_t i = 0; i < len && is_ok; i++) {
        is_ok = text[i] >= '0' && text[i] <= '9';
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    if (!is_ok || port > UINT16_MAX)
        return err_set(err, ERR_FORMAT, "a port is a number from 1 to 65535");
    *ret = (uint16_t)port;
    return true;
}

bool host_parse_authority(struct host *ret, uint16_t *ret_port, const char *text, size_t len,
                          uint16_t fallback, struct err *err)
{
    uint16_t port = fallback;
    const char *colon = memrchr(text, ':', len);
    const char *bracket = memrchr(text, ']', len);
    size_t host_len = len;
    if (colon && (!bracket || colon > bracket)) {
        host_len = (size_t)(colon - text);
        if (!parse_port(&port, colon + 1, len - host_len - 1, err))
            return false;
        if (memchr(text, ':', host_len) && text[0] != '[')
            return err_set(err, ERR_FORMAT, "an IPv6 address with a port stands in brackets");
    }
    if (!host_parse(ret, text, host_len, err))
        return false;
    *ret_port = port;
    return true;
}

bool host_pattern_parse(struct host_pattern *ret, const char *text, struct err *err)
{
    struct host_pattern p = {.is_below = text[0] == '*' && text[1] == '.'};
    const char *rest = text + (p.is_below ? 2 : 0);
    struct host bare;
    struct err ignored = ERR_INIT;
    /* `::1` alone is an address and not a host with a port. */
    if (strchr(rest, ':') != strrchr(rest, ':') && rest[0] != '[' &&
        host_parse(&bare, rest, strlen(rest), &ignored))
        p.host = bare;
    else if (!host_parse_authority(&p.host, &p.port, rest, strlen(rest), 0, err))
        return err_prefix(err,
                          "'%s' lists no host (NAME, *.NAME, ADDRESS, each with or without "
                          ":PORT)",
                          text);
    if (p.is_below && p.host.is_address)
        return err_set(err, ERR_FORMAT, "'%s' lists no host: nothing is below an address", text);
    *ret = p;
    return true;
}

bool host_pattern_names(const struct host_pattern *p, const struct host *host)
{
    if (!p->is_below || host->is_address)
        return !p->is_below && p->host.is_address == host->is_address &&
               strcmp(p->host.text, host->text) == 0;
    size_t len = strlen(host->text), tail = strlen(p->host.text);
    return len > tail + 1 && host->text[len - tail - 1] == '.' &&
           strcmp(host->text + len - tail, p->host.text) == 0;
}

bool host_pattern_covers(const struct host_pattern *p, const struct host *host, uint16_t port)
{
    bool fits = port == 0 || (p->port ? port == p->port : port == PORT_HTTPS || port == PORT_HTTP);
    return fits && host_pattern_names(p, host);
}

bool host_pattern_touches(const struct host_pattern *p, const struct host *host, uint16_t port)
{
    bool fits = port == 0 || p->port == 0 || port == p->port;
    return fits && host_pattern_names(p, host);
}
