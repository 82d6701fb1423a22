/*
 * The proxy's parsers and the names and addresses of hosts: what is taken, and what every strict
 * reader must refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "gate/host.h"
#include "runner/base/mem.h"
#include "runner/keep/http_head.h"
#include "runner/keep/socks.h"
#include "runner/keep/tls_flight.h"
#include "runner/keep/tls_hello.h"

/* ---- hosts ---- */

static void names_have_one_form(void **state)
{
    static const struct {
        const char *text, *canonical; /* NULL: no host */
    } rows[] = {
        {"Example.COM", "example.com"},
        {"example.com.", "example.com"},
        {"xn--bcher-kva.example", "xn--bcher-kva.example"},
        {"10.0.0.1", "10.0.0.1"},
        {"[::1]", "::1"},
        {"0:0:0:0:0:0:0:1", "::1"},
        {"::ffff:127.0.0.1", "127.0.0.1"},
        {"example.com..", NULL},
        {".example.com", NULL},
        {"-a.example", NULL},
        {"a_b.example", NULL},
        {"b\xc3\xbc.example", NULL},
        {"a b", NULL},
        {"127.1", NULL},
        {"0x7f.1", NULL},
        {"2130706433", NULL},
        {"0177.0.0.1", NULL},
        {"127.0.0.01", NULL},
        {"fe80::1%eth0", NULL},
        {"", NULL},
        {"[example.com]", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host host;
        struct err err = ERR_INIT;
        bool is_host = host_parse(&host, rows[i].text, strlen(rows[i].text), &err);
        if (is_host != (rows[i].canonical != NULL))
            fail_msg("'%s' is %s a host", rows[i].text, is_host ? "taken for" : "not");
        if (is_host)
            assert_string_equal(host.text, rows[i].canonical);
    }
}

static void a_zero_byte_ends_no_name(void **state)
{
    struct host host;
    struct err err = ERR_INIT;
    (void)state;
    assert_false(host_parse(&host, "allowed.com\0.evil.com", 21, &err));
}

static void a_port_stands_behind_brackets(void **state)
{
    struct host host;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    (void)state;
    assert_true(host_parse(&host, "64:ff9b::1", 10, &err));
    host_add_with_port(&text, &host, 80);
    assert_true(host_parse(&host, "127.0.0.1", 9, &err));
    host_add_with_port(&text, &host, 443);
    assert_string_equal(text.ptr, "[64:ff9b::1]:80127.0.0.1:443");
}

static void patterns_match_on_label_borders(void **state)
{
    static const struct {
        const char *pattern, *host;
        uint16_t port;
        bool covers, touches;
    } rows[] = {
        {"*.allowed.com", "a.allowed.com", 443, true, true},
        {"*.allowed.com", "a.b.allowed.com", 80, true, true},
        {"*.allowed.com", "allowed.com", 443, false, false},
        {"*.allowed.com", "evilallowed.com", 443, false, false},
        {"allowed.com", "allowed.com.evil.com", 443, false, false},
        {"allowed.com", "allowed.com", 22, false, true},
        {"allowed.com:22", "allowed.com", 22, true, true},
        {"allowed.com:22", "allowed.com", 443, false, false},
        {"127.0.0.1:80", "127.0.0.1", 80, true, true},
        {"::1", "::1", 443, true, true},
        {"[::1]:9", "::1", 9, true, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host host;
        struct host_pattern pattern;
        struct err err = ERR_INIT;
        assert_true(host_parse(&host, rows[i].host, strlen(rows[i].host), &err));
        assert_true(host_pattern_parse(&pattern, rows[i].pattern, &err));
        if (host_pattern_covers(&pattern, &host, rows[i].port) != rows[i].covers ||
            host_pattern_touches(&pattern, &host, rows[i].port) != rows[i].touches)
            fail_msg("%s and %s:%u", rows[i].pattern, rows[i].host, rows[i].port);
    }
}

static void addresses_have_their_class(void **state)
{
    static const struct {
        const char *text;
        enum host_class class;
    } rows[] = {
        {"1.1.1.1", HOST_PUBLIC},
        {"127.8.9.1", HOST_LOOPBACK},
        {"10.0.0.1", HOST_PRIVATE},
        {"172.31.0.1", HOST_PRIVATE},
        {"172.32.0.1", HOST_PUBLIC},
        {"192.168.1.1", HOST_PRIVATE},
        {"100.64.0.1", HOST_PRIVATE},
        {"169.254.1.1", HOST_LINK_LOCAL},
        {"169.254.169.254", HOST_METADATA},
        {"224.0.0.1", HOST_MULTICAST},
        {"0.0.0.0", HOST_RESERVED},
        {"255.255.255.255", HOST_RESERVED},
        {"::1", HOST_LOOPBACK},
        {"::", HOST_RESERVED},
        {"fe80::1", HOST_LINK_LOCAL},
        {"fd00::1", HOST_PRIVATE},
        {"ff02::1", HOST_MULTICAST},
        {"2606:4700::1111", HOST_PUBLIC},
        {"64:ff9b::7f00:1", HOST_LOOPBACK},
        {"2002:7f00:1::", HOST_RESERVED},
        {"::ffff:10.0.0.1", HOST_PRIVATE},
        {"fd00:ec2::254", HOST_METADATA},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host host;
        struct err err = ERR_INIT;
        assert_true(host_parse(&host, rows[i].text, strlen(rows[i].text), &err));
        if (host_address_class(&host.address) != rows[i].class)
            fail_msg("%s is %s", rows[i].text, host_class_name(host_address_class(&host.address)));
    }
}

/* ---- HTTP ---- */

#define GET "GET http://a/ HTTP/1.1\r\nHost: a\r\n"
#define POST "POST http://a/ HTTP/1.1\r\nHost: a\r\n"

static void heads_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        enum http_result result;
    } rows[] = {
        {GET "\r\n", HTTP_DONE},
        {GET, HTTP_MORE},
        {"GET http://a/ HTTP/1.1\nHost: a\n\n", HTTP_BAD},
        {GET "A: b\rc\r\n\r\n", HTTP_BAD},
        {GET "A: b\r\n folded\r\n\r\n", HTTP_BAD},
        {GET "A : b\r\n\r\n", HTTP_BAD},
        {GET "Host: b\r\n\r\n", HTTP_BAD},
        {GET "A: \x01\r\n\r\n", HTTP_BAD},
        {GET "no colon\r\n\r\n", HTTP_BAD},
        {POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", HTTP_BAD},
        {POST "Content-Length: +1\r\n\r\n", HTTP_BAD},
        {POST "Content-Length: 1, 1\r\n\r\n", HTTP_BAD},
        {POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BAD},
        {POST "Transfer-Encoding: gzip, chunked\r\n\r\n", HTTP_BAD},
        {POST "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n",
         HTTP_BAD},
        {POST "Transfer-Encoding: chunked\r\n\r\n", HTTP_DONE},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BAD},
        {"GET  / HTTP/1.1\r\n\r\n", HTTP_BAD},
        {"GET / HTTP/2.0\r\n\r\n", HTTP_BAD},
        {"GET /\r\n\r\n", HTTP_BAD},
        {"\r\n", HTTP_BAD},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_head head;
        struct err err = ERR_INIT;
        if (http_request(&head, rows[i].text, strlen(rows[i].text), &err) != rows[i].result)
            fail_msg("row %zu: %s", i, rows[i].text);
    }
}

