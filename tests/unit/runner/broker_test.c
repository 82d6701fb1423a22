/* Calls that are carried out: one row for each, whatever is sent how often; taken once; lost ones
 * stay lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runner/base/mem.h"
#include "runner/server/merge.h"
#include "runner/store/broker_row.h"
#include "tests/unit/runner/fixture.h"

#define assert_ok(expression)                          \
    do {                                               \
        if (!(expression))                             \
            fail_msg("%s: %s", #expression, err.text); \
    } while (0)

static const char push[] = "{\"v\":1,\"source\":\"broker\",\"agent\":\"claude\",\"tool\":\"git "
                           "push\",\"args\":{\"argv\":[\"git\",\"push\"]}}";
static const char shell[] = "{\"v\":1,\"source\":\"hook\",\"agent\":\"claude\",\"tool\":\"Bash\","
                            "\"args\":{\"command\":\"git push\"}}";

/* Merge a record of the attempt 1.1 twice, as a keeper sends it whose server died in between. */
static bool merge_twice(struct fixture *f, const char *text)
{
    bool has_broker = false;
    for (int i = 0; i < 2; i++) {
        struct err err = ERR_INIT;
        AUTO_MERGE struct merge m = MERGE_INIT;
        AUTO_JSON json_t *record = NULL;
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        assert_ok(jx_parse(&record, text, strlen(text), &err));
        assert_ok(attempt_row_get(&row, f->db, "1.1", &err));
        assert_ok(merge_record(&m, f->db, &row, record, &err));
        assert_ok(attempt_row_save(f->db, &row, &err));
        has_broker = has_broker || m.has_broker;
    }
    return has_broker;
}

static bool decided(struct fixture *f, int seq, const char *request, const char *verdict)
{
    AUTO_FREE char *text =
        xasprintf("{\"seq\":%d,\"at_ms\":5,\"r\":\"decided\",\"call\":%d,\"request\":%s,"
                  "\"verdict\":\"%s\",\"why\":\"rule\"}",
                  seq, seq, request, verdict);
    return merge_twice(f, text);
}

static int64_t begin(struct fixture *f)
{
    struct err err = ERR_INIT;
    int64_t call = -1;
    assert_ok(broker_row_begin(&call, f->db, "1.1", &err));
    return call;
}

static void set_up(struct fixture *f)
{
    fixture_add_run(f, 1, 1);
    fixture_set_state(f, "1.1", ATTEMPT_RUNNING);
}

static void only_what_may_happen_is_due(void **state)
{
    struct fixture *f = *state;
    set_up(f);
    assert_false(decided(f, 1, push, "deny"));
    assert_false(decided(f, 2, shell, "allow"));
    assert_int_equal(begin(f), 0);
    assert_true(decided(f, 3, push, "allow"));
    assert_int_equal(begin(f), 3);
    assert_int_equal(begin(f), 0);
}

static void an_approved_one_is_due_when_it_is_consumed(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct ledger_call call;
    enum ledger_outcome outcome;
    set_up(f);
    AUTO_FREE char *asked = xasprintf(
        "{\"seq\":1,\"at_ms\":5,\"r\":\"asked\",\"call\":1,\"request\":%s,\"deadline_ms\":9}",
        push);
    assert_false(merge_twice(f, asked));
    assert_ok(
        ledger_decide(&outcome, &call, f->db, 1, NULL, true, "", "me", "person", false, 6, &err));
    ledger_call_release(&call);
    assert_int_equal(begin(f), 0);
    assert_true(merge_twice(f, "{\"seq\":2,\"at_ms\":7,\"r\":\"consumed\",\"call\":1}"));
    assert_int_equal(begin(f), 1);
    assert_int_equal(begin(f), 0);
}

static void what_came_of_it_stays(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_JSON json_t *none = NULL;
    AUTO_JSON json_t *kept = NULL;
    AUTO_JSON json_t *first = json_pack("{s:s}", "failed", "first");
    AUTO_JSON json_t *second = json_pack("{s:s}", "failed", "second");
    AUTO_STRV struct strv due = STRV_INIT, running = STRV_INIT;
    set_up(f);
    assert_true(decided(f, 1, push, "allow"));
    assert_true(decided(f, 2, push, "allow"));
    assert_int_equal(begin(f), 1);
    fixture_close_store(f);
    fixture_open_store(f);
    assert_ok(broker_row_open(&due, &running, f->db, &err));
    assert_int_equal(due.n, 1);
    assert_string_equal(due.v[0], "1.1");
    assert_int_equal(running.n, 1);
    assert_string_equal(running.v[0], "1");
    assert_ok(broker_row_message(&none, f->db, 1, &err));
    assert_null(none);
    assert_ok(broker_row_end(f->db, 1, first, &err));
    assert_ok(broker_row_end(f->db, 1, second, &err));
    assert_ok(broker_row_message(&kept, f->db, 1, &err));
    assert_string_equal(jx_str(kept, "failed", ""), "first");
    assert_int_equal(begin(f), 2);
}

#define stored(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stored(only_what_may_happen_is_due),
        stored(an_approved_one_is_due_when_it_is_consumed),
        stored(what_came_of_it_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
