/* Which commands are carried out for an agent, with which options, and where they lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "gate/broker.h"
#include "gate/broker_url.h"
#include "gate/policy.h"
#include "runner/base/mem.h"

#define OID "0123456789abcdef0123456789abcdef01234567"

static void split(struct strv *ret, const char *text)
{
    strv_split(ret, text, ' ', false);
}

/* What is read of a command, in one line; "refused: WHY". */
static char *reading(const char *text)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_BROKER_ACT struct broker_act act = BROKER_ACT_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    struct err err = ERR_INIT;
    split(&argv, text);
    if (!broker_read(&act, argv.v, argv.n, &err))
        return xasprintf("refused: %s", err.text);
    buf_addf(&out, "%s %s", act.program, act.words);
    for (size_t i = 0; i < act.options.n; i++)
        buf_addf(&out, " %s", act.options.v[i]);
    if (act.remote)
        buf_addf(&out, " remote=%s", act.remote);
    if (act.src)
        buf_addf(&out, " %s>%s", act.src, act.dst ? act.dst : "");
    if (act.kind != BROKER_PUSH)
        for (size_t i = 0; i < act.operands.n; i++)
            buf_addf(&out, " %s", act.operands.v[i]);
    if (act.repo)
        buf_addf(&out, " repo=%s", act.repo);
    if (act.sets_upstream)
        buf_adds(&out, " upstream");
    return buf_steal(&out);
}

