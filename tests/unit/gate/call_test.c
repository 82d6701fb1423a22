/* Requests, states and digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gate/call.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

static const char full[] = "{\"v\":1,\"source\":\"hook\",\"agent\":\"claude\",\"tool\":\"Bash\","
                           "\"args\":{\"command\":\"ls\"},"
                           "\"cwd\":\"/w\",\"call_id\":\"toolu_1\",\"session\":\"s1\","
                           "\"subagent\":{\"id\":\"a1\",\"type\":\"general\",\"depth\":2}}";

static void parse(struct call_request *ret, const char *text)
{
    struct err err = ERR_INIT;
    if (!call_request_parse(ret, text, strlen(text), &err))
        fail_msg("%s: %s", text, err.text);
}

static void parses_and_prints(void **state)
{
    (void)state;
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    parse(&r, full);
    assert_string_equal(r.source, "hook");
    assert_string_equal(r.agent, "claude");
    assert_string_equal(r.tool, "Bash");
    assert_string_equal(jx_str(r.args, "command", ""), "ls");
    assert_string_equal(r.cwd, "/w");
    assert_string_equal(r.call_id, "toolu_1");
    assert_string_equal(r.session, "s1");
    assert_string_equal(r.sub_id, "a1");
    assert_string_equal(r.sub_type, "general");
    assert_int_equal(r.sub_depth, 2);
    AUTO_JSON json_t *printed = call_request_json(&r);
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, printed);
    assert_string_equal(text.ptr, full);
}

static void fills_defaults(void **state)
{
    (void)state;
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    parse(&r, "{\"v\":1,\"source\":\"hook\",\"agent\":\"x\",\"tool\":\"t\",\"more\":[1],"
              "\"subagent\":null}");
    assert_int_equal(json_object_size(r.args), 0);
    assert_string_equal(r.cwd, "");
    assert_string_equal(r.call_id, "");
    assert_int_equal(r.sub_depth, 0);
    AUTO_CALL_REQUEST struct call_request sub = CALL_REQUEST_INIT;
    parse(
        &sub,
        "{\"v\":1,\"source\":\"hook\",\"agent\":\"x\",\"tool\":\"t\",\"subagent\":{\"id\":\"s\"}}");
    assert_int_equal(sub.sub_depth, 1);
}

/* Text that is not UTF-8 came in the one encoding; printing must not encode it once more. */
static void keeps_encoded_bytes(void **state)
{
    (void)state;
    AUTO_JSON json_t *message = json_object();
    jx_set_int(message, "v", 1);
    jx_set_str(message, "source", "hook");
    jx_set_str(message, "agent", "x");
    jx_set_str(message, "tool", "t");
    jx_set_str(message, "cwd", "/\xff");
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    assert_true(call_request_from_json(&r, message, &err));
    AUTO_JSON json_t *printed = call_request_json(&r);
    assert_string_equal(jx_str(printed, "cwd", ""), jx_str(message, "cwd", "?"));
}

static void refuses_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"", "JSON"},
        {"[]", "object"},
        {"{\"v\":2,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\"}", "version"},
        {"{\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\"}", "version"},
        {"{\"v\":1,\"agent\":\"a\",\"tool\":\"t\"}", "source"},
        {"{\"v\":1,\"source\":\"h\",\"tool\":\"t\"}", "agent"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\"}", "tool"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"\"}", "tool"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":7}", "tool"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"x\\u0000y\"}", "NUL"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"args\":\"x\"}", "args"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"cwd\":\"w\"}", "cwd"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"subagent\":\"s\"}",
         "subagent"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"subagent\":{\"depth\":-1}}",
         "depth"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"subagent\":{\"id\":\"s\","
         "\"depth\":0}}",
         "depth"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"subagent\":{\"depth\":65}}",
         "depth"},
        {"{\"v\":1,\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\"}", "JSON"},
        {"{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"\xff\"}", "JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call_request r = CALL_REQUEST_INIT;
        struct err err = ERR_INIT;
        if (call_request_parse(&r, rows[i].text, strlen(rows[i].text), &err))
            fail_msg("%s was taken", rows[i].text);
        assert_int_equal(err.code, ERR_FORMAT);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}

