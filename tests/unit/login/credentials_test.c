#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/login/credentials.h"
#include "runner/login/post.h"

enum { NOW_S = 1800000000 };
#define NOW_MS ((int64_t)NOW_S * 1000)

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *j = NULL;
    if (!jx_parse(&j, text, strlen(text), &err))
        fail_msg("%s: %s", err.text, text);
    return j;
}

static const char claude_file[] = "{\"first\":1,\"claudeAiOauth\":{\"accessToken\":\"at-old\","
                                  "\"refreshToken\":\"rt-old\",\"expiresAt\":1700000000000,"
                                  "\"scopes\":[\"user:inference\",\"user:profile\"],"
                                  "\"subscriptionType\":\"max\",\"odd\":{\"a\":[1,null]}},"
                                  "\"mcpOAuth\":{\"x\":\"kept\"}}";

/* {"exp":1800003600} */
#define JWT_NEW "e30.eyJleHAiOjE4MDAwMDM2MDB9.sig"

static const char codex_file[] = "{\"auth_mode\":\"chatgpt\",\"OPENAI_API_KEY\":null,\"tokens\":{"
                                 "\"id_token\":\"id-old\",\"access_token\":\"at-old\","
                                 "\"refresh_token\":\"rt-old\",\"account_id\":\"acc-1\"},\"last_"
                                 "refresh\":\"2026-11-20T10:00:00Z\",\"odd\":[true]}";

static void both_forms_are_read(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *claude = parse(claude_file);
    AUTO_JSON json_t *codex = parse(codex_file);
    AUTO_CREDENTIALS struct credentials a = CREDENTIALS_INIT, b = CREDENTIALS_INIT;
    assert_true(credentials_read(&a, login_form("claude"), claude, &err));
    assert_string_equal(a.access, "at-old");
    assert_string_equal(a.refresh, "rt-old");
    assert_string_equal(a.scope, "user:inference user:profile");
    assert_true(a.expires_ms == 1700000000000);
    assert_null(a.account);
    assert_true(credentials_read(&b, login_form("codex"), codex, &err));
    assert_string_equal(b.account, "acc-1");
    assert_true(b.expires_ms == 0); /* no JSON web token: its end is not known */
    assert_null(login_form("gemini"));
}

static void the_request_is_that_of_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *file, *body;
    } cases[] = {
        {"claude", claude_file,
         "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"rt-old\",\"client_id\":\"9d1c250a-"
         "e61b-44d9-88ed-5944d1962f5e\","
         "\"scope\":\"user:inference user:profile\"}"},
        {"codex", codex_file,
         "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"rt-old\",\"client_id\":\"app_"
         "EMoamEEZ73f0CkXaXp7hrann\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_JSON json_t *file = parse(cases[i].file);
        AUTO_BUF struct buf body = BUF_INIT;
        AUTO_CREDENTIALS struct credentials c = CREDENTIALS_INIT;
        assert_true(credentials_read(&c, login_form(cases[i].agent), file, &err));
        credentials_ask(&body, login_form(cases[i].agent), &c);
        assert_string_equal(body.ptr, cases[i].body);
    }
}

static void what_is_not_known_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *file, *answer, *after;
    } cases[] = {
        {"claude", claude_file,
         "{\"access_token\":\"at-new\",\"refresh_token\":\"rt-new\",\"expires_in\":3600,\"scope\":"
         "\"user:inference\","
         "\"refresh_token_expires_in\":60,\"account\":{\"uuid\":\"u\"}}",
         "{\"first\":1,\"claudeAiOauth\":{\"accessToken\":\"at-new\",\"refreshToken\":\"rt-new\","
         "\"expiresAt\":1800003600000,"
         "\"scopes\":[\"user:inference\"],\"subscriptionType\":\"max\",\"odd\":{\"a\":[1,null]},"
         "\"refreshTokenExpiresAt\":1800000060000},\"mcpOAuth\":{\"x\":\"kept\"}}"},
        /* An issuer that does not rotate leaves the refresh token as it is. */
        {"claude", claude_file, "{\"access_token\":\"at-new\",\"expires_in\":3600}",
         "{\"first\":1,\"claudeAiOauth\":{\"accessToken\":\"at-new\",\"refreshToken\":\"rt-old\","
         "\"expiresAt\":1800003600000,"
         "\"scopes\":[\"user:inference\",\"user:profile\"],\"subscriptionType\":\"max\",\"odd\":{"
         "\"a\":[1,null]}},"
         "\"mcpOAuth\":{\"x\":\"kept\"}}"},
        {"codex", codex_file,
         "{\"access_token\":\"" JWT_NEW "\",\"refresh_token\":\"rt-new\",\"id_token\":\"id-new\"}",
         "{\n  \"auth_mode\": \"chatgpt\",\n  \"OPENAI_API_KEY\": null,\n  \"tokens\": {\n    "
         "\"id_token\": \"id-new\",\n"
         "    \"access_token\": \"" JWT_NEW
         "\",\n    \"refresh_token\": \"rt-new\",\n    \"account_id\": \"acc-1\"\n  },\n"
         "  \"last_refresh\": \"2027-01-15T08:00:00Z\",\n  \"odd\": [\n    true\n  ]\n}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        const struct login_form *form = login_form(cases[i].agent);
        AUTO_JSON json_t *file = parse(cases[i].file);
        AUTO_JSON json_t *answer = parse(cases[i].answer);
        AUTO_CREDENTIALS struct credentials old = CREDENTIALS_INIT, renewed = CREDENTIALS_INIT;
        AUTO_BUF struct buf text = BUF_INIT;
        assert_true(credentials_read(&old, form, file, &err));
        if (!credentials_renew(&renewed, file, form, &old, answer, NOW_MS, &err))
            fail_msg("%zu: %s", i, err.text);
        credentials_dump(&text, form, file);
        assert_string_equal(text.ptr, cases[i].after);
        assert_true(renewed.expires_ms == NOW_MS + 3600 * 1000);
    }
}

