/*
 * The store on a real database: what goes in comes out, what fails leaves nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/runner/fixture.h"
#include "gate/ledger.h"
#include "runner/base/mem.h"

#define assert_ok(expression)                          \
    do {                                               \
        if (!(expression))                             \
            fail_msg("%s: %s", #expression, err.text); \
    } while (0)

static void specs_come_back_whole(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct attempt_spec want, got;
    fixture_add_run(f, 3, 2);
    fixture_spec(&want, 3, 2);
    assert_ok(attempt_row_spec(&got, f->db, "3.2", &err));
    AUTO_JSON json_t *a = attempt_spec_json(&want);
    AUTO_JSON json_t *b = attempt_spec_json(&got);
    assert_true(json_equal(a, b));
    attempt_spec_release(&want);
    attempt_spec_release(&got);
}

static void the_environment_is_stored_once(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db_stmt *s;
    bool have;
    fixture_add_run(f, 3, 2);
    assert_ok(db_stmt(&s, f->db,
                      "SELECT count(*) FROM attempt WHERE spec LIKE '%=secret%' OR env IS NOT NULL"
                      " OR spec LIKE '%quotes%'",
                      &err));
    assert_ok(db_step(s, &have, &err));
    assert_int_equal(db_col_int(s, 0), 0);
    db_reset(s);
}

static void a_resumed_spec_has_its_own_environment(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct attempt_spec spec;
    AUTO_STRV struct strv env = STRV_INIT;
    fixture_add_run(f, 3, 2);
    assert_ok(attempt_row_spec(&spec, f->db, "3.1", &err));
    spec.resume = true;
    spec.interactive = false;
    strv_push(&env, "TOKEN=fresh");
    assert_ok(attempt_row_save_spec(f->db, &spec, &env, &err));
    attempt_spec_release(&spec);
    assert_ok(attempt_row_spec(&spec, f->db, "3.1", &err));
    assert_true(spec.resume);
    assert_int_equal(spec.env.n, 1);
    assert_string_equal(spec.env.v[0], "TOKEN=fresh");
    assert_string_equal(spec.prompt, "fix the \"quotes\"\nand the rest");
    attempt_spec_release(&spec);
    assert_ok(attempt_row_spec(&spec, f->db, "3.2", &err));
    assert_string_equal(strv_env_get(&spec.env, "TOKEN"), "secret");
    attempt_spec_release(&spec);
}

static void the_ladder_of_a_spec_is_the_runs_present_one(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct attempt_spec spec;
    fixture_add_run(f, 3, 1);
    assert_ok(run_row_set_ladder(f->db, 3, LADDER_CONFIRM, &err));
    assert_ok(attempt_row_spec(&spec, f->db, "3.1", &err));
    assert_int_equal(spec.ladder, LADDER_CONFIRM);
    attempt_spec_release(&spec);
    assert_false(run_row_set_ladder(f->db, 99, LADDER_CONFIRM, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void fill_row(struct attempt_row *row)
{
    row->state = ATTEMPT_HARVESTING;
    row->outcome = OUTCOME_TIMEOUT;
    attempt_row_set(&row->engine, "checkout");
    attempt_row_set(&row->engine_why, "as asked");
    attempt_row_set(&row->tree, "/state/attempts/3.1/tree");
    attempt_row_set(&row->tip, "abc");
    attempt_row_set(&row->snapshot, "def");
    row->commits = 7;
    row->files = 9;
    attempt_row_set(&row->note, "a note");
    attempt_row_set(&row->review, "[\"executable\\tx.sh\"]");
    attempt_row_set(&row->layers, "[]");
    attempt_row_set(&row->last_line, "working");
    row->exit_status = 0;
    attempt_row_set(&row->error, "an error");
    row->started_ms = 11;
    row->ended_ms = 12;
    row->keeper = (struct proc_id){.pid = 4711, .start_ticks = 99, .boot_id = "boot"};
    row->spool_seq = 55;
    attempt_row_set(&row->merged_into, "main");
    attempt_row_set(&row->merged_commit, "0f0f");
}

static void rows_come_back_whole(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row got = ATTEMPT_ROW_INIT;
    fixture_add_run(f, 3, 1);
    assert_ok(attempt_row_get(&row, f->db, "3.1", &err));
    assert_int_equal(row.state, ATTEMPT_QUEUED);
    assert_int_equal(row.exit_status, -1);
    assert_null(row.tree);
    assert_string_equal(row.repo, "/srv/repo");
    assert_string_equal(row.ladder, "edits");
    fill_row(&row);
    assert_ok(attempt_row_save(f->db, &row, &err));
    fixture_close_store(f);
    fixture_open_store(f);
    assert_ok(attempt_row_get(&got, f->db, "3.1", &err));
    assert_int_equal(got.state, ATTEMPT_HARVESTING);
    assert_int_equal(got.outcome, OUTCOME_TIMEOUT);
    assert_string_equal(got.engine, "checkout");
    assert_string_equal(got.engine_why, "as asked");
    assert_string_equal(got.tree, row.tree);
    assert_string_equal(got.tip, "abc");
    assert_string_equal(got.snapshot, "def");
    assert_int_equal(got.commits, 7);
    assert_int_equal(got.files, 9);
    assert_string_equal(got.note, "a note");
    assert_string_equal(got.review, row.review);
    assert_string_equal(got.layers, "[]");
    assert_string_equal(got.last_line, "working");
    assert_int_equal(got.exit_status, 0);
    assert_string_equal(got.error, "an error");
    assert_int_equal(got.started_ms, 11);
    assert_int_equal(got.ended_ms, 12);
    assert_int_equal(got.keeper.pid, 4711);
    assert_int_equal(got.keeper.start_ticks, 99);
    assert_string_equal(got.keeper.boot_id, "boot");
    assert_int_equal(got.spool_seq, 55);
    assert_string_equal(got.merged_into, "main");
    assert_string_equal(got.merged_commit, "0f0f");
    assert_string_equal(got.title, "a title");
    assert_string_equal(got.subdir, "sub/folder");
    assert_true(got.interactive);
}

static void a_failure_rolls_back_all(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    fixture_add_run(f, 3, 1);
    {
        AUTO_ROLLBACK struct db *db = f->db;
        struct attempt_spec spec;
        assert_ok(db_begin(db, &err));
        fixture_spec(&spec, 3, 2);
        assert_ok(attempt_row_insert(db, &spec, "t", 1, &err));
        assert_false(attempt_row_insert(db, &spec, "t", 1, &err)); /* the same number again */
        assert_int_equal(err.code, ERR_CONFLICT);
        attempt_spec_release(&spec);
    }
    assert_false(db_in_transaction(f->db));
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    assert_false(attempt_row_get(&row, f->db, "3.2", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void an_attempt_needs_its_run(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct attempt_spec spec;
    fixture_spec(&spec, 8, 1);
    assert_false(attempt_row_insert(f->db, &spec, "t", 1, &err));
    attempt_spec_release(&spec);
}

static void numbers_of_removed_runs_are_not_used_again(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    int64_t last;
    fixture_add_run(f, 4, 1);
    assert_ok(run_row_remove_empty(f->db, 4, &err)); /* not empty: stays */
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    assert_ok(run_row_get(&run, f->db, 4, &err));
    assert_string_equal(run.desktop.v[0], "DISPLAY=:0");
    assert_string_equal(run.repo, "/srv/repo/.git");
    assert_ok(attempt_row_remove(f->db, "4.1", &err));
    assert_ok(run_row_remove_empty(f->db, 4, &err));
    AUTO_RUN_ROW struct run_row gone = RUN_ROW_INIT;
    assert_false(run_row_get(&gone, f->db, 4, &err));
    assert_ok(run_row_last_id(&last, f->db, &err));
    assert_int_equal(last, 4);
}

static void lists_of_runs_count_open_attempts(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *runs = json_array();
    fixture_add_run(f, 1, 3);
    fixture_add_run(f, 2, 1);
    fixture_set_state(f, "1.2", ATTEMPT_DONE);
    assert_ok(run_row_list(runs, f->db, 0, 10, &err));
    assert_int_equal(json_array_size(runs), 2);
    const json_t *first = json_array_get(runs, 1);
    assert_int_equal(jx_int(json_array_get(runs, 0), "id", 0), 2);
    assert_int_equal(jx_int(first, "id", 0), 1);
    assert_int_equal(jx_int(first, "open", -1), 2);
    assert_int_equal(jx_int(first, "n", -1), 3);
    assert_string_equal(jx_str(first, "repo", ""), "/srv/repo");
}

static void words(struct fixture *f, struct strv *out, const char *word)
{
    struct err err = ERR_INIT;
    assert_ok(attempt_row_resolve(out, f->db, word, &err));
}

static enum err_code refusal(struct fixture *f, const char *word)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv out = STRV_INIT;
    assert_false(attempt_row_resolve(&out, f->db, word, &err));
    assert_int_equal(out.n, 0);
    return err.code;
}

static void words_name_attempts(void **state)
{
    struct fixture *f = *state;
    fixture_add_run(f, 3, 12);
    fixture_add_run(f, 31, 1);
    fixture_add_run(f, 45, 2);
    AUTO_STRV struct strv out = STRV_INIT;
    words(f, &out, "3.1"); /* exact, though 3.10 to 3.12 start with it */
    assert_int_equal(out.n, 1);
    assert_string_equal(out.v[0], "3.1");
    strv_release(&out);
    words(f, &out, "3"); /* the run, though run 31 starts with it */
    assert_int_equal(out.n, 12);
    assert_string_equal(out.v[11], "3.12");
    strv_release(&out);
    words(f, &out, "31"); /* a run of one */
    assert_int_equal(out.n, 1);
    assert_string_equal(out.v[0], "31.1");
    assert_int_equal(refusal(f, "4"), ERR_USAGE); /* 45.1 and 45.2 */
    assert_int_equal(refusal(f, "9"), ERR_NOT_FOUND);
    assert_int_equal(refusal(f, "3.13"), ERR_NOT_FOUND);
    assert_int_equal(refusal(f, ""), ERR_USAGE);
    assert_int_equal(refusal(f, ".1"), ERR_USAGE);
    assert_int_equal(refusal(f, "%"), ERR_NOT_FOUND); /* no pattern of SQL */
}

static void a_unique_prefix_names_an_attempt(void **state)
{
    struct fixture *f = *state;
    fixture_add_run(f, 31, 1);
    AUTO_STRV struct strv out = STRV_INIT;
    words(f, &out, "3");
    assert_int_equal(out.n, 1);
    assert_string_equal(out.v[0], "31.1");
}

static void lists_have_their_order(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv all = STRV_INIT, queued = STRV_INIT, open = STRV_INIT, done = STRV_INIT;
    fixture_add_run(f, 1, 2);
    fixture_add_run(f, 2, 11);
    fixture_set_state(f, "2.1", ATTEMPT_DONE);
    fixture_set_state(f, "1.1", ATTEMPT_RUNNING);
    assert_ok(attempt_row_ids(&queued, f->db, ATTEMPTS_QUEUED, 0, INT64_MAX, &err));
    assert_int_equal(queued.n, 11);
    assert_string_equal(queued.v[0], "1.2");
    assert_string_equal(queued.v[1], "2.2");
    assert_string_equal(queued.v[10], "2.11"); /* by number, not by text */
    assert_ok(attempt_row_ids(&open, f->db, ATTEMPTS_OPEN, 1, INT64_MAX, &err));
    assert_int_equal(open.n, 2);
    assert_ok(attempt_row_ids(&done, f->db, ATTEMPTS_DONE, 0, INT64_MAX, &err));
    assert_int_equal(done.n, 1);
    assert_ok(attempt_row_ids(&all, f->db, ATTEMPTS_ALL, 0, 12, &err));
    assert_int_equal(all.n, 12); /* the limit cuts what is done */
    assert_false(strv_has(&all, "2.1"));
}

static void settings_and_consents(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    int64_t value;
    bool has;
    assert_ok(store_setting(&value, f->db, "epoch", &err));
    assert_int_equal(value, 0);
    assert_ok(store_set_setting(f->db, "epoch", 5, &err));
    assert_ok(store_set_setting(f->db, "epoch", 6, &err));
    assert_ok(store_setting(&value, f->db, "epoch", &err));
    assert_int_equal(value, 6);
    assert_ok(store_has_consent(&has, f->db, "/r", "aa", &err));
    assert_false(has);
    assert_ok(store_add_consent(f->db, "/r", "aa", "ada", 1, &err));
    assert_ok(store_add_consent(f->db, "/r", "aa", "eve", 2, &err));
    assert_ok(store_has_consent(&has, f->db, "/r", "aa", &err));
    assert_true(has);
    assert_ok(store_has_consent(&has, f->db, "/other", "aa", &err));
    assert_false(has);
}

static void a_newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db *db;
    assert_ok(db_exec(f->db, "PRAGMA user_version=99", &err));
    fixture_close_store(f);
    assert_false(store_open(&db, f->db_path, &err));
    assert_int_equal(err.code, ERR_REFUSED);
}

