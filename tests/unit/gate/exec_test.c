/* What the gate says of an exec: precedence of rules, floor and policy; names and paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "gate/exec.h"
#include "runner/base/mem.h"

/* programs: names, and sure: those of them that are. */
static enum verdict judge_sure(const char *rules, enum exec_policy policy, const char *programs,
                               const char *sure_programs, enum exec_standing standing)
{
    struct err err = ERR_INIT;
    struct policy p = POLICY_INIT;
    struct judgement j;
    AUTO_STRV struct strv lines = STRV_INIT;
    AUTO_STRV struct strv names = STRV_INIT, sure = STRV_INIT;
    AUTO_JSON json_t *list = json_array();
    strv_split(&lines, rules, ';', false);
    strv_split(&names, programs, ' ', false);
    strv_split(&sure, sure_programs, ' ', false);
    for (size_t i = 0; i < lines.n; i++)
        json_array_append_new(list, json_pack("{s:i s:s}", "id", (int)i + 1, "text", lines.v[i]));
    AUTO_JSON json_t *message =
        json_pack("{s:i s:s s:O}", "epoch", 1, "ladder", "auto", "rules", list);
    assert_true(policy_from_json(&p, message, &err));
    exec_judge(&j, &p, policy, "claude", &names, &sure, standing);
    policy_release(&p);
    assert_true(strlen(j.reason) > 0);
    return j.verdict;
}

static enum verdict judge(const char *rules, enum exec_policy policy, const char *programs,
                          enum exec_standing standing)
{
    return judge_sure(rules, policy, programs, programs, standing);
}

static void watch_passes_what_nothing_refuses(void **state)
{
    (void)state;
    assert_int_equal(judge("", EXEC_WATCH, "/usr/bin/make", EXEC_OWN), VERDICT_ALLOW);
    assert_int_equal(judge("deny exec docker", EXEC_WATCH, "/usr/bin/docker", EXEC_BELOW),
                     VERDICT_DENY);
    assert_int_equal(judge("deny exec docker", EXEC_WATCH, "/usr/bin/dockerd", EXEC_BELOW),
                     VERDICT_ALLOW);
    assert_int_equal(judge("deny exec docker", EXEC_WATCH, "/w/script /usr/bin/docker", EXEC_BELOW),
                     VERDICT_DENY);
    assert_int_equal(judge("ask exec docker", EXEC_WATCH, "/usr/bin/docker", EXEC_BELOW),
                     VERDICT_ASK);
}

static void a_path_is_whole_and_a_name_is_the_last_part(void **state)
{
    (void)state;
    const char *rule = "deny exec /usr/bin/docker";
    assert_int_equal(judge(rule, EXEC_WATCH, "/usr/bin/docker", EXEC_OWN), VERDICT_DENY);
    assert_int_equal(judge(rule, EXEC_WATCH, "/w/usr/bin/docker", EXEC_OWN), VERDICT_ALLOW);
    assert_int_equal(judge("deny exec memfd:x", EXEC_WATCH, "/memfd:x", EXEC_OWN), VERDICT_DENY);
}

static void deny_beats_ask_beats_allow(void **state)
{
    (void)state;
    const char *rules = "allow exec a;ask exec b;deny exec c";
    assert_int_equal(judge(rules, EXEC_ASK, "/a /b /c", EXEC_OWN), VERDICT_DENY);
    assert_int_equal(judge(rules, EXEC_ASK, "/a /b", EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge(rules, EXEC_ASK, "/a", EXEC_OWN), VERDICT_ALLOW);
}

static void a_lent_name_refuses_and_does_not_allow(void **state)
{
    (void)state;
    const char *names = "/usr/bin/python3 /tmp/git", *sure = "/usr/bin/python3";
    assert_int_equal(judge_sure("allow exec git", EXEC_ASK, names, sure, EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge_sure("allow exec python3", EXEC_ASK, names, sure, EXEC_OWN),
                     VERDICT_ALLOW);
    assert_int_equal(judge_sure("deny exec git", EXEC_ASK, names, sure, EXEC_OWN), VERDICT_DENY);
    assert_int_equal(judge_sure("ask exec git", EXEC_WATCH, names, sure, EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge_sure("allow exec sudo", EXEC_WATCH, "/w/sudo", "", EXEC_OWN),
                     VERDICT_DENY);
}

static void ask_is_about_the_agents_own(void **state)
{
    (void)state;
    assert_int_equal(judge("", EXEC_ASK, "/bin/ls", EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge("", EXEC_ASK, "/bin/ls", EXEC_BELOW), VERDICT_ALLOW);
    assert_int_equal(judge("allow exec ls for codex", EXEC_ASK, "/bin/ls", EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge("allow exec ls for claude", EXEC_ASK, "/bin/ls", EXEC_OWN),
                     VERDICT_ALLOW);
}

static void match_asks_where_no_call_stands_behind(void **state)
{
    (void)state;
    assert_int_equal(judge("", EXEC_MATCH, "/bin/ls", EXEC_OWN), VERDICT_ASK);
    assert_int_equal(judge("", EXEC_MATCH, "/bin/ls", EXEC_CALLED), VERDICT_ALLOW);
    assert_int_equal(judge("", EXEC_MATCH, "/bin/ls", EXEC_HELPER), VERDICT_ALLOW);
    assert_int_equal(judge("", EXEC_MATCH, "/bin/ls", EXEC_BELOW), VERDICT_ALLOW);
    assert_int_equal(judge("allow exec ls", EXEC_MATCH, "/bin/ls", EXEC_OWN), VERDICT_ALLOW);
    for (enum exec_standing i = EXEC_BELOW; i <= EXEC_CALLED; i++) {
        assert_int_equal(judge("ask exec docker", EXEC_MATCH, "/bin/docker", i), VERDICT_ASK);
        assert_int_equal(judge("deny exec docker", EXEC_MATCH, "/bin/docker", i), VERDICT_DENY);
        assert_int_equal(judge("", EXEC_MATCH, "/bin/su", i), VERDICT_DENY);
    }
}

static void the_floor_yields_to_an_allowing_rule_only(void **state)
{
    (void)state;
    assert_int_equal(judge("", EXEC_WATCH, "/usr/bin/sudo", EXEC_BELOW), VERDICT_DENY);
    assert_int_equal(judge("ask exec sudo", EXEC_WATCH, "/usr/bin/sudo", EXEC_BELOW), VERDICT_DENY);
    assert_int_equal(judge("allow exec sudo", EXEC_WATCH, "/usr/bin/sudo", EXEC_BELOW),
                     VERDICT_ALLOW);
    assert_int_equal(judge("", EXEC_WATCH, "/usr/bin/sum", EXEC_BELOW), VERDICT_ALLOW);
}

static void names_of_policies_round_trip(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    enum exec_policy p;
    for (enum exec_policy i = EXEC_OFF; i <= EXEC_ASK; i++) {
        assert_true(exec_policy_parse(&p, exec_policy_name(i), &err));
        assert_int_equal(p, i);
    }
    assert_false(exec_policy_parse(&p, "guess", &err));
    assert_int_equal(err.code, ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_passes_what_nothing_refuses),
        cmocka_unit_test(a_path_is_whole_and_a_name_is_the_last_part),
        cmocka_unit_test(deny_beats_ask_beats_allow),
        cmocka_unit_test(a_lent_name_refuses_and_does_not_allow),
        cmocka_unit_test(ask_is_about_the_agents_own),
        cmocka_unit_test(match_asks_where_no_call_stands_behind),
        cmocka_unit_test(the_floor_yields_to_an_allowing_rule_only),
        cmocka_unit_test(names_of_policies_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
