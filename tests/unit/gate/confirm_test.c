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
        cmocka_unit_test(confirms_once),         cmocka_unit_test(compares_all_that_it_is_told),
        cmocka_unit_test(takes_changes_by_name), cmocka_unit_test(keeps_nothing_without_a_name),
        cmocka_unit_test(forgets_the_oldest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
