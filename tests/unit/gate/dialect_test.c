/* The agents' words, byte for byte: inputs as recorded from real agents, answers as they take them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/dialect.h"
#include "runner/base/mem.h"

static const struct {
    const char *dialect, *input;
    const char *request; /* NULL: harmless */
} inputs[] = {
    {"plain", "{\"tool\":\"shell\",\"args\":{\"command\":\"make\"}}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"command\",\"tool\":\"shell\",\"args\":{\"command\":"
     "\"make\"},"
     "\"cwd\":\"/here\",\"call_id\":\"\",\"session\":\"\"}"},
    {"plain",
     "{\"v\":9,\"source\":\"me\",\"agent\":\"mine\",\"tool\":\"write\",\"args\":{\"path\":\"a\"},"
     "\"cwd\":\"/w\","
     "\"call_id\":\"1\",\"session\":\"2\",\"subagent\":{\"id\":\"3\",\"type\":\"t\",\"depth\":2},"
     "\"more\":1}\n",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"mine\",\"tool\":\"write\",\"args\":{\"path\":\"a\"},"
     "\"cwd\":\"/w\","
     "\"call_id\":\"1\",\"session\":\"2\",\"subagent\":{\"id\":\"3\",\"type\":\"t\",\"depth\":2}}"},
    {"claude",
     "{\"session_id\":\"984ac6df\",\"transcript_path\":\"/x.jsonl\",\"cwd\":\"/"
     "w\",\"prompt_id\":\"p\","
     "\"permission_mode\":\"default\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
     "\"tool_input\":"
     "{\"command\":\"echo sub > "
     "sub.txt\",\"description\":\"write\"},\"tool_use_id\":\"toolu_000017\"}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"claude\",\"tool\":\"Bash\",\"args\":{\"command\":"
     "\"echo sub > "
     "sub.txt\",\"description\":\"write\"},\"cwd\":\"/w\",\"call_id\":\"toolu_000017\","
     "\"session\":\"984ac6df\"}"},
    {"claude",
     "{\"session_id\":\"s\",\"cwd\":\"/"
     "w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\","
     "\"tool_input\":{\"file_path\":\"/w/"
     "a\"},\"tool_use_id\":\"t\",\"agent_id\":\"a27275c51a25d2ca5\","
     "\"agent_type\":\"general-purpose\"}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"claude\",\"tool\":\"Write\",\"args\":{\"file_path\":"
     "\"/w/a\"},"
     "\"cwd\":\"/"
     "w\",\"call_id\":\"t\",\"session\":\"s\",\"subagent\":{\"id\":\"a27275c51a25d2ca5\","
     "\"type\":\"general-purpose\",\"depth\":1}}"},
    /* PermissionRequest has no tool_use_id. */
    {"claude",
     "{\"session_id\":\"s\",\"cwd\":\"/"
     "w\",\"hook_event_name\":\"PermissionRequest\",\"tool_name\":\"Bash\","
     "\"tool_input\":{\"command\":\"x\"},\"permission_suggestions\":[]}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"claude\",\"tool\":\"Bash\",\"args\":{\"command\":"
     "\"x\"},\"cwd\":"
     "\"/w\",\"call_id\":\"\",\"session\":\"s\"}"},
    {"codex",
     "{\"session_id\":\"01a2\",\"turn_id\":\"01a3\",\"agent_id\":\"01a4\",\"agent_type\":"
     "\"default\","
     "\"transcript_path\":\"/x\",\"cwd\":\"/w\",\"hook_event_name\":\"PreToolUse\",\"model\":\"m\","
     "\"permission_mode\":\"bypassPermissions\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":"
     "\"touch child-made.txt\"},\"tool_use_id\":\"call_0009\"}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"codex\",\"tool\":\"Bash\",\"args\":{\"command\":"
     "\"touch "
     "child-made.txt\"},\"cwd\":\"/w\",\"call_id\":\"call_0009\",\"session\":\"01a2\",\"subagent\":"
     "{\"id\":\"01a4\",\"type\":\"default\",\"depth\":1}}"},
    {"gemini",
     "{\"session_id\":\"g\",\"transcript_path\":\"/x\",\"cwd\":\"/"
     "w\",\"hook_event_name\":\"BeforeTool\","
     "\"timestamp\":\"t\",\"tool_name\":\"run_shell_command\",\"tool_input\":{\"command\":\"ls\"}}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"gemini\",\"tool\":\"run_shell_command\",\"args\":{"
     "\"command\":"
     "\"ls\"},\"cwd\":\"/w\",\"call_id\":\"\",\"session\":\"g\"}"},
    {"qwen",
     "{\"session_id\":\"q\",\"cwd\":\"/"
     "w\",\"hook_event_name\":\"PreToolUse\",\"permission_mode\":\"yolo\","
     "\"tool_name\":\"write_file\",\"tool_input\":{\"file_path\":\"/w/"
     "a\"},\"tool_use_id\":\"toolu_1\","
     "\"tool_call_id\":\"call_000095\",\"agent_id\":\"general-purpose-call_000090\"}",
     "{\"v\":1,\"source\":\"hook\",\"agent\":\"qwen\",\"tool\":\"write_file\",\"args\":{\"file_"
     "path\":\"/w/a\"},"
     "\"cwd\":\"/w\",\"call_id\":\"toolu_1\",\"session\":\"q\",\"subagent\":{\"id\":"
     "\"general-purpose-call_000090\",\"type\":\"\",\"depth\":1}}"},
    {"claude", "{\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"}",
     "{\"v\":1,\"hello\":true}"},
    {"claude", "{\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\"}", NULL},
    {"claude", "{\"hook_event_name\":\"SubagentStart\",\"agent_id\":\"a\"}", NULL},
    {"claude", "{\"hook_event_name\":\"Stop\"}", "{\"v\":1,\"rest\":\"\"}"},
    {"claude",
     "{\"hook_event_name\":\"Notification\",\"notification_type\":\"permission_prompt\","
     "\"message\":\"It needs you\",\"tool_name\":\"Bash\",\"tool_input\":{}}",
     "{\"v\":1,\"rest\":\"It needs you\"}"},
    {"claude", "{\"hook_event_name\":\"Notification\",\"notification_type\":\"auth_success\"}",
     NULL},
    {"gemini", "{\"hook_event_name\":\"AfterAgent\"}", "{\"v\":1,\"rest\":\"\"}"},
    {"codex", "{\"hook_event_name\":\"SessionStart\"}", "{\"v\":1,\"hello\":true}"},
    {"gemini", "{\"hook_event_name\":\"AfterTool\"}", NULL},
    {"qwen", "{\"hook_event_name\":\"UserPromptSubmit\"}", NULL},
};

