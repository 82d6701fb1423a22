/*
 * A keeper's records on a real store: each counts once, whatever comes twice, late or damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/runner/fixture.h"
#include "runner/base/mem.h"
#include "runner/server/merge.h"

#define assert_ok(expression)                          \
    do {                                               \
        if (!(expression))                             \
            fail_msg("%s: %s", #expression, err.text); \
    } while (0)

static const char request[] =
    "{\"v\":1,\"source\":\"hook\",\"agent\":\"command\",\"tool\":\"Bash\","
    "\"args\":{\"command\":\"git push\"},\"cwd\":\"/w\",\"call_id\":\"\",\"session\":\"\"}";

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value;
    assert_ok(jx_parse(&value, text, strlen(text), &err));
    return value;
}

/* A record with its number and further members as JSON text ("" or ",\"call\":7"). */
static json_t *record(int64_t seq, const char *kind, const char *members)
{
    AUTO_FREE char *text = xasprintf("{\"seq\":%lld,\"at_ms\":%lld,\"r\":\"%s\"%s}", (long long)seq,
                                     (long long)(1000 + seq), kind, members);
    return parse(text);
}

static json_t *asked(int64_t seq, int64_t call)
{
    AUTO_FREE char *members =
        xasprintf(",\"call\":%lld,\"request\":%s,\"deadline_ms\":999999", (long long)call, request);
    return record(seq, "asked", members);
}

/* As the executor does it: load, merge, save. record is taken over. */
static bool merge_one(struct fixture *f, const char *id, json_t *taken, struct merge *m,
                      struct err *err)
{
    AUTO_JSON json_t *owned = taken;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    return attempt_row_get(&row, f->db, id, err) && merge_record(m, f->db, &row, owned, err) &&
           attempt_row_save(f->db, &row, err);
}

static void merge_fine(struct fixture *f, json_t *taken)
{
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    assert_ok(merge_one(f, "1.1", taken, &m, &err));
}

static enum call_state call_state(struct fixture *f, int64_t local)
{
    struct err err = ERR_INIT;
    struct ledger_call call;
    assert_ok(ledger_find(&call, f->db, "1.1", local, &err));
    enum call_state state = call.state;
    ledger_call_release(&call);
    return state;
}

static void set_up(struct fixture *f)
{
    fixture_add_run(f, 1, 1);
    fixture_set_state(f, "1.1", ATTEMPT_STARTING);
}

static void a_whole_life(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    set_up(f);
    merge_fine(f, record(1, "layers", ",\"layers\":[{\"name\":\"user\",\"state\":\"active\"}]"));
    merge_fine(f, record(2, "started", ",\"pid\":5"));
    assert_int_equal(fixture_state(f, "1.1"), ATTEMPT_RUNNING);
    assert_ok(merge_one(f, "1.1", asked(3, 3), &m, &err));
    assert_int_equal(m.n_calls, 1);
    assert_true(m.calls[0].is_asked);
    assert_int_equal(call_state(f, 3), CALL_PENDING);
    merge_fine(f, record(4, "expired", ",\"call\":3"));
    assert_int_equal(call_state(f, 3), CALL_EXPIRED);
    merge_fine(f, record(5, "note", ",\"text\":\"hm\""));
    assert_ok(merge_one(f, "1.1",
                        record(6, "exited", ",\"status\":0,\"cause\":\"exit\",\"error\":null"), &m,
                        &err));
    assert_true(m.effects & ATTEMPT_DO_HARVEST);
    assert_true(m.effects & ATTEMPT_DO_QUIT);
    assert_ok(attempt_row_get(&row, f->db, "1.1", &err));
    assert_int_equal(row.state, ATTEMPT_HARVESTING);
    assert_int_equal(row.outcome, OUTCOME_OK);
    assert_int_equal(row.exit_status, 0);
    assert_int_equal(row.spool_seq, 6);
    assert_int_equal(row.started_ms, 1002);
    assert_string_equal(row.note, "hm");
    assert_string_equal(row.layers, "[{\"name\":\"user\",\"state\":\"active\"}]");
}

static void a_record_counts_once(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    int64_t pending;
    set_up(f);
    merge_fine(f, asked(1, 1));
    assert_ok(merge_one(f, "1.1", asked(1, 1), &m, &err));
    assert_int_equal(m.n_calls, 0);
    assert_ok(ledger_count_pending(&pending, f->db, "1.1", &err));
    assert_int_equal(pending, 1);
}