static void an_older_schema_is_upgraded(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db *db;
    AUTO_FREE char *path = xasprintf("%s/old.db", f->dir);
    const char *const first[] = {ledger_schema};
    assert_ok(db_open(&db, path, DB_READ_WRITE, &err));
    assert_ok(db_migrate(db, first, 1, &err));
    AUTO_JSON json_t *body = json_object();
    assert_ok(ledger_log(db, "old", body, 1, &err));
    db_close(db);
    assert_ok(store_open(&db, path, &err));
    AUTO_JSON json_t *rows = NULL;
    assert_ok(ledger_log_list(&rows, db, 0, 0, &err));
    assert_int_equal(json_array_size(rows), 1);
    AUTO_STRV struct strv ids = STRV_INIT;
    assert_ok(attempt_row_ids(&ids, db, ATTEMPTS_ALL, 0, 10, &err));
    db_close(db);
}

static void applying_events_sets_times_and_outcomes(void **state)
{
    (void)state;
    static const struct {
        enum attempt_state state;
        enum attempt_event event;
        enum attempt_outcome want;
    } cases[] = {
        {ATTEMPT_QUEUED, ATTEMPT_EV_STOP, OUTCOME_STOPPED},
        {ATTEMPT_PREPARING, ATTEMPT_EV_PREPARE_FAILED, OUTCOME_FAILED},
        {ATTEMPT_STARTING, ATTEMPT_EV_LAUNCH_FAILED, OUTCOME_FAILED},
        {ATTEMPT_STOPPING, ATTEMPT_EV_LAUNCH_FAILED, OUTCOME_STOPPED},
        {ATTEMPT_STOPPING, ATTEMPT_EV_PREPARED, OUTCOME_STOPPED},
        {ATTEMPT_STOPPING, ATTEMPT_EV_RECOVERED, OUTCOME_STOPPED},
        {ATTEMPT_RUNNING, ATTEMPT_EV_GONE, OUTCOME_LOST},
        {ATTEMPT_STOPPING, ATTEMPT_EV_GONE, OUTCOME_STOPPED},
        {ATTEMPT_PREPARING, ATTEMPT_EV_RECOVERED, OUTCOME_NONE},
        {ATTEMPT_RUNNING, ATTEMPT_EV_STOP, OUTCOME_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct attempt_row row = ATTEMPT_ROW_INIT;
        unsigned effects;
        row.state = cases[i].state;
        assert_true(attempt_row_apply(&row, cases[i].event, 50, &effects));
        assert_int_equal(row.outcome, cases[i].want);
        assert_int_equal(row.ended_ms, cases[i].want == OUTCOME_NONE ? 0 : 50);
    }
}

static void what_the_keeper_told_stands(void **state)
{
    (void)state;
    struct attempt_row row = ATTEMPT_ROW_INIT;
    unsigned effects;
    row.state = ATTEMPT_STARTING;
    assert_true(attempt_row_apply(&row, ATTEMPT_EV_STARTED, 10, &effects));
    assert_int_equal(row.started_ms, 10);
    assert_true(attempt_row_apply(&row, ATTEMPT_EV_STARTED, 20, &effects));
    assert_int_equal(row.started_ms, 10);
    row.outcome = OUTCOME_TIMEOUT;
    assert_true(attempt_row_apply(&row, ATTEMPT_EV_EXITED, 30, &effects));
    assert_true(attempt_row_apply(&row, ATTEMPT_EV_HARVESTED, 40, &effects));
    assert_int_equal(row.outcome, OUTCOME_TIMEOUT);
    assert_int_equal(row.ended_ms, 30); /* when the box ended, not the harvest */
    row.exit_status = 3;
    assert_false(attempt_row_apply(&row, ATTEMPT_EV_EXITED, 50, &effects));
    assert_true(attempt_row_apply(&row, ATTEMPT_EV_RESUME, 60, &effects));
    assert_int_equal(row.outcome, OUTCOME_NONE);
    assert_int_equal(row.exit_status, -1);
    assert_int_equal(row.started_ms, 0);
    assert_int_equal(row.ended_ms, 0);
}

#define stored(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stored(specs_come_back_whole),
        stored(the_environment_is_stored_once),
        stored(a_resumed_spec_has_its_own_environment),
        stored(the_ladder_of_a_spec_is_the_runs_present_one),
        stored(rows_come_back_whole),
        stored(a_failure_rolls_back_all),
        stored(an_attempt_needs_its_run),
        stored(numbers_of_removed_runs_are_not_used_again),
        stored(lists_of_runs_count_open_attempts),
        stored(words_name_attempts),
        stored(a_unique_prefix_names_an_attempt),
        stored(lists_have_their_order),
        stored(settings_and_consents),
        stored(a_newer_schema_is_refused),
        stored(an_older_schema_is_upgraded),
        cmocka_unit_test(applying_events_sets_times_and_outcomes),
        cmocka_unit_test(what_the_keeper_told_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
