/* Judgements: ladder, floor and rules, call by call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gate/policy.h"
#include "runner/base/mem.h"

static const struct policy_place place = {.worktree = "/home/u/w", .home = "/home/u"};
enum { RULES_MAX = 4 };

static struct policy make_policy(enum ladder ladder, const char *const *rules)
{
    struct policy p = {.ladder = ladder, .epoch = 1};
    struct err err = ERR_INIT;
    p.rules = xcalloc(RULES_MAX, sizeof(*p.rules));
    for (; p.n_rules < RULES_MAX && rules && rules[p.n_rules]; p.n_rules++) {
        if (!rule_parse(&p.rules[p.n_rules], rules[p.n_rules], &err))
            fail_msg("%s", err.text);
        p.rules[p.n_rules].id = (int64_t)p.n_rules + 1;
    }
    return p;
}

static void judge(struct judgement *ret, const struct policy *p, const char *agent,
                  const char *tool, const char *args, bool is_sub)
{
    struct err err = ERR_INIT;
    AUTO_CALL_REQUEST struct call_request call = CALL_REQUEST_INIT;
    AUTO_JSON json_t *object = NULL;
    if (!jx_parse(&object, args, strlen(args), &err))
        fail_msg("%s: %s", args, err.text);
    AUTO_JSON json_t *message =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:O}", "v", 1, "source", "hook", "agent", agent,
                  "tool", tool, "cwd", "/home/u/w/src", "args", object);
    if (is_sub)
        jx_set(message, "subagent", json_pack("{s:s, s:i}", "id", "a7", "depth", 2));
    assert_true(call_request_from_json(&call, message, &err));
    policy_judge(ret, p, &call, &place);
}

static char letter(enum verdict v)
{
    return v == VERDICT_ALLOW ? '+' : v == VERDICT_ASK ? '?' : '-';
}

#define CMD(text) "{\"command\":\"" text "\"}"
#define FILE_(path) "{\"file_path\":\"" path "\"}"

/* Without rules: the verdict at confirm, edits and auto (+ allow, ? ask, - deny), and the reason
 * for the verdict at auto. */