static void options_and_refs_are_read(void **state)
{
    static const char *const rows[][2] = {
        {"git push", "git push HEAD>"},
        {"git push -u origin HEAD", "git push remote=origin HEAD> upstream"},
        {"git push -qu origin fix", "git push -q remote=origin fix>refs/heads/fix upstream"},
        {"git push origin HEAD:fix/a", "git push remote=origin HEAD>refs/heads/fix/a"},
        {"git push origin @:refs/heads/x", "git push remote=origin HEAD>refs/heads/x"},
        {"git -C sub push --dry-run up refs/heads/a:b",
         "git push --dry-run remote=up a>refs/heads/b"},
        {"git push -o ci.skip --push-option x=y", "git push -o ci.skip --push-option=x=y HEAD>"},
        {"git push --force-with-lease=fix:" OID " origin fix",
         "git push --force-with-lease=fix:" OID " remote=origin fix>refs/heads/fix"},
        {"git fetch", "git fetch"},
        {"git fetch --depth 3 -p origin main pull/7/head",
         "git fetch --depth=3 -p remote=origin main pull/7/head"},
        {"git pull --rebase origin main", "git pull --rebase remote=origin main"},
        {"git --no-pager ls-remote --heads origin", "git ls-remote --heads remote=origin"},
        {"gh issue list -L 30 --state=open", "gh issue list -L 30 --state=open"},
        {"gh pr view 12 --json title -R a/b", "gh pr view --json=title 12 repo=a/b"},
        {"gh pr list --json title --jq .[].title", "gh pr list --json=title --jq=.[].title"},
        {"gh pr comment 12 -b --web", "gh pr comment -b --web 12"},
        {"glab mr note 3 -m fine", "glab mr note -m fine 3"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *got = reading(rows[i][0]);
        assert_string_equal(got, rows[i][1]);
    }
}

static void what_is_not_listed_is_refused(void **state)
{
    static const char *const rows[][2] = {
        {"git -c core.sshCommand=x push", "-c is not carried out"},
        {"git --exec-path=/w push", "--exec-path"},
        {"git --git-dir /w push", "--git-dir"},
        {"git -C a -C b push", "-C"},
        {"git push --receive-pack=/w/x origin", "--receive-pack"},
        {"git push --exec=/w/x origin", "--exec"},
        {"git push --repo=x", "--repo"},
        {"git push -f", "--force-with-lease=BRANCH:COMMIT"},
        {"git push --forc", "--forc"},
        {"git push --force-with-lease", "--force-with-lease=BRANCH:COMMIT"},
        {"git push --force-with-lease=fix", "--force-with-lease=BRANCH:COMMIT"},
        {"git push --force-with-lease=fix:HEAD", "--force-with-lease=BRANCH:COMMIT"},
        {"git push origin +fix", "--force-with-lease=BRANCH:COMMIT"},
        {"git push origin :fix", "deleted by a person"},
        {"git push -d origin fix", "deleted by a person"},
        {"git push --mirror origin", "deleted by a person"},
        {"git push --tags", "one branch"},
        {"git push origin a b", "one branch"},
        {"git push origin HEAD:refs/tags/v1", "goes to a branch"},
        {"git push origin HEAD:refs/heads/../x", "goes to a branch"},
        {"git push origin refs/tags/v1", "tags"},
        {"git push origin HEAD~1:fix", "HEAD or a branch"},
        {"git push origin HEAD:a b", "one branch"},
        {"git push ext::sh", "by its name"},
        {"git push https://h/x HEAD", "by its name"},
        {"git fetch --upload-pack=/w/x origin", "--upload-pack"},
        {"git fetch --all", "--all"},
        {"git fetch -o x origin", "-o"},
        {"git ls-remote --upload-pack x", "--upload-pack"},
        {"git ls-remote --get-url", "--get-url"},
        {"gh issue create --web", "browser"},
        {"gh pr create --body-file x", "--body"},
        {"gh pr create -F x", "--body"},
        {"gh pr view https://github.com/a/b/pull/1", "number"},
        {"gh pr checkout 3", "git fetch origin pull"},
        {"gh api user", "gh api"},
        {"gh issue list --json title --jq env.GH_TOKEN", "could print the login"},
        {"gh issue list --json title --jq=$ENV", "could print the login"},
        {"gh issue list --json title -q env", "could print the login"},
        {"gh pr view 3 --json title -q.x,$ENV.GH_TOKEN", "could print the login"},
        {"gh repo delete a/b", "gh repo delete"},
        {"gh auth token", "never are in a box"},
        {"gh issue list --hostname evil.test", "own remote"},
        {"glab ci trace", "glab ci trace"},
        {"npm publish", "does not carry that out; tell the person"},
        {"cargo publish", "done outside of the box"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *got = reading(rows[i][0]);
        if (strncmp(got, "refused: ", 9) != 0 || !strstr(got, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], got);
    }
}

static bool is_for(const char *text)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    split(&argv, text);
    return broker_is_for(argv.v, argv.n);
}

static void other_commands_go_to_the_real_program(void **state)
{
    (void)state;
    assert_false(is_for("git status"));
    assert_false(is_for("git commit -m push"));
    assert_false(is_for("git"));
    assert_false(is_for("git fetch /tmp/other.git"));
    assert_false(is_for("git fetch ../other"));
    assert_false(is_for("git fetch --depth 1 https://h/x main"));
    assert_false(is_for("git push git@h:x HEAD"));
    assert_false(is_for("git push --help"));
    assert_false(is_for("git stash push"));
    assert_false(is_for("/usr/bin/git push"));
    assert_false(is_for("gh --version"));
    assert_true(is_for("git push"));
    assert_true(is_for("git -c x=y push"));
    assert_true(is_for("git --git-dir x -C y fetch"));
    assert_true(is_for("git fetch --depth 1 origin"));
    assert_true(is_for("gh api user"));
    assert_true(is_for("glab mr list"));
}

static char *address(const char *text)
{
    AUTO_BROKER_URL struct broker_url url = BROKER_URL_INIT;
    struct err err = ERR_INIT;
    return broker_url_parse(&url, text, &err) ? broker_url_text(&url) : NULL;
}

static void addresses_lose_their_secrets(void **state)
{
    static const char *const rows[][2] = {
        {"https://u:p@GitHub.com/a/b.git", "https://github.com/a/b.git"},
        {"https://token@h:8443/a", "https://h:8443/a"},
        {"ssh://git@h:2222/a/b", "ssh://git@h:2222/a/b"},
        {"ssh://git:pw@h/a", "ssh://git@h/a"},
        {"git@h:a/b.git", "git@h:a/b.git"},
        {"git@h:/srv/a", "ssh://git@h/srv/a"},
        {"h:a", "h:a"},
        {"ssh://[::1]:22/a", "ssh://[::1]/a"},
    };
    static const char *const bad[] = {"/srv/a.git",    "../a",         "ext::sh -c x",
                                      "file:///a",     "-oProxy=x:a",  "git@-x:a",
                                      "ssh://-x/a",    "https://h",    "ssh://h/a?b",
                                      "https://h/a b", "ssh://h:0/a",  "ssh://a@-b@c d/a",
                                      "git@h:-a",      "ssh://h/$(x)", "foo::https://h/a"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *got = address(rows[i][0]);
        assert_non_null(got);
        assert_string_equal(got, rows[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_FREE char *got = address(bad[i]);
        if (got)
            fail_msg("%s was read as %s", bad[i], got);
    }
}

/* A request as the box sends it, made whole. */
static bool complete(struct call_request *r, const char *argv_text, struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    split(&argv, argv_text);
    AUTO_JSON json_t *message = json_pack(
        "{s:i s:s s:s s:s s:{s:o s:s s:s s:s s:s}}", "v", 1, "source", "broker", "agent", "claude",
        "tool", "told by the box", "args", "argv", jx_from_strv(&argv), "commit", OID, "branch",
        "work", "url", "https://evil.test/", "ref", "refs/heads/evil");
    AUTO_JSON json_t *remotes = json_pack(
        "[{s:s s:s s:s} {s:s s:s s:s}]", "name", "origin", "url", "https://github.com/me/app.git",
        "push", "git@github.com:me/app.git", "name", "disk", "url", "/srv/a", "push", "/srv/a");
    return call_request_from_json(r, message, err) && broker_complete(r, remotes, err);
}

static char *completed(const char *argv)
{
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    if (!complete(&r, argv, &err))
        return xasprintf("refused: %s", err.text);
    return xasprintf("%s|%s|%s|%s|%s", r.tool, jx_str(r.args, "url", "-"),
                     jx_str(r.args, "ref", "-"), jx_str(r.args, "commit", "-"),
                     jx_str(r.args, "repo", "-"));
}

static void where_it_leads_is_not_the_boxs_to_say(void **state)
{
    static const char *const rows[][2] = {
        {"git push", "git push|git@github.com:me/app.git|refs/heads/work|" OID "|-"},
        {"git push origin HEAD:fix", "git push|git@github.com:me/app.git|refs/heads/fix|" OID "|-"},
        {"git fetch", "git fetch|https://github.com/me/app.git|-|-|-"},
        {"git fetch disk", "refused: the remote's address is a path"},
        {"git fetch fork", "refused: the person's repository has no remote 'fork', only: origin"},
        {"gh issue list", "gh issue list|https://github.com/me/app.git|-|-|me/app"},
        {"gh issue list -R me/app", "gh issue list|https://github.com/me/app.git|-|-|me/app"},
        {"gh issue list -R other/app",
         "refused: no remote of the person's repository is 'other/app'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FREE char *got = completed(rows[i][0]);
        if (strncmp(got, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s: %s", rows[i][0], got);
    }
}

static enum verdict judge_call(const char *rules, const char *ladder, const struct call_request *r,
                               bool has_broker)
{
    struct err err = ERR_INIT;
    struct policy p = POLICY_INIT;
    struct judgement j = {0};
    AUTO_STRV struct strv lines = STRV_INIT;
    AUTO_JSON json_t *list = json_array();
    strv_split(&lines, rules, ';', false);
    for (size_t i = 0; i < lines.n; i++)
        json_array_append_new(list, json_pack("{s:i s:s}", "id", (int)i + 1, "text", lines.v[i]));
    AUTO_JSON json_t *message =
        json_pack("{s:i s:s s:O}", "epoch", 1, "ladder", ladder, "rules", list);
    assert_true(policy_from_json(&p, message, &err));
    const struct policy_place place = {
        .worktree = "/w", .home = "/home/a", .has_broker = has_broker};
    policy_judge(&j, &p, r, &place);
    policy_release(&p);
    return j.verdict;
}

static enum verdict judge(const char *rules, const char *argv)
{
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    assert_true(complete(&r, argv, &err));
    return judge_call(rules, "auto", &r, true);
}

static void a_person_decides_what_changes_something(void **state)
{
    (void)state;
    assert_int_equal(judge("", "git push"), VERDICT_ASK);
    assert_int_equal(judge("allow command git push", "git push"), VERDICT_ASK);
    assert_int_equal(judge("allow exactly git push", "git push"), VERDICT_ASK);
    assert_int_equal(judge("allow command gh", "gh issue create -t x -b y"), VERDICT_ASK);
    assert_int_equal(judge("deny command git push", "git push"), VERDICT_DENY);
    assert_int_equal(judge("", "git fetch"), VERDICT_ASK);
    assert_int_equal(judge("allow command git fetch", "git fetch origin main"), VERDICT_ALLOW);
    assert_int_equal(judge("allow exactly git fetch", "git fetch origin main"), VERDICT_ASK);
    assert_int_equal(judge("allow command git fetch;ask command git fetch", "git fetch"),
                     VERDICT_ASK);
    assert_int_equal(judge("allow command gh issue list", "gh issue list"), VERDICT_ALLOW);
}

static void what_the_shim_asks_is_asked(void **state)
{
    (void)state;
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message =
        json_pack("{s:i s:s s:s s:s s:{s:[s s s]}}", "v", 1, "source", "shim", "agent", "claude",
                  "tool", "shell", "args", "command", "git", "push", "fork");
    assert_true(call_request_from_json(&r, message, &err));
    assert_int_equal(judge_call("", "auto", &r, true), VERDICT_ASK);
    assert_int_equal(judge_call("allow command git push", "auto", &r, true), VERDICT_ALLOW);
}

static enum verdict judge_shell(const char *rules, const char *ladder, const char *text,
                                bool has_broker)
{
    AUTO_CALL_REQUEST struct call_request r = CALL_REQUEST_INIT;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message =
        json_pack("{s:i s:s s:s s:s s:{s:s}}", "v", 1, "source", "hook", "agent", "claude", "tool",
                  "Bash", "args", "command", text);
    assert_true(call_request_from_json(&r, message, &err));
    return judge_call(rules, ladder, &r, has_broker);
}

static void one_act_is_asked_about_once(void **state)
{
    (void)state;
    assert_int_equal(judge_shell("", "auto", "git push", false), VERDICT_ASK);
    assert_int_equal(judge_shell("", "auto", "git push", true), VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "confirm", "git push -u origin HEAD", true), VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "auto", "git push 2>&1 | tail -3", true), VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "auto", "git push https://t@h/x 2>&1", true), VERDICT_ASK);
    assert_int_equal(judge_shell("", "auto", "git push https://h/x HEAD", true), VERDICT_ASK);
    assert_int_equal(judge_shell("", "auto", "/usr/bin/git push", true), VERDICT_ASK);
    assert_int_equal(judge_shell("", "edits", "make && git push", true), VERDICT_ASK);
    assert_int_equal(judge_shell("allow command make", "edits", "make && git push", true),
                     VERDICT_ALLOW);
    assert_int_equal(judge_shell("deny command git push", "auto", "git push", true), VERDICT_DENY);
    assert_int_equal(
        judge_shell("ask tool Bash;allow command git fetch", "auto", "git fetch", true),
        VERDICT_ASK);
    assert_int_equal(judge_shell("ask command git fetch", "auto", "git fetch", true),
                     VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "auto", "npm publish", true), VERDICT_DENY);
    assert_int_equal(judge_shell("allow command npm publish", "auto", "npm publish", true),
                     VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "auto", "npm publish", false), VERDICT_ASK);
}

/* Started by others, what the floor holds is held all the same. */
static void the_floor_sees_through_wrappers(void **state)
{
    static const char *const commands[] = {"repeat 1 git push",
                                           "noglob git push",
                                           "/usr/bin/time git push",
                                           "chronic npm publish",
                                           "tini -- cargo publish",
                                           "env git push",
                                           "find . -maxdepth 0 -exec git push ';'",
                                           "npx sudo id"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (judge_shell("", "auto", commands[i], false) != VERDICT_ASK)
            fail_msg("%s passes", commands[i]);
    assert_int_equal(judge_shell("", "auto", "env ls", false), VERDICT_ALLOW);
    assert_int_equal(judge_shell("", "auto", "find . -name sudo", false), VERDICT_ALLOW);
    assert_int_equal(judge_shell("deny command rm", "auto", "find . -name x -exec rm x ';'", false),
                     VERDICT_DENY);
    assert_int_equal(judge_shell("deny command rm", "auto", "find . -name rm", false),
                     VERDICT_ALLOW);
    assert_int_equal(judge_shell("deny tool bash", "auto", "ls", false), VERDICT_DENY);
    assert_int_equal(judge_shell("allow tool bash", "edits", "ls", false), VERDICT_ASK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_refs_are_read),
        cmocka_unit_test(what_is_not_listed_is_refused),
        cmocka_unit_test(other_commands_go_to_the_real_program),
        cmocka_unit_test(addresses_lose_their_secrets),
        cmocka_unit_test(where_it_leads_is_not_the_boxs_to_say),
        cmocka_unit_test(a_person_decides_what_changes_something),
        cmocka_unit_test(what_the_shim_asks_is_asked),
        cmocka_unit_test(one_act_is_asked_about_once),
        cmocka_unit_test(the_floor_sees_through_wrappers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