static void reads_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        AUTO_DIALECT_INPUT struct dialect_input in = DIALECT_INPUT_INIT;
        AUTO_BUF struct buf text = BUF_INIT;
        struct err err = ERR_INIT;
        const struct dialect *d = dialect_find(inputs[i].dialect);
        if (!dialect_read(&in, d, inputs[i].input, strlen(inputs[i].input), "/here", &err))
            fail_msg("%s: %s", inputs[i].input, err.text);
        assert_int_equal(in.request != NULL, inputs[i].request != NULL);
        if (!in.request)
            continue;
        jx_dump(&text, in.request);
        assert_string_equal(text.ptr, inputs[i].request);
    }
}

static void refuses_inputs(void **state)
{
    (void)state;
    static const struct {
        const char *dialect, *input, *word;
    } rows[] = {
        {"plain", "", "JSON"},
        {"plain", "{", "JSON"},
        {"plain", "7", "object"},
        {"plain", "{}", "tool"},
        {"plain", "{\"tool\":\"x\",\"args\":[]}", "args"},
        {"plain", "{\"tool\":\"x\",\"cwd\":\"rel\"}", "cwd"},
        {"plain", "{\"tool\":\"x\"} {\"tool\":\"y\"}", "JSON"},
        {"plain", "{\"tool\":\"x\",\"tool\":\"y\"}", "JSON"},
        {"claude", "{\"tool_name\":\"Bash\"}", "event ''"},
        {"claude", "{\"hook_event_name\":\"PreToolUseX\",\"tool_name\":\"Bash\"}", "'PreToolUseX'"},
        {"claude", "{\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"Bash\"}", "'BeforeTool'"},
        {"claude", "{\"hook_event_name\":\"ConfigChange\"}", "ConfigChange"},
        {"claude", "{\"hook_event_name\":\"WorktreeCreate\"}", "WorktreeCreate"},
        {"claude", "{\"hook_event_name\":\"PreToolUse\"}", "tool"},
        {"claude", "{\"hook_event_name\":\"PreToolUse\",\"tool_input\":{}}", "'tool'"},
        {"claude",
         "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"toolInput\":{\"command\":"
         "\"ls\"}}",
         "'tool_input'"},
        {"gemini", "{\"hook_event_name\":\"BeforeTool\",\"tool_name\":\"x\"}", "'tool_input'"},
        {"claude",
         "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":\"x\"}",
         "args"},
        {"claude",
         "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{},\"agent_"
         "id\":7}",
         "id"},
        {"codex", "{\"hook_event_name\":\"ConfigChange\"}", "ConfigChange"},
        {"gemini", "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"x\"}", "'PreToolUse'"},
        {"qwen", "{\"hook_event_name\":\"Later\"}", "'Later'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dialect_input in = DIALECT_INPUT_INIT;
        struct err err = ERR_INIT;
        const struct dialect *d = dialect_find(rows[i].dialect);
        if (dialect_read(&in, d, rows[i].input, strlen(rows[i].input), "/here", &err))
            fail_msg("%s was taken", rows[i].input);
        if (!strstr(err.text, rows[i].word))
            fail_msg("%s: %s", rows[i].input, err.text);
    }
    assert_null(dialect_find("cursor"));
    assert_null(dialect_find(""));
}

#define SPECIFIC(event, rest) \
    "{\"hookSpecificOutput\":{\"hookEventName\":\"" event "\"," rest "}}\n"

static const struct {
    const char *dialect, *event;
    bool allow;
    const char *reason, *out;
    int status;
} answers[] = {
    {"plain", "call", true, "fine",
     "{\"decision\":\"allow\",\"reason\":\"fine\",\"call\":\"c12\"}\n", 0},
    {"plain", "call", false, "no", "{\"decision\":\"deny\",\"reason\":\"no\",\"call\":\"c12\"}\n",
     2},
    {"claude", "PreToolUse", true, "x", SPECIFIC("PreToolUse", "\"permissionDecision\":\"allow\""),
     0},
    {"claude", "PreToolUse", false, "a\n\"b\" ü\t",
     SPECIFIC("PreToolUse", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":"
                            "\"a\\n\\\"b\\\" ü\\t\""),
     0},
    {"claude", "PermissionRequest", true, "x",
     SPECIFIC("PermissionRequest", "\"decision\":{\"behavior\":\"allow\"}"), 0},
    {"claude", "PermissionRequest", false, "no",
     SPECIFIC("PermissionRequest", "\"decision\":{\"behavior\":\"deny\",\"message\":\"no\"}"), 0},
    {"codex", "PreToolUse", true, "x", "", 0},
    {"codex", "PreToolUse", false, "a \"b\" ü", "a \"b\" ü\n", 2},
    {"codex", "PermissionRequest", false, "no",
     SPECIFIC("PermissionRequest", "\"decision\":{\"behavior\":\"deny\",\"message\":\"no\"}"), 0},
    {"gemini", "BeforeTool", true, "x", "{\"decision\":\"allow\"}\n", 0},
    {"gemini", "BeforeTool", false, "no", "{\"decision\":\"deny\",\"reason\":\"no\"}\n", 0},
    {"qwen", "PreToolUse", true, "x", SPECIFIC("PreToolUse", "\"permissionDecision\":\"allow\""),
     0},
    {"qwen", "PreToolUse", false, "no",
     SPECIFIC("PreToolUse", "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\""),
     0},
    /* A denial without words gets some: agents run the tool when there are none. */
    {"gemini", "BeforeTool", false, "",
     "{\"decision\":\"deny\",\"reason\":\"denied by the gate without words (call c12)\"}\n", 0},
    {"codex", "PreToolUse", false, NULL, "denied by the gate without words (call c12)\n", 2},
};

static void prints_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        AUTO_BUF struct buf errout = BUF_INIT;
        bool is_on_stderr = answers[i].status == 2 && strcmp(answers[i].dialect, "codex") == 0;
        AUTO_JSON json_t *reason = answers[i].reason ? json_string(answers[i].reason) : NULL;
        const struct dialect_answer a = {
            .allow = answers[i].allow, .reason = reason, .call = "c12"};
        int status =
            dialect_write(&out, &errout, dialect_find(answers[i].dialect), answers[i].event, &a);
        assert_string_equal(is_on_stderr ? errout.ptr : out.ptr, answers[i].out);
        assert_int_equal(is_on_stderr ? out.len : errout.len, 0);
        assert_int_equal(status, answers[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_inputs),
        cmocka_unit_test(refuses_inputs),
        cmocka_unit_test(prints_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
