/* The chained log: append-only, and any changed, missing or reordered row is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "runner/base/mem.h"
#include "tests/unit/gate/store.h"

static struct err err;

static void fill(struct db *db, int n)
{
    for (int i = 1; i <= n; i++) {
        AUTO_JSON json_t *body = json_pack("{s:i, s:s}", "n", i, "a", "ü");
        assert_true(ledger_log(db, "test.row", body, 1000 + i, &err));
    }
}

static void expect(struct db *db, int64_t rows, int64_t bad, const char *word)
{
    int64_t got_rows, got_bad;
    char tail[DIGEST_HEX_SIZE];
    AUTO_BUF struct buf why = BUF_INIT;
    assert_true(ledger_verify(&got_rows, &got_bad, &why, tail, db, &err));
    assert_int_equal(got_bad, bad);
    assert_int_equal(got_rows, rows);
    if (!strstr(why.ptr, word))
        fail_msg("[%s], not [%s]", why.ptr, word);
}

static void is_whole(void **state)
{
    struct store *s = *state;
    char tail[DIGEST_HEX_SIZE] = "x", later[DIGEST_HEX_SIZE];
    int64_t rows, bad;
    AUTO_BUF struct buf why = BUF_INIT;
    assert_true(ledger_verify(&rows, &bad, &why, tail, s->db, &err));
    assert_int_equal(rows, 0);
    assert_string_equal(tail, "");
    fill(s->db, 5);
    expect(s->db, 5, 0, "");
    assert_true(ledger_verify(&rows, &bad, &why, tail, s->db, &err));
    assert_true(digest_is_hex(tail));
    fill(s->db, 1);
    assert_true(ledger_verify(&rows, &bad, &why, later, s->db, &err));
    assert_string_not_equal(tail, later);
    AUTO_JSON json_t *list = NULL;
    assert_true(ledger_log_list(&list, s->db, 4, 1, &err));
    assert_int_equal(json_array_size(list), 1);
    json_t *row = json_array_get(list, 0);
    assert_int_equal(jx_int(row, "seq", 0), 5);
    assert_string_equal(jx_str(row, "hash", ""), tail);
    assert_string_equal(jx_str(row, "kind", ""), "test.row");
    assert_int_equal(jx_int(jx_obj(row, "body"), "n", 0), 5);
    assert_int_equal(jx_int(row, "at_ms", 0), 1005);
}

static void is_append_only(void **state)
{
    struct store *s = *state;
    static const char *const statements[] = {
        "UPDATE log SET body = 'x' WHERE seq = 2",
        "UPDATE log SET seq = 9 WHERE seq = 2",
        "DELETE FROM log WHERE seq = 2",
        "DELETE FROM log",
        "INSERT INTO log VALUES(9, 1, 'k', 'b', 'p', 'h')",
        "INSERT INTO log VALUES(2, 1, 'k', 'b', 'p', 'h')",
        "INSERT OR REPLACE INTO log VALUES(2, 1, 'k', 'b', 'p', 'h')",
        "REPLACE INTO log VALUES(3, 1, 'k', 'b', 'p', 'h')",
    };
    fill(s->db, 3);
    for (size_t i = 0; i < ARRAY_LEN(statements); i++)
        if (db_exec(s->db, statements[i], &err))
            fail_msg("%s was done", statements[i]);
    expect(s->db, 3, 0, "");
}

/* With the triggers gone, as somebody with the file in hand could have it. */
static void finds_tampering(void **state)
{
    static const struct {
        const char *sql;
        int64_t rows, bad;
        const char *word;
    } cases[] = {
        {"UPDATE log SET body = replace(body, '3', '4') WHERE seq = 3", 3, 3, "changed"},
        {"UPDATE log SET at_ms = 7 WHERE seq = 3", 3, 3, "changed"},
        {"UPDATE log SET kind = 'x' WHERE seq = 5", 5, 5, "changed"},
        {"UPDATE log SET body = body || ' ' WHERE seq = 1", 1, 1, "changed"},
        {"UPDATE log SET hash = substr(hash, 2) || '0' WHERE seq = 2", 2, 2, "changed"},
        {"UPDATE log SET prev = '' WHERE seq = 2", 2, 2, "follow"},
        {"DELETE FROM log WHERE seq = 3", 3, 4, "missing"},
        {"DELETE FROM log WHERE seq = 1", 1, 2, "missing"},
        {"DELETE FROM log WHERE seq = 3; UPDATE log SET seq = seq - 1 WHERE seq > 3", 3, 3,
         "follow"},
        {"UPDATE log SET seq = -1 WHERE seq = 2; UPDATE log SET seq = 2 WHERE seq = 3;"
         "UPDATE log SET seq = 3 WHERE seq = -1",
         2, 2, "follow"},
        {"INSERT INTO log SELECT 6, at_ms, kind, body, prev, hash FROM log WHERE seq = 5", 6, 6,
         "follow"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *own;
        store_set_up(&own);
        struct store *s = own;
        fill(s->db, 5);
        assert_true(db_exec(s->db,
                            "DROP TRIGGER log_no_update; DROP TRIGGER log_no_delete;"
                            "DROP TRIGGER log_in_order",
                            &err));
        if (!db_exec(s->db, cases[i].sql, &err))
            fail_msg("%s", err.text);
        expect(s->db, cases[i].rows, cases[i].bad, cases[i].word);
        store_tear_down(&own);
    }
}

/* Known and said: a cut tail shows only against a hash kept elsewhere. */
static void a_cut_tail_shows_against_the_anchor(void **state)
{
    struct store *s = *state;
    char before[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
    int64_t rows, bad;
    AUTO_BUF struct buf why = BUF_INIT;
    fill(s->db, 5);
    assert_true(ledger_verify(&rows, &bad, &why, before, s->db, &err));
    assert_true(db_exec(s->db, "DROP TRIGGER log_no_delete; DELETE FROM log WHERE seq = 5", &err));
    assert_true(ledger_verify(&rows, &bad, &why, after, s->db, &err));
    assert_int_equal(bad, 0);
    assert_string_not_equal(before, after);
}

static void what_was_told_of_an_attempt_is_found(void **state)
{
    struct store *s = *state;
    static const char *const attempts[] = {"1.1", "1.10", "1.1", "2.1", "1.1"};
    for (int i = 0; i < 5; i++) {
        AUTO_JSON json_t *body = json_pack("{s:i}", "n", i);
        fill(s->db, 1);
        if (!ledger_tell(s->db, attempts[i], "net", body, 1000 + i, &err))
            fail_msg("%s", err.text);
    }
    AUTO_JSON json_t *all = NULL, *newest = NULL, *none = NULL;
    assert_true(ledger_log_told(&all, s->db, "1.1", 10, &err));
    assert_int_equal(json_array_size(all), 3);
    assert_int_equal(jx_int(jx_obj(json_array_get(all, 1), "body"), "n", -1), 2);
    assert_true(ledger_log_told(&newest, s->db, "1.1", 2, &err));
    assert_int_equal(json_array_size(newest), 2);
    assert_int_equal(jx_int(jx_obj(json_array_get(newest, 0), "body"), "n", -1), 2);
    assert_true(ledger_log_told(&none, s->db, "1", 10, &err));
    assert_int_equal(json_array_size(none), 0);
    expect(s->db, 10, 0, "");
}

/* Calls as somebody with the file in hand could change them, behind a log that is whole. */
static void finds_changed_calls(void **state)
{
    static const struct {
        const char *sql;
        int64_t bad;
        const char *word;
    } cases[] = {
        {"SELECT 1", 0, ""},
        {"UPDATE call SET request = replace(request, 'make', 'fake') WHERE id = 1", 3,
         "asks something else"},
        {"UPDATE call SET attempt = '9.9' WHERE id = 1", 3, "asks something else"},
        {"UPDATE call SET state = 'consumed' WHERE id = 2", 2, "another state"},
        {"UPDATE call SET request = '{' WHERE id = 2", 2, "cannot be read"},
        {"DELETE FROM call WHERE id = 2", 2, "not in the store"},
        {"INSERT INTO call(attempt, local, state, request, action, digest, asked_ms)"
         " SELECT attempt, 99, state, request, action, digest, asked_ms FROM call WHERE id = 1",
         4, "no row is about call c3"},
        {"UPDATE call SET decided_by = 'bob' WHERE id = 1", 3, "decided otherwise"},
        {"UPDATE call SET reason = 'yes' WHERE id = 1", 3, "decided otherwise"},
        {"UPDATE call SET why = 'policy' WHERE id = 1", 3, "decided otherwise"},
        {"INSERT INTO grant_once(attempt, action, call, made_by, made_ms)"
         " SELECT attempt, action, id, 'ann', 1 FROM call WHERE id = 1",
         4, "no row made the grant of call c1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *own;
        store_set_up(&own);
        struct store *s = own;
        int64_t bad = -1, first = store_ask(s->db, "3.1", 1, "make"),
                second = store_ask(s->db, "3.1", 2, "ls");
        enum ledger_outcome outcome;
        struct ledger_call call;
        AUTO_BUF struct buf why = BUF_INIT;
        assert_int_equal(first, 1);
        assert_int_equal(second, 2);
        assert_true(ledger_decide(&outcome, &call, s->db, first, NULL, false, "no", "ann", "person",
                                  false, 5000, &err));
        ledger_call_release(&call);
        if (i > 0 && !db_exec(s->db, cases[i].sql, &err))
            fail_msg("%s", err.text);
        assert_true(ledger_verify_store(&bad, &why, s->db, &err));
        assert_int_equal(bad, cases[i].bad);
        if (!strstr(why.ptr, cases[i].word))
            fail_msg("[%s], not [%s]", why.ptr, cases[i].word);
        store_tear_down(&own);
    }
}

static int64_t add_rule(struct db *db, const char *text)
{
    AUTO_RULE struct rule rule = RULE_INIT;
    const struct ledger_origin origin = {.by = "ann", .at_ms = 1000};
    int64_t id = 0;
    assert_true(rule_parse(&rule, text, &err));
    assert_true(ledger_rule_add(&id, db, &rule, &origin, &err));
    return id;
}

static void finds_changed_rules(void **state)
{
    static const struct {
        const char *sql;
        int64_t bad;
        const char *word;
    } cases[] = {
        {"UPDATE rule SET uses = 9, last_used_ms = 5", 0, ""},
        {"UPDATE rule SET text = 'allow command rm' WHERE id = 1", 1,
         "rule r1, which it is about, says"},
        {"UPDATE rule SET scope = 0, scope_value = '' WHERE id = 2", 2, "says something else"},
        {"UPDATE rule SET scope_value = '4' WHERE id = 2", 2, "says something else"},
        {"UPDATE rule SET removed_ms = 5 WHERE id = 1", 1, "not in force any more"},
        {"DELETE FROM rule WHERE id = 1", 1, "not in force any more"},
        {"UPDATE rule SET removed_ms = NULL WHERE id = 3", 4, "the log says was removed"},
        {"INSERT INTO rule(text, scope, scope_value, made_by, made_ms) VALUES('allow tool Bash', "
         "0, '', 'ann', 1)",
         5, "no row made rule r4"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *own;
        store_set_up(&own);
        struct store *s = own;
        int64_t bad = -1;
        AUTO_BUF struct buf why = BUF_INIT;
        assert_int_equal(add_rule(s->db, "deny command rm"), 1);
        assert_int_equal(add_rule(s->db, "allow command ls in run 3"), 2);
        assert_int_equal(add_rule(s->db, "allow command make"), 3);
        assert_true(ledger_rule_rm(s->db, 3, "ann", 2000, &err));
        if (!db_exec(s->db, cases[i].sql, &err))
            fail_msg("%s", err.text);
        assert_true(ledger_verify_store(&bad, &why, s->db, &err));
        assert_int_equal(bad, cases[i].bad);
        if (!strstr(why.ptr, cases[i].word))
            fail_msg("[%s], not [%s]", why.ptr, cases[i].word);
        store_tear_down(&own);
    }
}

/* A grant that a person made has its row. */
static void a_grant_is_no_tampering(void **state)
{
    struct store *s = *state;
    int64_t bad = -1, id = store_ask(s->db, "3.1", 1, "make");
    enum ledger_outcome outcome;
    struct ledger_call call;
    AUTO_BUF struct buf why = BUF_INIT;
    assert_true(ledger_orphan_all(s->db, "3.1", 3000, &err));
    assert_true(ledger_decide(&outcome, &call, s->db, id, NULL, true, "", "ann", "person", true,
                              5000, &err));
    ledger_call_release(&call);
    assert_int_equal(outcome, LEDGER_GRANTED);
    assert_true(ledger_verify_store(&bad, &why, s->db, &err));
    assert_int_equal(bad, 0);
}

/* What is gone is told, proves no less than before, and cannot be approved. */
static void drops_arguments(void **state)
{
    static const struct {
        const char *sql, *word;
    } cases[] = {
        {"", ""},
        {"UPDATE call SET request = json_set(request, '$.args', json('{\"command\":\"true\"}')) "
         "WHERE id = 1",
         "call c1, which it is about, asks something else"},
        {"UPDATE call SET request = json_set(request, '$.tool', 'Read') WHERE id = 1",
         "asks something else"},
        {"UPDATE call SET attempt = '9.9' WHERE id = 1", "asks something else"},
        {"UPDATE call SET dropped_ms = NULL WHERE id = 1", "asks something else"},
        {"UPDATE call SET request = json_set(request, '$.args', json('{}')), dropped_ms = 9000 "
         "WHERE id = 3",
         "the arguments of 2 of the calls of 3.1 are gone"},
        {"UPDATE call SET request = json_set(request, '$.args', json('{}')), dropped_ms = 8000 "
         "WHERE id = 3",
         "the arguments of 1 of the calls of 3.1 are gone"},
        {"UPDATE call SET decided_by = 'bob' WHERE id = 1", "decided otherwise"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        void *own;
        store_set_up(&own);
        struct store *s = own;
        enum ledger_outcome outcome;
        struct ledger_call call;
        struct ledger_dropped dropped;
        AUTO_STRV struct strv attempts = STRV_INIT;
        AUTO_BUF struct buf why = BUF_INIT;
        int64_t bad = -1, rows;
        char tail[DIGEST_HEX_SIZE];
        for (int64_t local = 1; local <= 3; local++)
            store_ask(s->db, "3.1", local, local == 2 ? "pending" : "make");
        store_ask(s->db, "4.1", 1, "pending");
        assert_true(ledger_decide(&outcome, &call, s->db, 1, NULL, false, "no", "ann", "person",
                                  false, 5000, &err));
        ledger_call_release(&call);
        assert_true(ledger_droppable(&attempts, s->db, 1000, &err) && attempts.n == 0);
        assert_true(ledger_droppable(&attempts, s->db, 1001, &err));
        assert_int_equal(attempts.n, 1);
        assert_true(ledger_drop(&dropped, s->db, "3.1", 1001, "ann", 9000, true, &err));
        assert_true(dropped.calls == 1 && dropped.bytes > 100);
        assert_true(ledger_dropped(&dropped, s->db, &err) && dropped.calls == 0);
        assert_true(ledger_drop(&dropped, s->db, "3.1", 1001, "ann", 9000, false, &err));
        assert_true(ledger_dropped(&dropped, s->db, &err));
        assert_true(dropped.calls == 1 && dropped.last_ms == 9000);
        assert_true(ledger_drop(&dropped, s->db, "3.1", 1001, "ann", 9500, false, &err));
        assert_int_equal(dropped.calls, 0);
        assert_true(ledger_get(&call, s->db, 1, &err));
        assert_true(json_object_size(call.request.args) == 0 && call.dropped_ms == 9000);
        ledger_call_release(&call);
        assert_false(ledger_decide(&outcome, &call, s->db, 1, NULL, true, "", "ann", "person", true,
                                   9600, &err));
        assert_int_equal(err.code, ERR_REFUSED);
        if (*cases[i].sql && !db_exec(s->db, cases[i].sql, &err))
            fail_msg("%s", err.text);
        assert_true(ledger_verify(&rows, &bad, &why, tail, s->db, &err) && bad == 0);
        assert_true(ledger_verify_store(&bad, &why, s->db, &err));
        assert_int_equal(bad != 0, i > 0);
        if (!strstr(why.ptr, cases[i].word))
            fail_msg("[%s], not [%s]", why.ptr, cases[i].word);
        store_tear_down(&own);
    }
}

/* Pages of an export are bounded by their bytes, and nothing is lost between them. */
static void exports_in_pages(void **state)
{
    struct store *s = *state;
    enum { CALLS = 5, BYTES = 600 * 1000 };
    AUTO_FREE char *text = xmalloc(BYTES + 1);
    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    for (int i = 1; i <= CALLS; i++)
        store_ask(s->db, "3.1", i, text);
    store_ask(s->db, "4.1", 1, "make");
    int64_t after = 0, last = 0;
    size_t seen = 0, pages = 0;
    for (;; pages++) {
        AUTO_JSON json_t *calls = NULL;
        assert_true(ledger_call_export(&calls, &last, s->db, 3, after, 1000, &err));
        if (json_array_size(calls) == 0)
            break;
        assert_true(json_array_size(calls) <= 2);
        seen += json_array_size(calls);
        after = last;
    }
    assert_int_equal(seen, CALLS);
    assert_true(pages >= 3);
    AUTO_JSON json_t *all = NULL;
    assert_true(ledger_call_export(&all, &last, s->db, 0, CALLS, 1000, &err));
    assert_int_equal(json_array_size(all), 1);
    assert_string_equal(jx_str(json_array_get(all, 0), "attempt", ""), "4.1");
}

#define LEDGER_TEST(f) cmocka_unit_test_setup_teardown(f, store_set_up, store_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEDGER_TEST(is_whole),
        LEDGER_TEST(is_append_only),
        LEDGER_TEST(exports_in_pages),
        cmocka_unit_test(finds_tampering),
        cmocka_unit_test(finds_changed_calls),
        cmocka_unit_test(finds_changed_rules),
        cmocka_unit_test(drops_arguments),
        LEDGER_TEST(a_grant_is_no_tampering),
        LEDGER_TEST(a_cut_tail_shows_against_the_anchor),
        LEDGER_TEST(what_was_told_of_an_attempt_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
