/* Calls and rules in the ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "tests/unit/gate/store.h"

enum { NOW_MS = 2000 };

static struct err err; /* filled by whatever failed last */

static enum ledger_outcome decide(struct ledger_call *ret, struct db *db, int64_t id, bool allow,
                                  const char *by, bool grant)
{
    enum ledger_outcome outcome;
    ledger_call_release(ret);
    if (!ledger_decide(&outcome, ret, db, id, NULL, allow, allow ? "" : "use make", by, "person",
                       grant, NOW_MS, &err))
        fail_msg("%s", err.text);
    return outcome;
}

static enum call_state settle(struct db *db, const char *attempt, int64_t local,
                              enum call_event event)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    if (!ledger_settle(&call, db, attempt, local, event, NOW_MS + 1, &err))
        fail_msg("%s", err.text);
    return call.state;
}

static int64_t log_rows(struct db *db, const char *kind)
{
    AUTO_JSON json_t *rows = NULL;
    assert_true(ledger_log_list(&rows, db, 0, 100000, &err));
    int64_t n = 0;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) n += strcmp(jx_str(row, "kind", ""), kind) == 0;
    return n;
}

static const struct ledger_origin origin = {.by = "ada", .at_ms = NOW_MS, .from_call = 7};

static void asks_once(void **state)
{
    struct store *s = *state;
    AUTO_CALL_REQUEST struct call_request r;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    char digest[DIGEST_HEX_SIZE];
    store_request(&r, "make");
    assert_true(ledger_ask(&call, s->db, "3.2", 1, &r, &store_question, &err));
    assert_int_equal(call.state, CALL_PENDING);
    assert_int_equal(call.id, 1);
    assert_int_equal(call.local, 1);
    assert_string_equal(call.attempt, "3.2");
    assert_string_equal(call.request.tool, "Bash");
    assert_int_equal(call.asked_ms, 1000);
    assert_int_equal(call.deadline_ms, 61000);
    assert_int_equal(call.decided_ms, 0);
    assert_string_equal(call.ask_why, "floor");
    AUTO_JSON json_t *shown = ledger_call_json(&call);
    assert_string_equal(jx_str(shown, "why", ""), "floor");
    assert_string_equal(jx_str(shown, "reason", ""), "make is asked here");
    assert_string_equal(jx_str(shown, "ask_reason", ""), "make is asked here");
    call_digest(digest, "3.2", 1, &r);
    assert_string_equal(call.digest, digest);
    /* The same record again is the same call; the same number for another call is refused. */
    assert_int_equal(store_ask(s->db, "3.2", 1, "make"), 1);
    assert_int_equal(log_rows(s->db, "call.asked"), 1);
    AUTO_CALL_REQUEST struct call_request other;
    store_request(&other, "make test");
    struct ledger_call none;
    assert_false(ledger_ask(&none, s->db, "3.2", 1, &other, &store_question, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_false(db_in_transaction(s->db));
}

/* A denial is the answer to the same again, until a grant or another word of the person's. */
static void repeats_a_denial(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT, again = LEDGER_CALL_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    assert_int_equal(decide(&call, s->db, id, false, "ada", false), LEDGER_WON);
    int64_t second = store_ask(s->db, "3.2", 2, "make");
    assert_true(ledger_get(&again, s->db, second, &err));
    assert_int_equal(again.state, CALL_DENIED);
    assert_string_equal(again.why, "repeat");
    assert_string_equal(again.decided_by, "ada");
    assert_string_equal(again.reason, "The same was denied before, as c1: use make");
    ledger_call_release(&again);
    int64_t elsewhere = store_ask(s->db, "3.3", 1, "make");
    assert_true(ledger_get(&again, s->db, elsewhere, &err));
    assert_int_equal(again.state, CALL_PENDING);
    AUTO_STRV struct strv same = STRV_INIT;
    assert_true(ledger_equal(&same, s->db, again.action, &err));
    assert_int_equal(same.n, 1);
    assert_string_equal(same.v[0], "c3");
    ledger_call_release(&again);
    ledger_call_release(&call);
    assert_int_equal(decide(&call, s->db, id, true, "bob", true), LEDGER_GRANTED);
    int64_t granted = store_ask(s->db, "3.2", 3, "make");
    assert_true(ledger_get(&again, s->db, granted, &err));
    assert_int_equal(again.state, CALL_APPROVED);
}

static void decides_once(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    assert_int_equal(decide(&call, s->db, id, false, "ada", false), LEDGER_WON);
    assert_int_equal(call.state, CALL_DENIED);
    assert_string_equal(call.reason, "use make");
    assert_int_equal(decide(&call, s->db, id, true, "bob", false), LEDGER_LOST);
    assert_int_equal(call.state, CALL_DENIED);
    assert_string_equal(call.decided_by, "ada");
    assert_int_equal(call.decided_ms, NOW_MS);
    assert_false(call.allowed);
    assert_int_equal(log_rows(s->db, "call.denied"), 1);
    assert_int_equal(log_rows(s->db, "call.approved"), 0);
    assert_int_equal(log_rows(s->db, "call.granted"), 0);
}

static void compares_what_was_shown(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    enum ledger_outcome outcome;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    char digest[DIGEST_HEX_SIZE];
    AUTO_LEDGER_CALL struct ledger_call shown = LEDGER_CALL_INIT;
    assert_true(ledger_get(&shown, s->db, id, &err));
    memcpy(digest, shown.digest, sizeof(digest));
    digest[0] = digest[0] == '0' ? '1' : '0';
    assert_false(ledger_decide(&outcome, &call, s->db, id, digest, true, "", "ada", "person", false,
                               NOW_MS, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_true(ledger_decide(&outcome, &call, s->db, id, shown.digest, true, "", "ada", "person",
                              false, NOW_MS, &err));
    assert_int_equal(outcome, LEDGER_WON);
    assert_int_equal(call.state, CALL_APPROVED);
    struct ledger_call none;
    assert_false(ledger_decide(&outcome, &none, s->db, 99, NULL, true, "", "ada", "person", false,
                               NOW_MS, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void consumes_once(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    decide(&call, s->db, id, true, "ada", false);
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_CONSUME), CALL_CONSUMED);
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_CONSUME), CALL_CONSUMED);
    assert_int_equal(log_rows(s->db, "call.consumed"), 1);
    /* Impossible afterwards: told, logged, ignored. */
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_EXPIRE), CALL_CONSUMED);
    assert_int_equal(log_rows(s->db, "call.ignored"), 1);
    struct ledger_call none;
    assert_false(ledger_settle(&none, s->db, "3.2", 9, CALL_EV_CONSUME, NOW_MS, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* Approving what has expired lets the same action of the same attempt pass once. */
static void grants_after_expiry(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_EXPIRE), CALL_EXPIRED);
    assert_int_equal(decide(&call, s->db, id, false, "ada", true), LEDGER_LOST);
    assert_int_equal(decide(&call, s->db, id, true, "ada", false), LEDGER_GRANTED);
    assert_int_equal(call.state, CALL_EXPIRED);
    assert_int_equal(decide(&call, s->db, id, true, "bob", false), LEDGER_GRANTED);
    assert_int_equal(log_rows(s->db, "call.granted"), 1);
    /* Another attempt, another action: not meant. */
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.1", 1, "make"), &err));
    assert_int_equal(call.state, CALL_PENDING);
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.2", 2, "make all"), &err));
    assert_int_equal(call.state, CALL_PENDING);
    /* The retry passes, told who said so; the next one asks again. */
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.2", 3, "make"), &err));
    assert_int_equal(call.state, CALL_APPROVED);
    assert_string_equal(call.decided_by, "ada");
    assert_string_equal(call.why, "person");
    assert_true(call.allowed);
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.2", 4, "make"), &err));
    assert_int_equal(call.state, CALL_PENDING);
    /* A delivery of the retry's record again finds the approved call and uses nothing up. */
    assert_int_equal(settle(s->db, "3.2", 3, CALL_EV_CONSUME), CALL_CONSUMED);
    assert_int_equal(store_ask(s->db, "3.2", 3, "make"), 4);
}

/* The person's approval and the keeper's expiry cross: nothing was delivered, so a retry must pass.
 */
static void an_approval_too_late_is_a_grant(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    assert_int_equal(decide(&call, s->db, id, true, "ada", false), LEDGER_WON);
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_EXPIRE), CALL_EXPIRED);
    assert_int_equal(log_rows(s->db, "call.granted"), 1);
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.2", 2, "make"), &err));
    assert_int_equal(call.state, CALL_APPROVED);
}