static const struct {
    const char *agent, *tool, *args, *verdicts, *why;
} plain[] = {
    /* The daily work raises no card at auto. */
    {"claude", "Bash", CMD("make test"), "??+", "ladder"},
    {"claude", "Bash", CMD("git commit -m 'drop sudo, push later'"), "??+", "ladder"},
    {"claude", "Bash", CMD("git commit -m \\\"$(cat <<'EOF'\\nAdd push\\nEOF\\n)\\\""), "??+",
     "ladder"},
    {"claude", "Bash", CMD("git log | grep push > out; npm run publish-docs"), "??+", "ladder"},
    {"claude", "Bash", CMD("cd sub && npm test && curl localhost"), "??+", "ladder"},
    {"claude", "Bash", CMD("grep -rn sudo ."), "??+", "ladder"},
    {"claude", "Edit", FILE_("/home/u/w/a.c"), "?++", "ladder"},
    {"claude", "Write", FILE_("new/b.c"), "?++", "ladder"},
    {"claude", "Write", FILE_("../b.c"), "?++", "ladder"},
    {"claude", "Read", FILE_("/home/u/w/a.c"), "+++", "ladder"},
    {"claude", "Read", FILE_("/tmp/x"), "+++", "ladder"},
    {"claude", "Glob", "{\"pattern\":\"**/*.c\"}", "+++", "ladder"},
    {"claude", "Read", FILE_("/usr/include/stdio.h"), "??+", "ladder"},
    {"claude", "Read", FILE_("/home/u/w/.git/config"), "+++", "ladder"},
    {"claude", "TodoWrite", "{\"todos\":[]}", "+++", "ladder"},
    {"claude", "Agent", "{\"prompt\":\"git push\"}", "?++", "ladder"},
    {"claude", "mcp__db__query", "{\"sql\":\"x\"}", "??+", "ladder"},
    {"claude", "Write", FILE_("/tmp/x"), "??+", "ladder"},
    {"claude", "Write", FILE_("~/.claude/plans/x.md"), "??+", "ladder"},
    {"claude", "Edit", FILE_(".github/dependabot.yml"), "?++", "ladder"},
    {"claude", "Edit", FILE_(".gitignore"), "?++", "ladder"},
    {"codex", "Bash", CMD("make"), "??+", "ladder"},
    {"codex", "apply_patch", CMD("*** Update File: a.c\\n@@\\n"), "?++", "ladder"},
    {"gemini", "replace", FILE_("a.c"), "?++", "ladder"},
    {"qwen", "run_shell_command", CMD("make"), "??+", "ladder"},
    {"opencode", "edit", "{\"filePath\":\"a.c\"}", "?++", "ladder"},
    {"command", "shell", CMD("make"), "??+", "ladder"},
    {"command", "fetch", "{\"url\":\"http://localhost:3000/\"}", "??+", "ladder"},
    /* Publishing, wherever it could be. */
    {"claude", "Bash", CMD("git push"), "???", "floor"},
    {"claude", "Bash", CMD("git status && git -C x push origin HEAD"), "???", "floor"},
    {"claude", "Bash", CMD("/usr/bin/git push"), "???", "floor"},
    {"claude", "Bash", CMD("bash -c 'git push'"), "???", "floor"},
    {"claude", "Bash", CMD("x=1 git push 2>&1 | tail"), "???", "floor"},
    {"claude", "Bash", CMD("(cd x; git push)"), "???", "floor"},
    {"claude", "Bash", CMD("npm publish --access public"), "???", "floor"},
    {"claude", "Bash", CMD("cargo publish"), "???", "floor"},
    {"claude", "Bash", CMD("gh pr create --fill"), "???", "floor"},
    {"claude", "Bash", CMD("gh pr merge 3"), "???", "floor"},
    {"claude", "Bash", CMD("docker push x/y"), "???", "floor"},
    {"claude", "Bash", CMD("twine upload dist/a"), "???", "floor"},
    {"claude", "Bash", CMD("sudo make install"), "???", "floor"},
    {"claude", "Bash", CMD("true; x=$(sudo id)"), "???", "floor"},
    {"claude", "mcp__sh__run", CMD("git push"), "???", "floor"},
    {"codex", "shell", "{\"command\":[\"git\",\"push\"]}", "???", "floor"},
    {"codex", "shell", "{\"command\":[\"bash\",\"-lc\",\"git push\"]}", "???", "floor"},
    /* The network. */
    {"claude", "WebFetch", "{\"url\":\"https://example.com/\"}", "???", "floor"},
    {"claude", "WebSearch", "{\"query\":\"x\"}", "???", "floor"},
    {"claude", "mcp__web__get", "{\"url\":\"https://example.com/\"}", "???", "floor"},
    {"gemini", "google_web_search", "{\"query\":\"x\"}", "???", "floor"},
    /* What the host would run, what agents obey, what is not the attempt's. */
    {"claude", "Write", FILE_("/home/u/w/.git/hooks/pre-commit"), "???", "floor"},
    {"claude", "Write", FILE_("/home/u/w/sub/.git/config"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.github/workflows/ci.yml"), "???", "floor"},
    {"claude", "Edit", FILE_("../.claude/settings.local.json"), "???", "floor"},
    {"claude", "Edit", FILE_("x/../../.headgate"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.mcp.json"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.envrc"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.vscode/tasks.json"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.husky/pre-push"), "???", "floor"},
    {"claude", "Edit", FILE_("/home/u/w/.gitlab-ci.yml"), "???", "floor"},
    {"codex", "apply_patch", CMD("*** Add File: .codex/config.toml\\n"), "???", "floor"},
    {"codex", "apply_patch", CMD("no patch"), "???", "floor"},
    {"claude", "Write", FILE_("/etc/passwd"), "???", "floor"},
    {"claude", "Write", FILE_("../../../../etc/passwd"), "???", "floor"},
    {"claude", "Write", FILE_("/home/u/../v/x"), "???", "floor"},
    {"claude", "Write", FILE_("/home/u2/x"), "???", "floor"},
    {"claude", "Write", "{}", "???", "floor"},
    {"claude", "mcp__fs__write", "{\"path\":\"/home/u/w/.git/config\"}", "???", "floor"},
    /* Nobody may switch the gate off. */
    {"claude", "Write", FILE_("~/.claude/settings.json"), "---", "floor"},
    {"claude", "Write", FILE_("/home/u/.codex/hooks.json"), "---", "floor"},
    {"claude", "Write", FILE_("/home/u/.config/opencode/opencode.json"), "---", "floor"},
    {"claude", "Write", FILE_("/run/headgate/gate.sock"), "---", "floor"},
};

static void without_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        for (int rung = LADDER_CONFIRM; rung <= LADDER_AUTO; rung++) {
            struct policy p = make_policy((enum ladder)rung, NULL);
            struct judgement j, sub;
            judge(&j, &p, plain[i].agent, plain[i].tool, plain[i].args, false);
            judge(&sub, &p, plain[i].agent, plain[i].tool, plain[i].args, true);
            if (letter(j.verdict) != plain[i].verdicts[rung])
                fail_msg("%s %s at %s gave %c: %s", plain[i].tool, plain[i].args,
                         ladder_name(p.ladder), letter(j.verdict), j.reason);
            if (rung == LADDER_AUTO)
                assert_string_equal(j.why, plain[i].why);
            /* A subagent is judged as its parent. */
            assert_int_equal(j.verdict, sub.verdict);
            assert_string_equal(j.reason, sub.reason);
            assert_true(j.reason[0] != '\0');
            assert_int_equal(j.rule, 0);
            policy_release(&p);
        }
}

/* With rules: the verdict, who says so, and the number of the rule. */
static const struct {
    enum ladder ladder;
    const char *rules[RULES_MAX];
    const char *tool, *args;
    enum verdict verdict;
    const char *why;
    int64_t rule;
} ruled[] = {
    {LADDER_CONFIRM, {"allow command make"}, "Bash", CMD("make test"), VERDICT_ALLOW, "rule", 1},
    {LADDER_CONFIRM,
     {"allow exactly make test"},
     "Bash",
     CMD("make test"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_CONFIRM,
     {"allow exactly make test"},
     "Bash",
     CMD("make test x"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_CONFIRM,
     {"allow command make"},
     "Bash",
     CMD("make SHELL=./x"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_CONFIRM, {"allow command make"}, "Bash", CMD("./make"), VERDICT_ASK, "ladder", 0},
    {LADDER_CONFIRM, {"allow command make"}, "Bash", CMD("make > x"), VERDICT_ASK, "ladder", 0},
    {LADDER_CONFIRM,
     {"allow command make", "allow command ls"},
     "Bash",
     CMD("ls | make"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_CONFIRM, {"allow command make"}, "Bash", CMD("make && ls"), VERDICT_ASK, "ladder", 0},
    {LADDER_CONFIRM,
     {"allow command make for codex"},
     "Bash",
     CMD("make"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_CONFIRM,
     {"allow command make for claude"},
     "Bash",
     CMD("make"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_CONFIRM, {"allow tool Bash"}, "Bash", CMD("a > b"), VERDICT_ALLOW, "rule", 1},
    {LADDER_CONFIRM, {"allow tool Bash"}, "Edit", FILE_("a"), VERDICT_ASK, "ladder", 0},
    {LADDER_CONFIRM,
     {"allow path src"},
     "Edit",
     FILE_("/home/u/w/src/a"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_CONFIRM,
     {"allow path src"},
     "Edit",
     FILE_("/home/u/w/srcs/a"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_CONFIRM,
     {"allow path src"},
     "Edit",
     FILE_("/home/u/w/src/../b"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_CONFIRM, {"allow path ."}, "Bash", CMD("make"), VERDICT_ASK, "ladder", 0},
    /* Deny beats ask beats allow, and the ladder. */
    {LADDER_AUTO,
     {"allow command rm", "deny command rm"},
     "Bash",
     CMD("rm x"),
     VERDICT_DENY,
     "rule",
     2},
    {LADDER_AUTO,
     {"allow command rm", "ask command rm"},
     "Bash",
     CMD("rm x"),
     VERDICT_ASK,
     "rule",
     2},
    {LADDER_AUTO,
     {"ask command rm", "deny command rm"},
     "Bash",
     CMD("rm x"),
     VERDICT_DENY,
     "rule",
     2},
    {LADDER_AUTO, {"deny command rm"}, "Bash", CMD("ls && /bin/rm -f x"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO, {"deny command rm"}, "Bash", CMD("ls $(rm x)"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO, {"deny command rm"}, "Bash", CMD("xargs rm"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO, {"deny command rm"}, "Bash", CMD("echo rm"), VERDICT_ALLOW, "ladder", 0},
    {LADDER_AUTO, {"deny command git push"}, "Bash", CMD("git -C x push"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO, {"deny exactly rm x"}, "Bash", CMD("rm x y"), VERDICT_ALLOW, "ladder", 0},
    {LADDER_AUTO, {"deny exactly rm x"}, "Bash", CMD("rm x"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO,
     {"deny path secret"},
     "Read",
     FILE_("/home/u/w/secret/a"),
     VERDICT_DENY,
     "rule",
     1},
    {LADDER_AUTO, {"deny path ~/x"}, "Read", FILE_("/home/u/x"), VERDICT_DENY, "rule", 1},
    {LADDER_AUTO, {"ask tool Agent"}, "Agent", "{}", VERDICT_ASK, "rule", 1},
    {LADDER_AUTO,
     {"deny host *.example.com"},
     "WebFetch",
     "{\"url\":\"https://a.example.com/\"}",
     VERDICT_DENY,
     "rule",
     1},
    {LADDER_AUTO, {"deny exec docker"}, "Bash", CMD("docker ps"), VERDICT_ALLOW, "ladder", 0},
    /* What the floor asks yields to a rule that spells it out, and to no other. */
    {LADDER_AUTO,
     {"allow command git push"},
     "Bash",
     CMD("git push origin x"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO,
     {"allow command git push"},
     "Bash",
     CMD("make && git push"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_EDITS,
     {"allow command git push"},
     "Bash",
     CMD("make && git push"),
     VERDICT_ASK,
     "ladder",
     0},
    {LADDER_AUTO,
     {"allow command git push origin"},
     "Bash",
     CMD("git push evil"),
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow command git push origin", "allow tool Bash"},
     "Bash",
     CMD("git push evil"),
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO, {"allow command git"}, "Bash", CMD("git push"), VERDICT_ASK, "floor", 0},
    {LADDER_AUTO, {"allow tool Bash"}, "Bash", CMD("git push"), VERDICT_ASK, "floor", 0},
    {LADDER_AUTO, {"allow command git push"}, "Bash", CMD("git push $x"), VERDICT_ASK, "floor", 0},
    {LADDER_AUTO,
     {"allow command git push"},
     "Bash",
     CMD("git push && npm publish"),
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow command git push", "allow command npm publish"},
     "Bash",
     CMD("git push && npm publish"),
     VERDICT_ALLOW,
     "rule",
     2},
    {LADDER_AUTO,
     {"allow command git push", "ask command git"},
     "Bash",
     CMD("git push"),
     VERDICT_ASK,
     "rule",
     2},
    {LADDER_AUTO,
     {"allow host example.com:443"},
     "WebFetch",
     "{\"url\":\"https://example.com/\"}",
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO,
     {"allow host *.example.com"},
     "WebFetch",
     "{\"url\":\"https://example.com/\"}",
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow host *.example.com"},
     "WebFetch",
     "{\"url\":\"https://x.example.com.evil/\"}",
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow tool WebSearch"},
     "WebSearch",
     "{\"query\":\"x\"}",
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO,
     {"allow path .github"},
     "Edit",
     FILE_("/home/u/w/.github/workflows/a"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO,
     {"allow path ."},
     "Edit",
     FILE_("/home/u/w/.github/workflows/a"),
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow tool Edit"},
     "Edit",
     FILE_("/home/u/w/.github/workflows/a"),
     VERDICT_ASK,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow path .devcontainer.json"},
     "Edit",
     FILE_("/home/u/w/.devcontainer.json"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO,
     {"allow path /srv/data"},
     "Write",
     FILE_("/srv/data/x"),
     VERDICT_ALLOW,
     "rule",
     1},
    {LADDER_AUTO, {"allow path /srv"}, "Write", FILE_("/etc/x"), VERDICT_ASK, "floor", 0},
    /* What the floor refuses yields to nothing. */
    {LADDER_AUTO,
     {"allow path ~/.claude"},
     "Write",
     FILE_("/home/u/.claude/settings.json"),
     VERDICT_DENY,
     "floor",
     0},
    {LADDER_AUTO,
     {"allow tool Write"},
     "Write",
     FILE_("/run/headgate/x"),
     VERDICT_DENY,
     "floor",
     0},
};

static void with_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ruled); i++) {
        struct policy p = make_policy(ruled[i].ladder, ruled[i].rules);
        struct judgement j;
        judge(&j, &p, "claude", ruled[i].tool, ruled[i].args, false);
        if (j.verdict != ruled[i].verdict || strcmp(j.why, ruled[i].why) != 0 ||
            j.rule != ruled[i].rule)
            fail_msg("row %zu, %s %s: %c %s %d: %s", i, ruled[i].tool, ruled[i].args,
                     letter(j.verdict), j.why, (int)j.rule, j.reason);
        policy_release(&p);
    }
}

/* A reason is a whole sentence of bounded length in valid UTF-8, whatever the agent named. */
static void reasons_are_bounded(void **state)
{
    (void)state;
    struct policy p = make_policy(LADDER_AUTO, NULL);
    AUTO_BUF struct buf args = BUF_INIT;
    buf_adds(&args, "{\"file_path\":\"/etc/x\\u001b[2J");
    for (int i = 0; i < 900; i++)
        buf_adds(&args, "ü");
    buf_adds(&args, "\"}");
    struct judgement j;
    judge(&j, &p, "claude", "Write", args.ptr, false);
    assert_int_equal(j.verdict, VERDICT_ASK);
    assert_null(strchr(j.reason, '\033'));
    assert_non_null(strstr(j.reason, "lies outside"));
    AUTO_JSON json_t *text = json_string(j.reason);
    assert_non_null(text);
    policy_release(&p);
}

static void reads_and_writes_messages(void **state)
{
    (void)state;
    static const char text[] = "{\"t\":\"policy\",\"epoch\":7,\"ladder\":\"edits\",\"rules\":["
                               "{\"id\":3,\"text\":\"allow command git status\"},"
                               "{\"id\":9,\"text\":\"deny path .github/ for claude in run 3\"}]}";
    struct err err = ERR_INIT;
    struct policy p = POLICY_INIT;
    AUTO_JSON json_t *message = NULL;
    assert_true(jx_parse(&message, text, sizeof(text) - 1, &err));
    assert_true(policy_from_json(&p, message, &err));
    assert_int_equal(p.epoch, 7);
    assert_int_equal(p.ladder, LADDER_EDITS);
    assert_int_equal(p.n_rules, 2);
    assert_int_equal(p.rules[1].id, 9);
    AUTO_JSON json_t *printed = policy_to_json(&p);
    AUTO_BUF struct buf out = BUF_INIT;
    jx_dump(&out, printed);
    assert_string_equal(out.ptr, text);
    policy_release(&p);
    /* A policy that is not understood as a whole is no policy. */
    jx_set(message, "rules", json_pack("[{s:i, s:s}]", "id", 1, "text", "allow everything"));
    assert_false(policy_from_json(&p, message, &err));
    jx_set(message, "rules", json_array());
    jx_set_str(message, "ladder", "yolo");
    assert_false(policy_from_json(&p, message, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_rules),
        cmocka_unit_test(with_rules),
        cmocka_unit_test(reasons_are_bounded),
        cmocka_unit_test(reads_and_writes_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
