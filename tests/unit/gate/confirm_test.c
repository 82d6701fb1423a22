#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/confirm.h"
#include "runner/base/mem.h"

static void key_of(struct confirm_key *ret, struct call_request *request, const char *text)
{
    struct err err = ERR_INIT;
    assert_true(call_request_parse(request, text, strlen(text), &err));
    confirm_key_of(ret, request);
}

static bool ask(struct confirm *c, const char *text)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct confirm_key key;
    key_of(&key, &request, text);
    return confirm_take(c, &request, &key);
}

static void allow(struct confirm *c, const char *text)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct confirm_key key;
    key_of(&key, &request, text);
    confirm_add(c, &key);
}

#define CALL(source, tool, args, more)                                                            \
    "{\"v\":1,\"source\":\"" source "\",\"agent\":\"codex\",\"tool\":\"" tool "\",\"args\":" args \
    ",\"cwd\":\"/w\"" more "}"
#define ID(id) ",\"call_id\":\"" id "\""

static void confirms_once(void **state)
{
    (void)state;
    struct confirm c = {0};
    static const char question[] = CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("a"));
    assert_false(ask(&c, question));
    allow(&c, CALL("hook", "Bash", "{\"command\":\"make\"}", ID("a")));
    assert_true(ask(&c, question));
    assert_false(ask(&c, question));
    confirm_release(&c);
}

static void compares_all_that_it_is_told(void **state)
{
    (void)state;
    static const char *const others[] = {
        CALL("confirm", "Bash", "{\"command\":\"make x\"}", ID("a")),
        CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("b")),
        CALL("confirm", "Bash", "{\"command\":\"make\"}", ""),
        CALL("confirm", "Sh", "{\"command\":\"make\"}", ID("a")),
        CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("a") ",\"subagent\":{\"id\":\"s\"}"),
        CALL("confirm", "apply_patch", "{\"command\":\"make\",\"changes\":[]}", ID("a")),
    };
    struct confirm c = {0};
    allow(&c, CALL("hook", "Bash", "{\"command\":\"make\"}", ID("a")));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(ask(&c, others[i]));
    assert_true(ask(&c, CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("a"))));
    confirm_release(&c);
}

static void takes_changes_by_name(void **state)
{
    (void)state;
    struct confirm c = {0};
    allow(&c, CALL("hook", "apply_patch", "{\"command\":\"*** Begin Patch\"}", ID("a")));
    assert_true(
        ask(&c, CALL("confirm", "apply_patch", "{\"changes\":[{\"path\":\"x\"}]}", ID("a"))));
    confirm_release(&c);
}

static bool follow(struct confirm *c, const char *text)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct confirm_key key;
    key_of(&key, &request, text);
    return confirm_follows(c, &request, &key);
}

#define WRITE(path) "{\"file_path\":\"" path "\",\"content\":\"x\"}"

static void follows_once_with_its_path_joined(void **state)
{
    (void)state;
    static const char *const told[][2] = {
        {CALL("hook", "Write", WRITE("a/b.txt"), ID("a")),
         CALL("hook", "Write", WRITE("/w/a/b.txt"), ID("a"))},
        {CALL("hook", "Write", WRITE("./b"), ID("a")),
         CALL("hook", "Write", WRITE("/w/b"), ID("a"))},
        {CALL("hook", "NotebookEdit", "{\"notebook_path\":\"n\"}", ID("a")),
         CALL("hook", "NotebookEdit", "{\"notebook_path\":\"/w/n\"}", ID("a"))},
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct confirm c = {0};
        assert_false(follow(&c, told[i][1]));
        allow(&c, told[i][0]);
        assert_false(follow(&c, told[i][0])); /* not joined: asked as it was */
        assert_true(follow(&c, told[i][1]));
        assert_false(follow(&c, told[i][1]));
        confirm_release(&c);
    }
}

