/* What a call is about: kinds by agent and name, and the paths, commands and hosts of arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/tool.h"
#include "gate/tool_table.h"
#include "runner/base/mem.h"

static void knows_tools_by_agent(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *tool;
        enum tool_kind kind;
    } rows[] = {
        {"claude", "Bash", TOOL_SHELL},         {"claude", "Edit", TOOL_EDIT},
        {"claude", "Agent", TOOL_SPAWN},        {"claude", "WebFetch", TOOL_NETWORK},
        {"claude", "TodoWrite", TOOL_PLAN},     {"claude", "mcp__db__query", TOOL_OTHER},
        {"codex", "apply_patch", TOOL_EDIT},    {"codex", "multi_agent_v1spawn_agent", TOOL_SPAWN},
        {"gemini", "replace", TOOL_EDIT},       {"qwen", "run_shell_command", TOOL_SHELL},
        {"opencode", "webfetch", TOOL_NETWORK}, {"command", "shell", TOOL_SHELL},
        {"command", "Bash", TOOL_SHELL},        {"anything", "write", TOOL_EDIT},
        {"codex", "read", TOOL_READ},           {"claude", "bash", TOOL_SHELL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (tool_kind_of(rows[i].agent, rows[i].tool) != rows[i].kind)
            fail_msg("%s %s", rows[i].agent, rows[i].tool);
}

/* Describe a use as "paths|command|host", "?" for an edit of an unknown file. */
static void describe(struct buf *out, const char *agent, const char *tool, const char *args)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *object = NULL;
    assert_true(jx_parse(&object, args, strlen(args), &err));
    struct call_request call = {.source = (char[]){"hook"},
                                .agent = (char *)(uintptr_t)agent,
                                .tool = (char *)(uintptr_t)tool,
                                .args = object};
    AUTO_TOOL_USE struct tool_use use = TOOL_USE_INIT;
    tool_use_of(&use, &call);
    for (size_t i = 0; i < use.paths.n; i++)
        buf_addf(out, "%s%s", i > 0 ? "," : "", use.paths.v[i]);
    buf_addf(out, "%s|%s|%s", use.has_unknown_path ? "?" : "", use.command ? use.command : "",
             use.host ? use.host : "");
    if (use.command && use.shell.opaque)
        buf_adds(out, "!");
}