static void orphans(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t pending = store_ask(s->db, "3.2", 1, "a");
    int64_t approved = store_ask(s->db, "3.2", 2, "b");
    int64_t denied = store_ask(s->db, "3.2", 3, "c");
    int64_t other = store_ask(s->db, "3.1", 1, "d");
    decide(&call, s->db, approved, true, "ada", false);
    decide(&call, s->db, denied, false, "ada", false);
    assert_true(ledger_orphan_all(s->db, "3.2", NOW_MS, &err));
    static const enum call_state want[] = {CALL_ORPHANED, CALL_ORPHANED, CALL_DENIED, CALL_PENDING};
    const int64_t ids[] = {pending, approved, denied, other};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        ledger_call_release(&call);
        assert_true(ledger_get(&call, s->db, ids[i], &err));
        assert_int_equal(call.state, want[i]);
    }
    assert_int_equal(log_rows(s->db, "call.orphaned"), 2);
    /* Approving an orphan fails loudly unless a grant is asked for. */
    assert_int_equal(decide(&call, s->db, pending, true, "ada", false), LEDGER_LOST);
    assert_int_equal(call.state, CALL_ORPHANED);
    assert_int_equal(decide(&call, s->db, pending, true, "ada", true), LEDGER_GRANTED);
    ledger_call_release(&call);
    assert_true(ledger_get(&call, s->db, store_ask(s->db, "3.2", 9, "a"), &err));
    assert_int_equal(call.state, CALL_APPROVED);
}

