#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/model/upstream.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value = NULL;
    assert_true(jx_parse(&value, text, strlen(text), &err));
    return value;
}

static const char good[] =
    "{\"host\":\"api.example.com\",\"port\":443,\"keys\":["
    "{\"placeholder\":\"PLACE-A\",\"header\":\"x-api-key\"},"
    "{\"placeholder\":\"PLACE-B\",\"header\":\"authorization: Bearer\"},"
    "{\"placeholder\":\"PLACE-B\",\"header\":\"x-goog-api-key\"}]}";
/* Of which one is another model's. */
static const char secrets[] = "{\"PLACE-A\":\"real-a\",\"PLACE-B\":\"real-b\",\"PLACE-C\":\"real-c\"}";

static void load(struct upstream *ret)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *config = parse(good);
    AUTO_JSON json_t *keys = parse(secrets);
    if (!upstream_load(ret, config, keys, &err))
        fail_msg("%s", err.text);
}

static bool head_of(struct buf *out, const char *request, struct err *err)
{
    struct upstream u;
    struct http_head head;
    load(&u);
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
        {"GET /m HTTP/1.1\r\nHost: a\r\nAuthorization: bearer PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nauthorization: Bearer real-b\r\n"
         "Connection: close\r\n\r\n"},
        /* One that may travel in several. */
        {"GET /m HTTP/1.1\r\nHost: a\r\nX-Goog-Api-Key: PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nx-goog-api-key: real-b\r\n"
         "Connection: close\r\n\r\n"},
        /* In another's header, with other words: as it is. */
        {"GET /m HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: PLACE-B\r\n"
         "Connection: close\r\n\r\n"},
        {"GET /m HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-A,x\r\nauthorization: Basic PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: PLACE-A,x\r\nauthorization: Basic PLACE-B\r\n"
         "Connection: close\r\n\r\n"},
        /* The key of another model is not this one's. */
        {"GET /m HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-C\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: PLACE-C\r\n"
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

#define WITH_KEY(header) \
    "{\"host\":\"a\",\"port\":443,\"keys\":[{\"placeholder\":\"P\",\"header\":\"" header "\"}]}"

static void bad_words_are_refused_without_showing_a_key(void **state)
{
    (void)state;
    static const struct {
        const char *config, *secrets;
    } cases[] = {
        {"{}", "{}"},
        {"{\"host\":\"a\",\"port\":0}", "{}"},
        {"{\"host\":\"\",\"port\":443}", "{}"},
        {"{\"host\":\"a\\r\\nX: y\",\"port\":443}", "{}"},
        {WITH_KEY("x-api-key"), "{\"P\":\"real\\r\\nX: y\"}"},
        {WITH_KEY("x-api-key"), "{\"P\":\"\"}"},
        {WITH_KEY("x-api-key"), "{\"P\":7}"},
        {WITH_KEY("x-api-key"), "{\"other\":\"real\"}"},
        {WITH_KEY(""), "{\"P\":\"real\"}"},
        {WITH_KEY(": Bearer"), "{\"P\":\"real\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct upstream u;
        struct err err = ERR_INIT;
        AUTO_JSON json_t *config = parse(cases[i].config);
        AUTO_JSON json_t *keys = parse(cases[i].secrets);
        if (upstream_load(&u, config, keys, &err))
            fail_msg("%zu was taken", i);
        assert_null(strstr(err.text, "real"));
    }
    struct upstream u;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *config = parse(WITH_KEY("x-api-key"));
    AUTO_JSON json_t *keys = parse("{\"P\":\"real\"}");
    assert_true(upstream_load(&u, config, keys, &err)); /* the control */
    upstream_release(&u);
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
