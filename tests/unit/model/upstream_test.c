#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/model/upstream.h"

static void load(struct upstream *ret, const char *text)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *config = NULL;
    assert_true(jx_parse(&config, text, strlen(text), &err));
    if (!upstream_load(ret, config, &err))
        fail_msg("%s", err.text);
}

static const char good[] =
    "{\"host\":\"api.example.com\",\"port\":443,\"keys\":{\"PLACE-A\":\"real-a\","
    "\"PLACE-B\":\"real-b\"}}";

static bool head_of(struct buf *out, const char *request, struct err *err)
{
    struct upstream u;
    struct http_head head;
    load(&u, good);
    enum http_result parsed = http_request(&head, request, strlen(request), err);
    bool ok = parsed == HTTP_DONE && upstream_head(out, &u, &head, err);
    upstream_release(&u);
    return ok;
}

static void keys_go_where_a_key_belongs(void **state)
{
    (void)state;
    static const struct {
        const char *request, *sent;
    } cases[] = {
        {"POST /v1/messages?x=1 HTTP/1.1\r\nHost: 127.0.0.1:17017\r\nx-api-key: PLACE-A\r\n"
         "Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}",
         "POST /v1/messages?x=1 HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: real-a\r\n"
         "Content-Length: 2\r\nConnection: close\r\n\r\n"},
        {"GET /m HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer real-b\r\n"
         "Connection: close\r\n\r\n"},
        /* Nowhere else, or a key would come back in what a server repeats. */
        {"GET /PLACE-A HTTP/1.1\r\nHost: a\r\nUser-Agent: PLACE-A\r\n\r\n",
         "GET /PLACE-A HTTP/1.1\r\nHost: api.example.com\r\nUser-Agent: PLACE-A\r\n"
         "Connection: close\r\n\r\n"},
        /* A key of the agent's own stays its own. */
        {"GET / HTTP/1.1\r\nHost: a\r\nx-api-key: other\r\n\r\n",
         "GET / HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: other\r\nConnection: "
         "close\r\n\r\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        if (!head_of(&out, cases[i].request, &err))
            fail_msg("%zu: %s", i, err.text);
        assert_string_equal(out.ptr, cases[i].sent);
    }
}

static void the_relay_is_no_proxy(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nx-api-key: PLACE-A\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        if (head_of(&out, requests[i], &err))
            fail_msg("%s was let through", requests[i]);
        assert_null(memmem(out.ptr, out.len, "real-", 5));
    }
}

static void bad_words_are_refused_without_showing_a_key(void **state)
{
    (void)state;
    static const char *const configs[] = {
        "{}",
        "{\"host\":\"a\",\"port\":0,\"keys\":{}}",
        "{\"host\":\"\",\"port\":443,\"keys\":{}}",
        "{\"host\":\"a\\r\\nX: y\",\"port\":443,\"keys\":{}}",
        "{\"host\":\"a\",\"port\":443,\"keys\":{\"P\":\"real\\r\\nX: y\"}}",
        "{\"host\":\"a\",\"port\":443,\"keys\":{\"P\":\"\"}}",
        "{\"host\":\"a\",\"port\":443,\"keys\":{\"P\":7}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
        struct upstream u;
        struct err err = ERR_INIT;
        AUTO_JSON json_t *config = NULL;
        assert_true(jx_parse(&config, configs[i], strlen(configs[i]), &err));
        assert_false(upstream_load(&u, config, &err));
        assert_null(strstr(err.text, "real"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_go_where_a_key_belongs),
        cmocka_unit_test(the_relay_is_no_proxy),
        cmocka_unit_test(bad_words_are_refused_without_showing_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