static void bounds_sizes(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_adds(&text, "{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"");
    for (int i = 0; i <= CALL_NAME_BYTES; i++)
        buf_addch(&text, 't');
    buf_adds(&text, "\"}");
    struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    assert_false(call_request_parse(&r, text.ptr, text.len, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    buf_clear(&text);
    buf_adds(&text, full);
    while (text.len <= LIMIT_CALL_BYTES)
        buf_addch(&text, ' ');
    assert_false(call_request_parse(&r, text.ptr, text.len, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(call_request_parse(&r, text.ptr, LIMIT_CALL_BYTES, &err));
    call_request_release(&r);
}

static void follows_the_state_table(void **state)
{
    (void)state;
    static const struct {
        enum call_state from;
        enum call_event event;
        enum call_state to;
    } possible[] = {
        {CALL_PENDING, CALL_EV_APPROVE, CALL_APPROVED},
        {CALL_PENDING, CALL_EV_DENY, CALL_DENIED},
        {CALL_PENDING, CALL_EV_EXPIRE, CALL_EXPIRED},
        {CALL_PENDING, CALL_EV_ORPHAN, CALL_ORPHANED},
        {CALL_APPROVED, CALL_EV_CONSUME, CALL_CONSUMED},
        {CALL_APPROVED, CALL_EV_ORPHAN, CALL_ORPHANED},
        {CALL_APPROVED, CALL_EV_EXPIRE, CALL_EXPIRED},
    };
    for (int s = 0; s < CALL_STATE_COUNT; s++) {
        enum call_state back;
        assert_true(call_state_parse(&back, call_state_name((enum call_state)s)));
        assert_int_equal(back, s);
        for (int e = 0; e < CALL_EVENT_COUNT; e++) {
            enum call_state next = CALL_STATE_COUNT, want = CALL_STATE_COUNT;
            for (size_t i = 0; i < ARRAY_LEN(possible); i++)
                if ((int)possible[i].from == s && (int)possible[i].event == e)
                    want = possible[i].to;
            bool is_possible = call_next(&next, (enum call_state)s, (enum call_event)e);
            assert_int_equal(is_possible, want != CALL_STATE_COUNT);
            assert_int_equal(next, want);
        }
    }
    enum call_state none;
    assert_false(call_state_parse(&none, "Pending"));
}

/* Each member that a person decides about changes the digest; the order of arguments does not. */
static void digests_tell_calls_apart(void **state)
{
    (void)state;
    static const char *const members[] = {"source", "agent",   "tool",    "args",
                                          "cwd",    "call_id", "session", "subagent"};
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    char base[DIGEST_HEX_SIZE], action[DIGEST_HEX_SIZE], other[DIGEST_HEX_SIZE];
    parse(&r, full);
    call_digest(base, "3.2", 7, &r);
    call_action_digest(action, &r);
    assert_true(digest_is_hex(base));
    call_digest(other, "3.2", 8, &r);
    assert_string_not_equal(base, other);
    call_digest(other, "3.3", 7, &r);
    assert_string_not_equal(base, other);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        AUTO_JSON json_t *message = call_request_json(&r);
        const char *key = members[i];
        bool is_object = strcmp(key, "args") == 0 || strcmp(key, "subagent") == 0;
        jx_set(message, key, is_object ? json_pack("{s:s}", "id", "other") : json_string("/other"));
        AUTO_CALL_REQUEST struct call_request changed = CALL_REQUEST_INIT;
        struct err err = ERR_INIT;
        assert_true(call_request_from_json(&changed, message, &err));
        call_digest(other, "3.2", 7, &changed);
        if (strcmp(base, other) == 0)
            fail_msg("%s does not count", key);
        call_action_digest(other, &changed);
        bool is_action =
            is_object ? key[0] == 'a' : strcmp(key, "tool") == 0 || strcmp(key, "cwd") == 0;
        assert_int_equal(strcmp(action, other) != 0, is_action);
    }
}

static void digests_ignore_the_order_of_arguments(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"args\":{\"a\":1,\"b\":{\"c\":2,"
        "\"d\":3}}}",
        "{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"t\",\"args\":{\"b\":{\"d\":3,\"c\":2}"
        ",\"a\":1}}",
    };
    char digests[2][DIGEST_HEX_SIZE];
    for (int i = 0; i < 2; i++) {
        AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
        parse(&r, texts[i]);
        call_action_digest(digests[i], &r);
    }
    assert_string_equal(digests[0], digests[1]);
}

#define EDIT_IN(tree, file)                                                       \
    "{\"v\":1,\"source\":\"h\",\"agent\":\"a\",\"tool\":\"Edit\",\"cwd\":\"" tree \
    "\",\"worktree\":\"" tree "\","                                               \
    "\"args\":{\"path\":\"" file "\"}}"

/* The same edit in two worktrees is one action; a neighbour's path, or the mark itself, is not
 * taken for it. */
static void actions_are_equal_across_worktrees(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } cases[] = {
        {EDIT_IN("/s/3.1/tree", "/s/3.1/tree/x"), EDIT_IN("/s/3.2/tree", "/s/3.2/tree/x"), true},
        {EDIT_IN("/s/3.1/tree", "cd /s/3.1/tree && make"),
         EDIT_IN("/s/3.2/tree", "cd /s/3.2/tree && make"), true},
        {EDIT_IN("/s/3.1/tree", "/s/3.1/tree/x"), EDIT_IN("/s/3.2/tree", "/s/3.1/tree/x"), false},
        {EDIT_IN("/s/3.1/tree", "/s/3.1/tree2/x"), EDIT_IN("/s/3.2/tree", "/s/3.2/tree2/x"), false},
        {EDIT_IN("/s/3.1/tree", "/s/3.1/tree/x"), EDIT_IN("/s/3.1/tree", "\\u0001w/x"), false},
        {EDIT_IN("/s/3.1/tree", "/x/s/3.1/tree/x"), EDIT_IN("/s/3.2/tree", "/x/s/3.2/tree/x"),
         false},
        {EDIT_IN("/s/3.1/tree", "a=/s/3.1/tree:b"), EDIT_IN("/s/3.2/tree", "a=/s/3.2/tree:b"),
         true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char a[DIGEST_HEX_SIZE], b[DIGEST_HEX_SIZE];
        AUTO_CALL_REQUEST struct call_request first = CALL_REQUEST_INIT, second = CALL_REQUEST_INIT;
        parse(&first, cases[i].a);
        parse(&second, cases[i].b);
        call_action_digest(a, &first);
        call_action_digest(b, &second);
        assert_int_equal(strcmp(a, b) == 0, cases[i].is_equal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_and_prints),
        cmocka_unit_test(fills_defaults),
        cmocka_unit_test(keeps_encoded_bytes),
        cmocka_unit_test(refuses_malformed),
        cmocka_unit_test(bounds_sizes),
        cmocka_unit_test(follows_the_state_table),
        cmocka_unit_test(digests_tell_calls_apart),
        cmocka_unit_test(digests_ignore_the_order_of_arguments),
        cmocka_unit_test(actions_are_equal_across_worktrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