static void a_gap_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    set_up(f);
    assert_false(merge_one(f, "1.1", record(2, "started", ""), &m, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_int_equal(fixture_state(f, "1.1"), ATTEMPT_STARTING);
}

static void the_damaged_is_logged_and_passed_over(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    static const char *const damaged[] = {
        "{\"seq\":1,\"r\":\"asked\",\"call\":1}",
        "{\"seq\":2,\"r\":\"asked\",\"call\":1,\"request\":{\"tool\":7}}",
        "{\"seq\":3,\"r\":\"consumed\",\"call\":44}",
        "{\"seq\":4,\"r\":\"decided\",\"call\":2,\"request\":[]}",
    };
    set_up(f);
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++)
        merge_fine(f, parse(damaged[i]));
    merge_fine(f, record(5, "from the future", ""));
    merge_fine(f, record(6, "started", ""));
    assert_int_equal(fixture_state(f, "1.1"), ATTEMPT_RUNNING);
    AUTO_JSON json_t *rows = NULL;
    size_t i, unreadable = 0;
    const json_t *row;
    assert_ok(ledger_log_list(&rows, f->db, 0, 0, &err));
    json_array_foreach(rows, i, row)
    {
        unreadable += strcmp(jx_str(row, "kind", ""), "record.unreadable") == 0;
    }
    assert_int_equal(unreadable, ARRAY_LEN(damaged));
}

static void a_call_number_used_twice_does_not_stop_the_rest(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *other =
        xasprintf(",\"call\":1,\"request\":{\"v\":1,\"source\":\"hook\",\"agent\":\"command\","
                  "\"tool\":\"Other\",\"args\":{},\"cwd\":\"\"}");
    set_up(f);
    merge_fine(f, asked(1, 1));
    merge_fine(f, record(2, "asked", other));
    merge_fine(f, record(3, "started", ""));
    assert_int_equal(fixture_state(f, "1.1"), ATTEMPT_RUNNING);
}

static void decided_by_policy(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *allow =
        xasprintf(",\"call\":1,\"verdict\":\"allow\",\"why\":\"ladder\",\"request\":%s", request);
    AUTO_FREE char *deny = xasprintf(
        ",\"call\":2,\"verdict\":\"deny\",\"why\":\"floor\",\"reason\":\"no\",\"request\":%s",
        request);
    set_up(f);
    merge_fine(f, record(1, "decided", allow));
    merge_fine(f, record(2, "consumed", ",\"call\":1"));
    merge_fine(f, record(3, "decided", deny));
    assert_int_equal(call_state(f, 1), CALL_CONSUMED);
    assert_int_equal(call_state(f, 2), CALL_DENIED);
}

static void a_late_exit_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    set_up(f);
    assert_ok(attempt_row_get(&row, f->db, "1.1", &err));
    row.state = ATTEMPT_DONE;
    row.outcome = OUTCOME_LOST;
    assert_ok(attempt_row_save(f->db, &row, &err));
    merge_fine(f, record(1, "exited", ",\"status\":0,\"cause\":\"exit\""));
    AUTO_ATTEMPT_ROW struct attempt_row after = ATTEMPT_ROW_INIT;
    assert_ok(attempt_row_get(&after, f->db, "1.1", &err));
    assert_int_equal(after.outcome, OUTCOME_LOST);
    assert_int_equal(after.spool_seq, 1);
}

static void a_lost_keeper_orphans_what_is_open(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    set_up(f);
    merge_fine(f, asked(1, 1));
    merge_fine(f, asked(2, 2));
    merge_fine(f, record(3, "expired", ",\"call\":1"));
    assert_ok(merge_orphans(&m, f->db, "1.1", 5000, &err));
    assert_int_equal(m.n_calls, 1);
    assert_int_equal(call_state(f, 1), CALL_EXPIRED);
    assert_int_equal(call_state(f, 2), CALL_ORPHANED);
}

static void a_rolled_back_merge_leaves_no_trace(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    int64_t pending;
    set_up(f);
    {
        AUTO_ROLLBACK struct db *db = f->db;
        assert_ok(db_begin(db, &err));
        assert_ok(merge_one(f, "1.1", asked(1, 1), &m, &err));
    }
    assert_ok(ledger_count_pending(&pending, f->db, "1.1", &err));
    assert_int_equal(pending, 0);
    merge_fine(f, asked(1, 1)); /* and can be merged after all */
    assert_int_equal(call_state(f, 1), CALL_PENDING);
}

#define stored(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stored(a_whole_life),
        stored(a_record_counts_once),
        stored(a_gap_is_refused),
        stored(the_damaged_is_logged_and_passed_over),
        stored(a_call_number_used_twice_does_not_stop_the_rest),
        stored(decided_by_policy),
        stored(a_late_exit_changes_nothing),
        stored(a_lost_keeper_orphans_what_is_open),
        stored(a_rolled_back_merge_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
