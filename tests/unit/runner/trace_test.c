/*
 * The tree of a trace: everything stands below whoever asked for it, in time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runner/base/mem.h"
#include "runner/server/trace.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value;
    if (!jx_parse(&value, text, strlen(text), &err))
        fail_msg("%s", err.text);
    return value;
}

static void outline_below(struct buf *out, const json_t *node, int depth)
{
    size_t i;
    const json_t *child;
    static const char *const names[] = {"path", "host", "to"};
    const char *name =
        jx_str(jx_obj(node, "call"), "id", jx_str(jx_obj(node, "subagent"), "id", ""));
    for (i = 0; i < ARRAY_LEN(names) && !*name; i++)
        name = jx_str(node, names[i], "");
    buf_addf(out, "%*s%s %s %lld\n", depth * 2, "", jx_str(node, "kind", "?"), name,
             (long long)jx_int(node, "at_ms", 0));
    json_array_foreach(jx_arr(node, "children"), i, child)
    {
        outline_below(out, child, depth + 1);
    }
}

static void check_outline(const char *calls_text, const char *rows_text, const char *expected)
{
    AUTO_JSON json_t *attempt = parse("{\"id\":\"1.1\",\"started_ms\":100}");
    AUTO_JSON json_t *calls = parse(calls_text), *rows = parse(rows_text);
    AUTO_JSON json_t *tree = trace_tree(attempt, calls, rows);
    AUTO_BUF struct buf out = BUF_INIT;
    outline_below(&out, tree, 0);
    assert_string_equal(out.ptr, expected);
}

#define HOOK(id, at, more) \
    "{\"id\":\"" id "\",\"source\":\"hook\",\"tool\":\"Bash\",\"asked_ms\":" at more "}"
#define SUB ",\"subagent\":{\"id\":\"a1\",\"type\":\"explorer\",\"depth\":1}"
#define BY(call) ",\"call_id\":\"" call "\",\"session\":\"s\""

static void calls_stand_below_their_subagent(void **state)
{
    (void)state;
    check_outline(
        "[" HOOK("c1", "200", "") "," HOOK("c2", "300", SUB) "," HOOK("c3", "400", "") "," HOOK(
            "c4", "500", SUB) "]",
        "[]",
        "attempt  100\n  call c1 200\n  subagent a1 300\n    call c2 300\n    call c4 500\n"
        "  call c3 400\n");
}

static void programs_make_a_line(void **state)
{
    (void)state;
    check_outline(
        "[{\"id\":\"c1\",\"source\":\"exec\",\"asked_ms\":300,\"args\":{\"parents\":[\"/sh\",\"/"
        "a\"]}}]",
        "[{\"kind\":\"execs\",\"at_ms\":250,\"body\":{\"new\":[{\"path\":\"/sh\",\"parents\":[\"/"
        "a\"]}]}},"
        "{\"kind\":\"execs\",\"at_ms\":900,\"body\":{\"programs\":[{\"path\":\"/sh\",\"n\":4},"
        "{\"path\":\"/b\",\"n\":1}]}}]",
        "attempt  100\n  program /a 250\n    program /sh 250\n      call c1 300\n  program /b "
        "900\n");
}

static void an_exec_stands_below_the_call_that_it_carries_out(void **state)
{
    (void)state;
    check_outline(
        "[" HOOK("c1", "200", SUB BY("t1")) "," HOOK(
            "c2", "250",
            BY("t2")) ",{\"id\":\"c3\",\"source\":\"exec\",\"asked_ms\":300,\"args\":{}" SUB
            BY("t1") "}"
                     ",{\"id\":\"c4\",\"source\":\"exec\",\"asked_ms\":310,\"args\":{}" SUB BY(
                         "t9") "}]",
        "[]",
        "attempt  100\n  subagent a1 200\n    call c1 200\n      call c3 300\n    call c4 310\n"
        "  call c2 250\n");
}

static void connections_are_summed_with_their_decision(void **state)
{
    (void)state;
    AUTO_JSON json_t *attempt = parse("{\"id\":\"1.1\",\"started_ms\":100}");
    AUTO_JSON json_t *calls = parse("[{\"id\":\"c1\",\"source\":\"net\",\"asked_ms\":200,\"args\":{"
                                    "\"host\":\"h\",\"port\":443}}]");
    AUTO_JSON json_t *rows = parse(
        "[{\"kind\":\"net\",\"at_ms\":300,\"body\":{\"host\":\"h\",\"port\":443,\"connections\":1,"
        "\"up\":5,\"down\":7,\"parents\":[\"/npm\"]}},"
        "{\"kind\":\"net\",\"at_ms\":400,\"body\":{\"host\":\"h\",\"port\":443,\"connections\":2,"
        "\"up\":1,\"down\":1,\"parents\":[\"/npm\"]}}]");
    AUTO_JSON json_t *tree = trace_tree(attempt, calls, rows);
    const json_t *npm = json_array_get(jx_arr(tree, "children"), 0);
    const json_t *net = json_array_get(jx_arr(npm, "children"), 0);
    assert_int_equal(json_array_size(jx_arr(tree, "children")), 1);
    assert_string_equal(jx_str(npm, "path", ""), "/npm");
    assert_int_equal(json_array_size(jx_arr(npm, "children")), 1);
    assert_int_equal(jx_int(net, "connections", 0), 3);
    assert_int_equal(jx_int(net, "up", 0), 6);
    assert_int_equal(jx_int(net, "down", 0), 8);
    assert_int_equal(jx_int(net, "at_ms", 0), 200);
    assert_string_equal(jx_str(jx_obj(net, "call"), "id", ""), "c1");
}

static void an_update_that_is_told_twice_stands_there_once(void **state)
{
    (void)state;
#define REFS(at, to) \
    "{\"kind\":\"refs\",\"at_ms\":" at ",\"body\":{\"ref\":\"r\",\"to\":\"" to "\"}}"
    check_outline("[]", "[" REFS("200", "x") "," REFS("210", "x") "," REFS("300", "y") "]",
                  "attempt  100\n  refs x 200\n  refs y 300\n");
}

static void hosts_are_summed(void **state)
{
    (void)state;
    AUTO_JSON json_t *rows = parse("[{\"kind\":\"net\",\"body\":{\"host\":\"a\",\"port\":443,"
                                   "\"connections\":1,\"up\":1,\"down\":1}},"
                                   "{\"kind\":\"execs\",\"body\":{\"new\":[]}},"
                                   "{\"kind\":\"net\",\"body\":{\"host\":\"b\",\"port\":443,"
                                   "\"connections\":1,\"up\":9,\"down\":9}},"
                                   "{\"kind\":\"net\",\"body\":{\"host\":\"a\",\"port\":443,"
                                   "\"denied\":2,\"parents\":[\"/x\"]}}]");
    AUTO_JSON json_t *hosts = trace_hosts(rows);
    assert_int_equal(json_array_size(hosts), 2);
    assert_string_equal(jx_str(json_array_get(hosts, 0), "host", ""), "b");
    assert_int_equal(jx_int(json_array_get(hosts, 1), "connections", 0), 1);
    assert_int_equal(jx_int(json_array_get(hosts, 1), "denied", 0), 2);
    assert_null(json_object_get(json_array_get(hosts, 1), "children"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_stand_below_their_subagent),
        cmocka_unit_test(programs_make_a_line),
        cmocka_unit_test(an_exec_stands_below_the_call_that_it_carries_out),
        cmocka_unit_test(connections_are_summed_with_their_decision),
        cmocka_unit_test(hosts_are_summed),
        cmocka_unit_test(an_update_that_is_told_twice_stands_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