static int64_t add_rule(struct db *db, const char *text)
{
    AUTO_RULE struct rule rule = RULE_INIT;
    int64_t id;
    if (!rule_parse(&rule, text, &err) || !ledger_rule_add(&id, db, &rule, &origin, &err))
        fail_msg("%s", err.text);
    return id;
}

static void records_what_the_policy_decided(void **state)
{
    struct store *s = *state;
    AUTO_CALL_REQUEST struct call_request r;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    int64_t id, again, rule = add_rule(s->db, "allow command make");
    store_request(&r, "make");
    for (int i = 0; i < 2; i++) {
        assert_true(ledger_record_decided(&again, s->db, "3.2", 1, &r, NOW_MS, true, "rule", rule,
                                          "w", &err));
        assert_true(i == 0 || again == id);
        id = again;
    }
    assert_true(
        ledger_record_decided(&again, s->db, "3.2", 2, &r, NOW_MS, false, "floor", 0, "no", &err));
    assert_true(ledger_get(&call, s->db, id, &err));
    assert_int_equal(call.state, CALL_CONSUMED);
    assert_true(call.allowed);
    assert_int_equal(call.rule, rule);
    assert_string_equal(call.decided_by, "policy");
    assert_int_equal(settle(s->db, "3.2", 1, CALL_EV_CONSUME), CALL_CONSUMED);
    assert_int_equal(log_rows(s->db, "call.allowed"), 1);
    assert_int_equal(log_rows(s->db, "call.denied"), 1);
    assert_int_equal(log_rows(s->db, "call.ignored"), 0);
    AUTO_JSON json_t *rules = NULL;
    assert_true(ledger_rule_list(&rules, s->db, &err));
    assert_int_equal(jx_int(json_array_get(rules, 0), "count", 0), 1);
    assert_int_equal(jx_int(json_array_get(rules, 0), "last_used_ms", 0), NOW_MS);
}