static void reads_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *tool, *args, *want;
    } rows[] = {
        {"claude", "Edit", "{\"file_path\":\"/w/a\",\"old_string\":\"x\",\"new_string\":\"y\"}",
         "/w/a||"},
        {"claude", "NotebookEdit", "{\"notebook_path\":\"n.ipynb\"}", "n.ipynb||"},
        {"claude", "Write", "{\"content\":\"x\"}", "?||"},
        {"claude", "Glob", "{\"pattern\":\"/etc/*\"}", "/etc/*||"},
        {"claude", "Grep", "{\"pattern\":\"foo\",\"path\":\"src\"}", "src||"},
        {"claude", "Bash", "{\"command\":\"ls -l\"}", "|ls -l|"},
        {"claude", "Bash", "{\"command\":\"ls $x\"}", "|ls $x|!"},
        {"claude", "Bash", "{\"command\":\"ls\\u0000rm\"}", "|ls\nrm|!"},
        {"claude", "Bash", "{}", "||"},
        {"codex", "exec_command", "{\"command\":\"ls\",\"cmd\":\"rm x\"}", "|ls\nrm x|!"},
        {"claude", "Grep", "{\"pattern\":\"/api/../x\",\"path\":\"src\"}", "src||"},
        {"claude", "Grep", "{\"pattern\":\"x\",\"glob\":\"../*\"}", "../*||"},
        {"claude", "Glob", "{\"pattern\":\"../../*\"}", "../../*||"},
        {"claude", "Glob", "{\"pattern\":\"~/.ssh/*\"}", "~/.ssh/*||"},
        {"claude", "Glob", "{\"pattern\":\"**/*.c\"}", "||"},
        {"gemini", "read_many_files", "{\"include\":[\"a\",\"/etc/x\"]}", "a,/etc/x||"},
        {"codex", "shell", "{\"command\":[\"bash\",\"-lc\",\"git status\"]}", "|git status|"},
        {"codex", "shell", "{\"command\":[\"git\",\"a b\"]}", "|git a b|"},
        {"codex", "shell", "{\"command\":[\"zsh\",\"-c\",\"x\"]}", "|zsh -c x|!"},
        {"codex", "shell", "{\"command\":[\"git\",7]}", "|git|!"},
        {"codex", "apply_patch",
         "{\"command\":\"*** Begin Patch\\n*** Update File: a/b.c\\n*** Move to: "
         "c.c\\n@@\\n-x\\n+y\\n"
         "*** Add File: .git/x\\n*** End Patch\"}",
         "a/b.c,c.c,.git/x||"},
        {"codex", "apply_patch", "{\"command\":\"nonsense\"}", "?||"},
        {"gemini", "read_many_files", "{\"paths\":[\"a\",\"b\"]}", "a,b||"},
        {"claude", "MultiEdit", "{\"files\":[{\"path\":\"a\"},{\"path\":\"b\"}]}", "a,b||"},
        {"opencode", "write", "{\"filePath\":\"/w/x\"}", "/w/x||"},
        {"claude", "WebFetch", "{\"url\":\"https://u:p@Docs.Example.COM:8443/a?b@c\"}",
         "||docs.example.com"},
        {"claude", "WebFetch", "{\"url\":\"https://good.com\\\\@evil.com/\"}", "||good.com"},
        {"claude", "WebFetch", "{\"url\":\"http://[::1]:80/\"}", "||::1"},
        {"claude", "WebFetch", "{\"url\":\"example.com/x\"}", "||example.com"},
        {"claude", "WebSearch", "{\"query\":\"x\"}", "||"},
        {"claude", "mcp__x__y", "{\"path\":\"p\",\"command\":\"c\",\"url\":\"http://h/\"}",
         "p|c|h"},
        {"command", "patch",
         "{\"patch\":\"diff --git a/x b/x\\nold mode 100644\\nnew mode 100755\\n\"}", "x||"},
        {"command", "patch", "{\"patch\":\"--- a/x\\t2026\\n+++ b/x\\n@@ -1 +1 @@\\n\"}", "x,x||"},
        {"command", "patch", "{\"patch\":\"--- /dev/null\\n+++ b/new\\n\"}", "new||"},
        {"command", "patch", "{\"patch\":\"+++ \\\"b/\\\\303\\\"\\n\"}", "?||"},
        /* As OpenCode's parser and Codex's take them. */
        {"opencode", "apply_patch",
         "{\"patchText\":\"*** Begin Patch\\n*** Add File: a\\n+x\\n*** Add "
         "File:.envrc\\n+x\\n"
         "  *** Update File:  .npmrc \\r\\n@@\\n*** Move to:Jenkinsfile\\n*** End Patch\"}",
         "a,.envrc,.npmrc,Jenkinsfile||"},
        {"opencode", "apply_patch", "{\"patchText\":\"*** Add File: a\\n***Rename File: b\\n\"}",
         "a?||"},
        {"opencode", "apply_patch",
         "{\"patchText\":\"*** Update File: a\\n@@\\n *** a heading\\n-x\\n+y\\n\"}", "a||"},
        /* As git apply takes them: any first folder goes, and a blank ends a name. */
        {"command", "patch", "{\"patch\":\"--- src/docs/x\\n+++ src/docs/x\\n\"}",
         "src/docs/x,docs/x,src/docs/x,docs/x||"},
        {"command", "patch", "{\"patch\":\"--- /dev/null\\n+++ b/.npmrc x\\n\"}",
         ".npmrc x,.npmrc||"},
        {"command", "patch",
         "{\"patch\":\"diff --git q/x r/x\\nold mode 100644\\nnew mode 100755\\n\"}", "q/x,x||"},
        {"command", "patch", "{\"patch\":\"rename from a\\nrename to .envrc\\n\"}", "a,.envrc||"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf got = BUF_INIT;
        describe(&got, rows[i].agent, rows[i].tool, rows[i].args);
        if (strcmp(got.ptr, rows[i].want) != 0)
            fail_msg("%s %s: [%s], not [%s]", rows[i].tool, rows[i].args, got.ptr, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(knows_tools_by_agent),
                                       cmocka_unit_test(reads_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