static void a_bad_answer_changes_nothing(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "{}",
        "[]",
        "null",
        "{\"access_token\":\"\"}",
        "{\"access_token\":7,\"refresh_token\":\"rt-new\"}",
        "{\"access_token\":\"at\\r\\nX: y\",\"refresh_token\":\"rt-new\"}",
        "{\"access_token\":\"at-new\",\"refresh_token\":\"two words\"}",
        "{\"access_token\":\"at\\u0000new\"}",
    };
    AUTO_JSON json_t *file = parse(claude_file);
    AUTO_JSON json_t *before = parse(claude_file);
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct err err = ERR_INIT;
        AUTO_JSON json_t *answer = parse(answers[i]);
        AUTO_CREDENTIALS struct credentials old = CREDENTIALS_INIT, renewed = CREDENTIALS_INIT;
        assert_true(credentials_read(&old, login_form("claude"), file, &err));
        assert_false(
            credentials_renew(&renewed, file, login_form("claude"), &old, answer, NOW_MS, &err));
        assert_true(json_equal(file, before));
        assert_null(strstr(err.text, "rt-"));
    }
}

static void files_without_a_login_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *file;
    } cases[] = {
        {"claude", "{}"},
        {"claude", "[]"},
        {"claude", "{\"claudeAiOauth\":null}"},
        {"claude", "{\"claudeAiOauth\":{\"accessToken\":\"\",\"refreshToken\":\"rt-old\"}}"},
        {"claude", "{\"claudeAiOauth\":{\"accessToken\":\"a b\",\"refreshToken\":\"rt-old\"}}"},
        {"codex", "{\"OPENAI_API_KEY\":\"sk-x\",\"tokens\":null}"},
        {"codex", "{\"tokens\":{\"refresh_token\":\"rt-old\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_JSON json_t *file = parse(cases[i].file);
        AUTO_CREDENTIALS struct credentials c = CREDENTIALS_INIT;
        assert_false(credentials_read(&c, login_form(cases[i].agent), file, &err));
        assert_non_null(strstr(err.text, login_form(cases[i].agent)->again));
        assert_null(strstr(err.text, "rt-old"));
    }
}

static void the_issuers_words_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *agent;
        int status;
        const char *answer;
        bool is_spent;
    } cases[] = {
        {"claude", 400, "{\"error\":\"invalid_grant\"}", true},
        {"claude", 401, "{\"error\":{\"type\":\"invalid_grant\",\"message\":\"x\"}}", true},
        {"claude", 500, "{\"error\":\"invalid_grant\"}", false},
        {"claude", 429, "{\"error\":{\"type\":\"rate_limit_error\"}}", false},
        {"claude", 400, "{\"error\":\"invalid_scope\"}", false},
        {"claude", 400, "null", false},
        {"codex", 401, "{\"error\":{\"code\":\"refresh_token_reused\"}}", true},
        {"codex", 401, "{\"error\":{\"code\":\"refresh_token_expired\"}}", true},
        {"codex", 401, "{\"error\":{\"code\":\"odd\"}}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON json_t *answer = NULL;
        struct err err = ERR_INIT;
        if (!jx_parse(&answer, cases[i].answer, strlen(cases[i].answer), &err))
            answer = NULL;
        if (credentials_is_spent(login_form(cases[i].agent), cases[i].status, answer) !=
            cases[i].is_spent)
            fail_msg("case %zu", i);
    }
}

static void answers_are_read_in_each_framing(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"a\":1}",
    };
    static const char *const cut[] = {
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\":1}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "ICY 200 OK\r\n\r\n",
    };
    int status;
    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        if (!post_answer(&status, &out, whole[i], strlen(whole[i]), &err))
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(status, 200);
        assert_string_equal(out.ptr, "{\"a\":1}");
    }
    for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        assert_false(post_answer(&status, &out, cut[i], strlen(cut[i]), &err));
    }
}

static const char *variable(const void *arg, const char *name)
{
    return strcmp(name, "CLAUDE_CONFIG_DIR") == 0 ? arg : NULL;
}

static void the_file_is_where_the_program_looks(void **state)
{
    (void)state;
    AUTO_FREE char *plain = login_default_file(login_form("claude"), "/home/ana", variable, NULL);
    AUTO_FREE char *moved =
        login_default_file(login_form("claude"), "/home/ana", variable, "/else");
    AUTO_FREE char *codex = login_default_file(login_form("codex"), "/home/ana", variable, "/else");
    assert_string_equal(plain, "/home/ana/.claude/.credentials.json");
    assert_string_equal(moved, "/else/.credentials.json");
    assert_string_equal(codex, "/home/ana/.codex/auth.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_read),
        cmocka_unit_test(the_request_is_that_of_the_program),
        cmocka_unit_test(what_is_not_known_is_kept),
        cmocka_unit_test(a_bad_answer_changes_nothing),
        cmocka_unit_test(files_without_a_login_say_what_to_do),
        cmocka_unit_test(the_issuers_words_are_known),
        cmocka_unit_test(answers_are_read_in_each_framing),
        cmocka_unit_test(the_file_is_where_the_program_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