static void prints_calls(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    assert_true(ledger_get(&call, s->db, id, &err));
    AUTO_JSON json_t *pending = ledger_call_json(&call);
    jx_dump(&text, pending);
    AUTO_FREE char *want = xasprintf(
        "{\"id\":\"c1\",\"attempt\":\"3.2\",\"state\":\"pending\",\"source\":\"hook\",\"agent\":"
        "\"claude\","
        "\"tool\":\"Bash\",\"args\":{\"command\":\"make\"},\"cwd\":\"/"
        "w\",\"worktree\":null,\"call_id\":\"\",\"session\":\"\","
        "\"subagent\":null,\"action\":\"%s\",\"digest\":\"%s\",\"asked_ms\":1000,\"deadline_ms\":"
        "61000,"
        "\"decided_ms\":null,\"decided_by\":null,\"why\":\"floor\",\"reason\":\"make is asked "
        "here\",\"rule\":null,"
        "\"ask_why\":\"floor\",\"ask_reason\":\"make is asked here\"}",
        call.action, call.digest);
    assert_string_equal(text.ptr, want);
    decide(&call, s->db, id, false, "ada", false);
    AUTO_JSON json_t *denied = ledger_call_json(&call);
    assert_string_equal(jx_str(denied, "reason", ""), "use make");
    assert_int_equal(jx_int(denied, "decided_ms", 0), NOW_MS);
}

/* ids of a list as "1,2,3". */
static void ids_of(struct buf *out, struct db *db, unsigned mask, const char *attempt,
                   int64_t limit)
{
    AUTO_JSON json_t *calls = NULL;
    if (!ledger_list(&calls, db, mask, attempt, limit, &err))
        fail_msg("%s", err.text);
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call)
        buf_addf(out, "%s%s", i > 0 ? "," : "", jx_str(call, "id", "") + 1);
}

