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

static const char good[] = "{\"host\":\"api.example.com\",\"port\":443,\"keys\":["
                           "{\"placeholder\":\"PLACE-A\",\"header\":\"x-api-key\"},"
                           "{\"placeholder\":\"PLACE-B\",\"header\":\"authorization: Bearer\"},"
                           "{\"placeholder\":\"PLACE-B\",\"header\":\"x-goog-api-key\"}]}";
/* Of which one is another model's. */
static const char secrets[] =
    "{\"PLACE-A\":\"real-a\",\"PLACE-B\":\"real-b\",\"PLACE-C\":\"real-c\"}";

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
    bool ok = parsed == HTTP_DONE && upstream_head(out, &u, NULL, &head, err);
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
        {"GET /m HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-A,x\r\nauthorization: Basic "
         "PLACE-B\r\n\r\n",
         "GET /m HTTP/1.1\r\nHost: api.example.com\r\nx-api-key: PLACE-A,x\r\nauthorization: Basic "
         "PLACE-B\r\n"
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
        /* What servers answer with the request itself. */
        "TRACE / HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-A\r\n\r\n",
        "TRACK / HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-A\r\n\r\n",
        "trace / HTTP/1.1\r\nHost: a\r\nx-api-key: PLACE-A\r\n\r\n",
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

static const char with_login[] =
    "{\"host\":\"api.example.com\",\"port\":443,\"login\":\"/f\",\"paths\":[\"/v1/messages\",\"/v1/"
    "models\"],"
    "\"keys\":[{\"placeholder\":\"PLACE-A\",\"header\":\"authorization: Bearer\"}]}";

static bool login_head(struct buf *out, const char *target, const char *account)
{
    struct upstream u;
    struct http_head head;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *config = NULL;
    char text[] = "at-now";
    const struct token token = {.text = text, .account = (char *)(uintptr_t)account};
    AUTO_FREE char *request =
        xasprintf("GET %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer PLACE-A\r\n"
                  "ChatGPT-Account-Id: mine\r\nExpect: 100-continue\r\n"
                  "Accept-Encoding: gzip\r\n\r\n",
                  target);
    assert_true(jx_parse(&config, with_login, strlen(with_login), &err));
    if (!upstream_load(&u, config, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(http_request(&head, request, strlen(request), &err), HTTP_DONE);
    bool ok = upstream_head(out, &u, &token, &head, &err);
    upstream_release(&u);
    return ok;
}

static void a_login_is_for_its_model_alone(void **state)
{
    (void)state;
    static const char *const let[] = {"/v1/messages", "/v1/messages?beta=true",
                                      "/v1/messages/count_tokens", "/v1/models?a=%2e.."};
    static const char *const bad[] = {"/",
                                      "/v1",
                                      "/v1/messagesx",
                                      "/v1/oauth/token",
                                      "/api/oauth/claude_cli/create_api_key",
                                      "/v1/messages/../oauth/token",
                                      "/v1/messages/%2e%2e/oauth/token",
                                      "//v1/messages",
                                      "/v1/messages//x",
                                      "/v1/messages/..;/x",
                                      "/v1/messages;x",
                                      "/v1\\messages"};
    for (size_t i = 0; i < ARRAY_LEN(let); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        if (!login_head(&out, let[i], NULL) ||
            !strstr(out.ptr, "authorization: Bearer at-now\r\nChatGPT-Account-Id: mine\r\n"))
            fail_msg("%s: %s", let[i], out.ptr);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        if (login_head(&out, bad[i], NULL) || strstr(out.ptr, "at-now"))
            fail_msg("%s was let through", bad[i]);
    }
}

static void the_login_says_whose_it_is(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    assert_true(login_head(&out, "/v1/models", "acc-1"));
    assert_non_null(strstr(out.ptr, "chatgpt-account-id: acc-1\r\n"));
    assert_null(strstr(out.ptr, "mine"));
    assert_null(strstr(out.ptr, "gzip"));
    assert_null(strstr(out.ptr, "100-continue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_go_where_a_key_belongs),
        cmocka_unit_test(the_relay_is_no_proxy),
        cmocka_unit_test(bad_words_are_refused_without_showing_a_key),
        cmocka_unit_test(a_login_is_for_its_model_alone),
        cmocka_unit_test(the_login_says_whose_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
