#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/call.h"
#include "runner/base/mem.h"
#include "runner/drive/codex_words.h"

static json_t *parse(const char *text)
{
    json_t *value;
    struct err err = ERR_INIT;
    assert_true(jx_parse(&value, text, strlen(text), &err));
    return value;
}

static void unwraps_the_shell(void **state)
{
    (void)state;
    static const struct {
        const char *command, *want;
    } rows[] = {
        {"/bin/bash -lc 'echo hi >file.txt'", "echo hi >file.txt"},
        {"/bin/bash -lc make", "make"},
        {"bash -c \"echo \\\"a\\\" \\$b 'c'\"", "echo \"a\" $b 'c'"},
        {"/bin/bash -lc 'it'\"'\"'s'", "it's"},
        {"/bin/bash -lc 'it'\\''s'", "it's"},
        {"/bin/bash -lc 'a\nb'", "a\nb"},
        /* Not of that form: as it is. */
        {"/bin/bash -lc 'a' b", "/bin/bash -lc 'a' b"},
        {"/bin/bash -lc 'open", "/bin/bash -lc 'open"},
        {"/bin/bash -lc", "/bin/bash -lc"},
        {"python3 -m 'x y'", "python3 -m 'x y'"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf got = BUF_INIT;
        codex_shell_text(&got, rows[i].command);
        assert_string_equal(got.ptr ? got.ptr : "", rows[i].want);
    }
}

static void asks_for_a_command(void **state)
{
    (void)state;
    AUTO_JSON json_t *params =
        parse("{\"kind\":\"command\",\"threadId\":\"child\",\"itemId\":\"call_1\","
              "\"command\":\"/bin/bash -lc 'make test'\",\"cwd\":\"/w\"}");
    AUTO_JSON json_t *request = codex_command_request(params, "main");
    AUTO_CALL_REQUEST struct call_request call = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    jx_set_int(request, "v", 1);
    assert_true(call_request_from_json(&call, request, &err));
    assert_string_equal(call.source, "confirm");
    assert_string_equal(call.tool, "Bash");
    assert_string_equal(call.call_id, "call_1");
    assert_string_equal(call.sub_id, "child");
    assert_string_equal(jx_str(call.args, "command", ""), "make test");
    AUTO_JSON json_t *own = codex_command_request(params, "child");
    assert_null(json_object_get(own, "subagent"));
}

static void shows_a_change_as_a_patch(void **state)
{
    (void)state;
    AUTO_JSON json_t *params = parse("{\"threadId\":\"main\",\"itemId\":\"i\"}");
    AUTO_JSON json_t *item =
        parse("{\"changes\":[{\"path\":\"/w/a\",\"kind\":{\"type\":\"add\"},\"diff\":\"x\\n\"},"
              "{\"path\":\"/w/b\",\"kind\":{\"type\":\"delete\"},\"diff\":\"\"}]}");
    AUTO_JSON json_t *request = codex_change_request(params, item, "main", "/w");
    assert_string_equal(
        jx_str(jx_obj(request, "args"), "command", ""),
        "*** Begin Patch\n*** Add File: /w/a\nx\n*** Delete File: /w/b\n*** End Patch\n");
    assert_int_equal(json_array_size(jx_arr(jx_obj(request, "args"), "changes")), 2);
    AUTO_JSON json_t *untold = codex_change_request(params, NULL, "main", "/w");
    assert_non_null(jx_arr(jx_obj(untold, "args"), "changes"));
}

#define HOOK(enabled, managed, matcher, command)                                            \
    "{\"result\":{\"data\":[{\"hooks\":[{\"eventName\":\"preToolUse\",\"enabled\":" enabled \
    ",\"isManaged\":" managed ",\"matcher\":\"" matcher "\",\"command\":\"" command "\"}]}]}}"

static void knows_its_hook(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        bool want;
    } rows[] = {
        {HOOK("true", "true", ".*", "/h/hook --agent codex || exit 2"), true},
        {HOOK("false", "true", ".*", "/h/hook"), false},
        {HOOK("true", "false", ".*", "/h/hook"), false},
        {HOOK("true", "true", "Bash", "/h/hook"), false},
        {HOOK("true", "true", ".*", "/evil; /h/hook"), false},
        {"{\"result\":{\"data\":[]}}", false},
        {"{}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_JSON json_t *answer = parse(rows[i].answer);
        struct err err = ERR_INIT;
        assert_int_equal(codex_hook_is_active(answer, "/h/hook", &err), rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwraps_the_shell),
        cmocka_unit_test(asks_for_a_command),
        cmocka_unit_test(shows_a_change_as_a_patch),
        cmocka_unit_test(knows_its_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