static void lists(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    for (int i = 1; i <= 3; i++) {
        store_ask(s->db, "3.1", i, "a");
        store_ask(s->db, "3.2", i, "b");
    }
    decide(&call, s->db, 1, true, "ada", false);
    decide(&call, s->db, 2, false, "ada", false);
    static const struct {
        unsigned mask;
        const char *attempt;
        int64_t limit;
        const char *want;
    } rows[] = {
        {0, NULL, 0, "1,2,3,4,5,6"},
        {0, NULL, 2, "5,6"},
        {0, "3.1", 0, "1,3,5"},
        {0, "3.1", 2, "3,5"},
        {1U << CALL_PENDING, NULL, 0, "3,4,5,6"},
        {1U << CALL_PENDING, "3.2", 0, "4,6"},
        {1U << CALL_PENDING, NULL, 1, "6"},
        {1U << CALL_APPROVED, NULL, 0, "1"},
        {1U << CALL_PENDING | 1U << CALL_APPROVED, NULL, 0, "1,3,4,5,6"},
        {1U << CALL_DENIED, NULL, 0, "2"},
        {1U << CALL_DENIED | 1U << CALL_PENDING, "3.2", 0, "2,4,6"},
        {1U << CALL_CONSUMED, NULL, 0, ""},
        {0, "9.9", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf got = BUF_INIT;
        ids_of(&got, s->db, rows[i].mask, rows[i].attempt, rows[i].limit);
        assert_string_equal(got.ptr, rows[i].want);
    }
    int64_t n;
    assert_true(ledger_count_pending(&n, s->db, "3.1", &err));
    assert_int_equal(n, 2);
    assert_true(ledger_count_pending(&n, s->db, NULL, &err));
    assert_int_equal(n, 4);
}

static void lists_a_thousand_quickly(void **state)
{
    struct store *s = *state;
    assert_true(db_begin(s->db, &err));
    for (int i = 1; i <= 3000; i++)
        store_ask(s->db, "3.1", i, "make all the things that there are to make here");
    assert_true(db_commit(s->db, &err));
    int64_t start_ms = clock_mono_ms();
    AUTO_JSON json_t *calls = NULL;
    assert_true(ledger_list(&calls, s->db, 1U << CALL_PENDING, NULL, 0, &err));
    assert_int_equal(json_array_size(calls), 1000);
    assert_string_equal(jx_str(json_array_get(calls, 0), "id", ""), "c2001");
    int64_t took_ms = clock_mono_ms() - start_ms;
    print_message("1000 of 3000 pending calls in %d ms\n", (int)took_ms);
    assert_true(took_ms < 2000);
}

static void keeps_rules(void **state)
{
    struct store *s = *state;
    int64_t always = add_rule(s->db, "allow command make");
    int64_t run = add_rule(s->db, "deny command rm in run 3");
    add_rule(s->db, "deny command rm in run 33");
    int64_t attempt = add_rule(s->db, "ask tool Write for claude in attempt 3.2");
    int64_t repo = add_rule(s->db, "deny path .github/ in repo /home/u/p/.git");
    assert_int_equal(add_rule(s->db, "allow   command make"), always);
    struct rule *rules;
    size_t n;
    assert_true(ledger_rules_for(&rules, &n, s->db, "3", "3.2", "/home/u/p/.git", &err));
    assert_int_equal(n, 4);
    const int64_t want[] = {always, run, attempt, repo};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rules[i].id, want[i]);
        rule_release(&rules[i]);
    }
    free(rules);
    assert_true(ledger_rule_rm(s->db, run, "bob", NOW_MS, &err));
    assert_false(ledger_rule_rm(s->db, run, "bob", NOW_MS, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_true(ledger_rules_for(&rules, &n, s->db, "4", "4.1", "/other", &err));
    assert_int_equal(n, 1);
    rule_release(&rules[0]);
    free(rules);
    AUTO_JSON json_t *list = NULL;
    assert_true(ledger_rule_list(&list, s->db, &err));
    assert_int_equal(json_array_size(list), 4);
    assert_string_equal(jx_str(json_array_get(list, 0), "text", ""), "allow command make");
    assert_string_equal(jx_str(json_array_get(list, 0), "by", ""), "ada");
    /* After its removal the same rule is a new one. */
    assert_true(add_rule(s->db, "deny command rm in run 3") > repo);
    AUTO_RULE struct rule open_scope = RULE_INIT;
    int64_t id;
    assert_true(rule_parse(&open_scope, "allow command ls in repo", &err));
    assert_false(ledger_rule_add(&id, s->db, &open_scope, &origin, &err));
}

/* Inside of the caller's transaction all of it stands or falls with that. */
static void joins_a_transaction(void **state)
{
    struct store *s = *state;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    assert_true(db_begin(s->db, &err));
    int64_t id = store_ask(s->db, "3.2", 1, "make");
    decide(&call, s->db, id, true, "ada", false);
    assert_true(db_in_transaction(s->db));
    db_rollback(s->db);
    struct ledger_call none;
    assert_false(ledger_get(&none, s->db, id, &err));
    assert_int_equal(log_rows(s->db, "call.asked"), 0);
}

#define LEDGER_TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEDGER_TEST(asks_once),
        LEDGER_TEST(repeats_a_denial),
        LEDGER_TEST(decides_once),
        LEDGER_TEST(compares_what_was_shown),
        LEDGER_TEST(consumes_once),
        LEDGER_TEST(grants_after_expiry),
        LEDGER_TEST(an_approval_too_late_is_a_grant),
        LEDGER_TEST(orphans),
        LEDGER_TEST(records_what_the_policy_decided),
        LEDGER_TEST(prints_calls),
        LEDGER_TEST(lists),
        LEDGER_TEST(lists_a_thousand_quickly),
        LEDGER_TEST(keeps_rules),
        LEDGER_TEST(joins_a_transaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