/* An approval of one action is none of another. */
static void follows_from_nothing_else(void **state)
{
    (void)state;
    static const char *const others[] = {
        CALL("hook", "Write", WRITE("/w/a/c"), ID("a")),
        CALL("hook", "Write", WRITE("/v/a/b"), ID("a")),
        CALL("hook", "Write", WRITE("/w//a/b"), ID("a")),
        CALL("hook", "Write", WRITE("/w/a/b"), ID("b")),
        CALL("hook", "Write", WRITE("/w/a/b"), ""),
        CALL("hook", "Edit", WRITE("/w/a/b"), ID("a")),
        CALL("hook", "Write", WRITE("/w/a/b"), ID("a") ",\"session\":\"s\""),
        CALL("hook", "Write", WRITE("/w/a/b"), ID("a") ",\"subagent\":{\"id\":\"s\"}"),
        CALL("mcp", "Write", WRITE("/w/a/b"), ID("a")),
        CALL("hook", "Write", "{\"file_path\":\"/w/a/b\",\"content\":\"y\"}", ID("a")),
        "{\"v\":1,\"source\":\"hook\",\"agent\":\"codex\",\"tool\":\"Write\",\"args\":" WRITE(
            "/w/a/b") ",\"cwd\":\"/w/a\"" ID("a") "}",
    };
    struct confirm c = {0};
    allow(&c, CALL("hook", "Write", WRITE("a/b"), ID("a")));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(follow(&c, others[i]));
    assert_true(follow(&c, CALL("hook", "Write", WRITE("/w/a/b"), ID("a"))));
    confirm_release(&c);
}

/* Where the joined path could be another file than the relative one. */
static void joins_no_path_that_could_lead_elsewhere(void **state)
{
    (void)state;
    static const char *const told[][2] = {
        {CALL("hook", "Write", WRITE("a/../b"), ID("a")),
         CALL("hook", "Write", WRITE("/w/b"), ID("a"))},
        {CALL("hook", "Write", WRITE("../b"), ID("a")),
         CALL("hook", "Write", WRITE("/b"), ID("a"))},
        {CALL("hook", "Write", WRITE("../b"), ID("a")),
         CALL("hook", "Write", WRITE("/w/../b"), ID("a"))},
        {CALL("hook", "Write", WRITE("~/b"), ID("a")),
         CALL("hook", "Write", WRITE("/w/~/b"), ID("a"))},
        {CALL("hook", "Write", WRITE("b/"), ID("a")),
         CALL("hook", "Write", WRITE("/w/b/"), ID("a"))},
        {CALL("hook", "Write", WRITE("b/."), ID("a")),
         CALL("hook", "Write", WRITE("/w/b/."), ID("a"))},
        {CALL("hook", "Write", WRITE(""), ID("a")), CALL("hook", "Write", WRITE("/w/"), ID("a"))},
        {CALL("hook", "Write", WRITE("/w/b"), ID("a")),
         CALL("hook", "Write", WRITE("/w/b"), ID("a"))},
        {CALL("hook", "Write", WRITE("b\\u0000c"), ID("a")),
         CALL("hook", "Write", WRITE("/w/b\\u0000c"), ID("a"))},
    };
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct confirm c = {0};
        allow(&c, told[i][0]);
        assert_false(follow(&c, told[i][1]));
        confirm_release(&c);
    }
}

static void keeps_nothing_without_a_name(void **state)
{
    (void)state;
    struct confirm c = {0};
    allow(&c, CALL("hook", "Bash", "{\"command\":\"make\"}", ""));
    assert_int_equal(c.n, 0);
    assert_false(ask(&c, CALL("confirm", "Bash", "{\"command\":\"make\"}", "")));
    confirm_release(&c);
}

static void forgets_the_oldest(void **state)
{
    (void)state;
    struct confirm c = {0};
    allow(&c, CALL("hook", "Bash", "{\"command\":\"make\"}", ID("first")));
    for (int i = 0; i < CONFIRM_KEPT; i++) {
        AUTO_FREE char *text =
            xasprintf(CALL("hook", "Bash", "{\"command\":\"make\"}", ID("%d")), i);
        allow(&c, text);
    }
    assert_int_equal(c.n, CONFIRM_KEPT);
    assert_false(ask(&c, CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("first"))));
    assert_true(ask(&c, CALL("confirm", "Bash", "{\"command\":\"make\"}", ID("0"))));
    confirm_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(confirms_once),
        cmocka_unit_test(compares_all_that_it_is_told),
        cmocka_unit_test(takes_changes_by_name),
        cmocka_unit_test(keeps_nothing_without_a_name),
        cmocka_unit_test(forgets_the_oldest),
        cmocka_unit_test(follows_once_with_its_path_joined),
        cmocka_unit_test(follows_from_nothing_else),
        cmocka_unit_test(joins_no_path_that_could_lead_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