static void a_head_has_a_bound(void **state)
{
    struct http_head head;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    (void)state;
    buf_adds(&text, "GET / HTTP/1.1\r\nA: ");
    while (text.len < HTTP_HEAD_BYTES)
        buf_addch(&text, 'a');
    assert_int_equal(http_request(&head, text.ptr, text.len, &err), HTTP_BAD);
    assert_int_equal(err.code, ERR_LIMIT);
}

static void a_body_ends_where_it_says(void **state)
{
    static const struct {
        const char *head, *bytes;
        bool is_good;
        size_t len;
    } rows[] = {
        {POST "Content-Length: 3\r\n\r\n", "abcGET http://evil/", true, 3},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n0\r\n\r\nGET /", true, 13},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "3;x=y\r\nabc\r\n0\r\n\r\n", false, 0},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "3\nabc\r\n0\r\n\r\n", false, 0},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "fffffffffffffffff\r\n", false, 0},
        {POST "Transfer-Encoding: chunked\r\n\r\n", "0\r\nTrailer: x\r\n\r\n", false, 0},
        {GET "\r\n", "GET http://evil/", true, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_head head;
        struct http_body body;
        struct err err = ERR_INIT;
        size_t n = 0;
        assert_int_equal(http_request(&head, rows[i].head, strlen(rows[i].head), &err), HTTP_DONE);
        http_body_init(&body, &head);
        bool is_good = http_body_take(&body, &n, rows[i].bytes, strlen(rows[i].bytes));
        if (is_good != rows[i].is_good || (is_good && (n != rows[i].len || !body.is_done)))
            fail_msg("row %zu: %zu bytes", i, n);
    }
}

static void headers_of_the_hop_stay_behind(void **state)
{
    static const char text[] = GET "Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"
                                   "Proxy-Authorization: secret\r\nAccept: */*\r\n\r\n";
    struct http_head head;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    (void)state;
    assert_int_equal(http_request(&head, text, sizeof text - 1, &err), HTTP_DONE);
    http_add_end_to_end(&out, &head);
    assert_string_equal(out.ptr, "Host: a\r\nAccept: */*\r\nConnection: close\r\n\r\n");
}

/* ---- SOCKS5 ---- */

static void socks_requests_are_read(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum socks_result result;
        const char *host;
    } rows[] = {
        {"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 10, SOCKS_DONE, "127.0.0.1"},
        {"\x05\x01\x00\x03\x01"
         "a\x01\xbb",
         8, SOCKS_DONE, "a"},
        {"\x05\x01\x00\x03\x0b"
         "ok.com\0.evl\x01\xbb",
         18, SOCKS_BAD, NULL},
        {"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x50", 22, SOCKS_DONE, "::1"},
        {"\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", 10, SOCKS_BAD, NULL},
        {"\x05\x01\x00\x09\x7f\x00\x00\x01\x00\x50", 10, SOCKS_BAD, NULL},
        {"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00", 10, SOCKS_BAD, NULL},
        {"\x05\x01\x00\x03\xff"
         "a",
         6, SOCKS_MORE, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct host host = {0};
        enum socks_reply reply;
        uint16_t port;
        size_t len;
        struct err err = ERR_INIT;
        if (socks_request(&len, &host, &port, &reply, (const unsigned char *)rows[i].bytes,
                          rows[i].len, &err) != rows[i].result)
            fail_msg("row %zu", i);
        if (rows[i].host)
            assert_string_equal(host.text, rows[i].host);
    }
}

/* ---- TLS ---- */

/* A ClientHello with these names, in records of at most piece bytes. */
static void add_hello(struct buf *out, const char *const *names, size_t n, size_t piece)
{
    AUTO_BUF struct buf extensions = BUF_INIT, hello = BUF_INIT, message = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        char len = (char)strlen(names[i]);
        const char head[] = {0, 0, 0, (char)(len + 5), 0, (char)(len + 3), 0, 0, len};
        buf_add(&extensions, head, sizeof head);
        buf_adds(&extensions, names[i]);
    }
    buf_add(&hello, "\x03\x03", 2);
    for (int i = 0; i < 32; i++)
        buf_addch(&hello, 'r');
    buf_add(&hello, "\0\0\x02\x13\x01\x01\0", 7);
    buf_addch(&hello, (char)(extensions.len >> 8));
    buf_addch(&hello, (char)extensions.len);
    buf_add(&hello, extensions.ptr, extensions.len);
    const char head[] = {1, 0, (char)(hello.len >> 8), (char)hello.len};
    buf_add(&message, head, sizeof head);
    buf_add(&message, hello.ptr, hello.len);
    for (size_t at = 0; at < message.len; at += piece) {
        size_t len = message.len - at < piece ? message.len - at : piece;
        const char record[] = {22, 3, 1, (char)(len >> 8), (char)len};
        buf_add(out, record, sizeof record);
        buf_add(out, message.ptr + at, len);
    }
}

static enum tls_result read_hello(struct host *ret, const char *const *names, size_t n,
                                  size_t piece)
{
    AUTO_BUF struct buf bytes = BUF_INIT;
    add_hello(&bytes, names, n, piece);
    for (size_t len = 1; len < bytes.len; len++) /* however it comes, it is not whole before */
        assert_int_equal(tls_hello(ret, (const unsigned char *)bytes.ptr, len), TLS_MORE);
    return tls_hello(ret, (const unsigned char *)bytes.ptr, bytes.len);
}

static void the_server_name_is_found(void **state)
{
    static const char *const one[] = {"Listed.Test"}, *const two[] = {"a.test", "b.test"},
                             *const odd[] = {"127.1"};
    struct host host;
    (void)state;
    assert_int_equal(read_hello(&host, one, 1, 1000), TLS_NAME);
    assert_string_equal(host.text, "listed.test");
    assert_int_equal(read_hello(&host, one, 1, 7), TLS_NAME);
    assert_string_equal(host.text, "listed.test");
    assert_int_equal(read_hello(&host, NULL, 0, 1000), TLS_NO_NAME);
    assert_int_equal(read_hello(&host, two, 2, 1000), TLS_BAD);
    assert_int_equal(read_hello(&host, odd, 1, 1000), TLS_BAD);
    assert_int_equal(tls_hello(&host, (const unsigned char *)"SSH-2.0-x\r\n", 11), TLS_NOT);
}

/* ---- a second hello ---- */

static void add_hello_message(struct buf *out, const char *name)
{
    size_t n = strlen(name), extension = n ? n + 9 : 0, body = 2 + 32 + 1 + 4 + 2 + 2 + extension;
    const unsigned char head[] = {1, 0, (unsigned char)(body >> 8), (unsigned char)body, 3, 3};
    const unsigned char rest[] = {
        0, 0, 2, 0x13, 1, 1, 0, (unsigned char)(extension >> 8), (unsigned char)extension};
    const unsigned char names[] = {
        0, 0, 0, (unsigned char)(n + 5), 0, (unsigned char)(n + 3), 0, 0, (unsigned char)n};
    buf_add(out, head, sizeof head);
    for (int i = 0; i < 32; i++)
        buf_addch(out, 'r');
    buf_add(out, rest, sizeof rest);
    if (n) {
        buf_add(out, names, sizeof names);
        buf_adds(out, name);
    }
}

static void add_record(struct buf *out, unsigned char type, const char *bytes, size_t len)
{
    const unsigned char head[] = {type, 3, 3, (unsigned char)(len >> 8), (unsigned char)len};
    buf_add(out, head, sizeof head);
    buf_add(out, bytes, len);
}

static enum tls_follow follow(const struct buf *bytes, size_t *ret_clear, bool may_be_nameless)
{
    struct tls_flight f;
    struct host host;
    struct err err = ERR_INIT;
    assert_true(host_parse(&host, "listed.test", 11, &err));
    tls_flight_init(&f, &host, may_be_nameless);
    enum tls_follow result =
        tls_flight_take(&f, ret_clear, (const unsigned char *)bytes->ptr, bytes->len);
    tls_flight_release(&f);
    return result;
}

static void a_second_hello_names_the_same_host(void **state)
{
    static const struct {
        const char *name;
        bool may_be_nameless;
        enum tls_follow follow;
    } rows[] = {
        {"listed.test", false, TLS_FOLLOW_OVER}, {"LISTED.test", false, TLS_FOLLOW_OVER},
        {"other.test", false, TLS_FOLLOW_OTHER}, {"other.test", true, TLS_FOLLOW_OTHER},
        {"", false, TLS_FOLLOW_OTHER},           {"", true, TLS_FOLLOW_OVER},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf message = BUF_INIT, bytes = BUF_INIT;
        size_t clear = 0;
        add_hello_message(&message, rows[i].name);
        add_record(&bytes, 20, "\1", 1);
        add_record(&bytes, 23, "early data", 10);
        size_t before = bytes.len;
        add_record(&bytes, 22, message.ptr, 1); /* in pieces, the first of one byte */
        add_record(&bytes, 22, message.ptr + 1, message.len - 1);
        assert_int_equal(follow(&bytes, &clear, rows[i].may_be_nameless), rows[i].follow);
        /* It is not done before the hello is whole. */
        for (size_t len = before; len < bytes.len; len++) {
            struct buf cut = {.ptr = bytes.ptr, .len = len};
            assert_int_equal(follow(&cut, &clear, rows[i].may_be_nameless), TLS_FOLLOW_MORE);
        }
    }
}

static void behind_a_retry_only_a_hello_may_come(void **state)
{
    (void)state;
    AUTO_BUF struct buf key = BUF_INIT, alert = BUF_INIT, text = BUF_INIT;
    size_t clear;
    add_record(&key, 22, "\x10\0\0\1x", 5);
    add_record(&alert, 21, "\1\0", 2);
    buf_adds(&text, "GET / HTTP/1.1\r\n");
    assert_int_equal(follow(&key, &clear, false), TLS_FOLLOW_OTHER);
    assert_int_equal(follow(&alert, &clear, false), TLS_FOLLOW_OTHER);
    assert_int_equal(follow(&text, &clear, false), TLS_FOLLOW_OTHER);
}

static void a_server_that_wants_another_hello_is_known(void **state)
{
    static const char retry[] =
        "\2\0\0\x40\3\3\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65"
        "\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
        "more of it";
    AUTO_BUF struct buf wants = BUF_INIT, plain = BUF_INIT, tiny = BUF_INIT;
    (void)state;
    add_record(&wants, 22, retry, sizeof retry - 1);
    add_record(&plain, 22, retry, sizeof retry - 1);
    plain.ptr[20] ^= 1;
    add_record(&tiny, 22, retry, 3);
    assert_int_equal(tls_answer((unsigned char *)wants.ptr, wants.len), TLS_ANSWER_RETRY);
    assert_int_equal(tls_answer((unsigned char *)plain.ptr, plain.len), TLS_ANSWER_OTHER);
    assert_int_equal(tls_answer((unsigned char *)tiny.ptr, tiny.len), TLS_ANSWER_RETRY);
    assert_int_equal(tls_answer((const unsigned char *)"\x15\3\3\0\2\2\x28", 7), TLS_ANSWER_OTHER);
    assert_int_equal(tls_answer((const unsigned char *)"HTTP/1.1 400", 12), TLS_ANSWER_OTHER);
    for (size_t len = 0; len < 43; len++)
        assert_int_equal(tls_answer((unsigned char *)wants.ptr, len), TLS_ANSWER_MORE);
}

static void the_first_hello_has_an_end(void **state)
{
    AUTO_BUF struct buf message = BUF_INIT, bytes = BUF_INIT;
    (void)state;
    add_hello_message(&message, "listed.test");
    add_record(&bytes, 22, message.ptr, 2);
    add_record(&bytes, 22, message.ptr + 2, message.len - 2);
    size_t len = bytes.len;
    assert_int_equal(tls_hello_len((unsigned char *)bytes.ptr, bytes.len), len);
    add_record(&bytes, 22, message.ptr, message.len);
    assert_int_equal(tls_hello_len((unsigned char *)bytes.ptr, bytes.len), len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_one_form),
        cmocka_unit_test(a_zero_byte_ends_no_name),
        cmocka_unit_test(a_port_stands_behind_brackets),
        cmocka_unit_test(patterns_match_on_label_borders),
        cmocka_unit_test(addresses_have_their_class),
        cmocka_unit_test(heads_are_read_strictly),
        cmocka_unit_test(a_head_has_a_bound),
        cmocka_unit_test(a_body_ends_where_it_says),
        cmocka_unit_test(headers_of_the_hop_stay_behind),
        cmocka_unit_test(socks_requests_are_read),
        cmocka_unit_test(the_server_name_is_found),
        cmocka_unit_test(a_second_hello_names_the_same_host),
        cmocka_unit_test(behind_a_retry_only_a_hello_may_come),
        cmocka_unit_test(a_server_that_wants_another_hello_is_known),
        cmocka_unit_test(the_first_hello_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
