#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runner/base/digest.h"
#include "runner/base/mem.h"
#include "tests/unit/ui/fixture.h"
#include "ui/screens.h"

enum { ROWS = 24, COLS = 80 };

static void open_busy(struct fixture *f)
{
    fixture_init(f, ROWS, COLS);
    fixture_load(f, fixture_busy(8));
    f->desk.card_moved_ms = 0;
    fixture_draw(f, ROWS, COLS);
    (void)fixture_asked(f);
}

/* Type key by key with a drawing after each, as a person would see it. */
static const char *press(struct fixture *f, const char *keys)
{
    fixture_type(f, keys);
    fixture_draw(f, ROWS, COLS);
    return fixture_asked(f);
}

static void check_top(const struct fixture *f, const struct screen_ops *ops)
{
    assert_string_equal(f->desk.top->ops->name, ops->name);
}

static void goes_from_screen_to_screen(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        const struct screen_ops *top;
    } steps[] = {
        {"\t", &scr_queue_ops},      {"\t", &scr_attempts_ops},   {"g", &scr_queue_ops},
        {"\r", &scr_call_ops},       {"?", &scr_help_ops},        {"x", &scr_call_ops},
        {"g", &scr_queue_ops},       {"q", &scr_call_ops},        {"q", &scr_attempts_ops},
        {"\r", &scr_attempt_ops},    {"o", &scr_output_ops},      {"v", &scr_diff_ops},
        {"o", &scr_output_ops},      {"q", &scr_diff_ops},        {"v", &scr_attempt_ops},
        {"\x1b", &scr_attempts_ops}, {"\x1b", &scr_attempts_ops}, {"a", &scr_call_ops},
        {"d", &scr_deny_ops},        {"q?g", &scr_deny_ops},      {"\x1b", &scr_call_ops},
    };
    struct fixture f;
    open_busy(&f);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        press(&f, steps[i].keys);
        check_top(&f, steps[i].top);
    }
    fixture_release(&f);
}

static void quits(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    assert_string_equal(press(&f, "q"), "quit\n");
    assert_null(f.desk.top);
    fixture_release(&f);
}

static void sends(const char *asked, const char *op, const char *id, const char *digest_of,
                  const char *more)
{
    char digest[DIGEST_HEX_SIZE];
    AUTO_FREE char *expected = NULL;
    digest_bytes(digest, digest_of, strlen(digest_of));
    AUTO_FREE char *request =
        xasprintf("%s {\"decision\":\"%s\",\"digest\":\"%s\",\"ids\":[\"%s\"]%s}\n", "call.decide",
                  op, digest, id, more);
    if (!strstr(asked, request))
        fail_msg("wanted %s in:\n%s", request, asked);
}

static void decides_a_card_with_every_digest(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "g");
    const char *asked = press(&f, "a");
    sends(asked, "allow", "c1", "c1", "");
    sends(asked, "allow", "c3", "c3", "");
    sends(asked, "allow", "c4", "c4", "");
    assert_null(strstr(asked, "[\"c2\"]"));
    fixture_release(&f);
}

static void decides_one_call_of_a_card(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "a"); /* from the attempt: its own call only */
    const char *asked = press(&f, "a");
    sends(asked, "allow", "c1", "c1", "");
    assert_null(strstr(asked, "[\"c3\"]"));
    press(&f, "1");
    sends(press(&f, "a"), "allow", "c3", "c3", "");
    fixture_release(&f);
}

static void denies_with_a_reason(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "gj");
    press(&f, "d");
    press(&f, "not \"main\" \xc3\xa9\x1b[D\x1b[Dx");
    sends(press(&f, "\r"), "deny", "c2", "c2", ",\"reason\":\"not \\\"main\\\"x \xc3\xa9\"");
    check_top(&f, &scr_queue_ops);
    fixture_release(&f);
}

/* What a person saw is what is decided, even when the card grows or goes while the reason is typed.
 */
static void keeps_the_set_while_typing(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "g");
    press(&f, "d");
    json_t *late =
        fixture_call(9, "3.6", "Bash", "{\"command\":\"git push origin main\",\"timeout\":5000}");
    fixture_event(&f, "call", late);
    (void)fixture_asked(&f);
    const char *asked = press(&f, "no\r");
    sends(asked, "deny", "c1", "c1", ",\"reason\":\"no\"");
    assert_null(strstr(asked, "[\"c9\"]"));
    fixture_release(&f);
}

static void settle(struct fixture *f, const char *id, const char *state, const char *by)
{
    json_t *call = json_object();
    jx_set_str(call, "id", id);
    jx_set_str(call, "state", state);
    jx_set_str(call, "decided_by", by);
    fixture_event(f, "call", call);
}

/* A key that was meant for a card that has just gone must not decide the next one. */
static void guards_a_card_that_moved(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "g");
    settle(&f, "c1", "approved", "ben");
    settle(&f, "c3", "approved", "ben");
    settle(&f, "c4", "approved", "ben");
    fixture_draw(&f, ROWS, COLS);
    assert_string_equal(press(&f, "a"), "");
    assert_non_null(strstr(f.desk.status, "That card has just"));
    f.desk.now_ms += 1000;
    sends(press(&f, "a"), "allow", "c2", "c2", "");
    fixture_release(&f);
}

static void keeps_the_selected_card(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "gj"); /* c2 */
    settle(&f, "c1", "approved", "ben");
    settle(&f, "c3", "approved", "ben");
    settle(&f, "c4", "approved", "ben");
    fixture_event(&f, "call", fixture_call(0, "3.1", "Read", "{}"));
    (void)fixture_asked(&f);
    sends(press(&f, "a"), "allow", "c2", "c2", "");
    fixture_release(&f);
}

static void answer(struct fixture *f, bool is_allow, const char *call, const char *result)
{
    struct err err = ERR_INIT;
    json_t *parsed = NULL;
    if (result && !jx_parse(&parsed, result, strlen(result), &err))
        fail_msg("%s", err.text);
    AUTO_JSON json_t *owned = parsed;
    err_set(&err, ERR_SYS, "the server is gone, nothing was sent");
    desk_on_answer(&f->desk, is_allow ? ASK_APPROVE : ASK_DENY, call, owned, &err);
}

static void tells_what_became_of_a_decision(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "g");
    press(&f, "a");
    answer(&f, true, "c1", "{\"decided\":[{}],\"failed\":[]}");
    answer(&f, true, "c3", "{\"decided\":[{}],\"failed\":[]}");
    assert_string_equal(f.desk.status, "approved 2 of 3 calls");
    settle(&f, "c4", "denied", "ben (shell, pid 7)");
    answer(&f, true, "c4",
           "{\"decided\":[],\"failed\":[{\"id\":\"c4\",\"code\":\"conflict\",\"message\":\"already "
           "decided\"}]}");
    assert_string_equal(f.desk.status,
                        "approved 2 of 3; c4: already decided (denied by ben (shell, pid 7))");
    assert_true(f.desk.status_is_bad);
    press(&f, "jd");
    press(&f, "\r");
    answer(&f, false, "c2", NULL);
    assert_string_equal(f.desk.status, "c2: the server is gone, nothing was sent");
    fixture_release(&f);
}

static void stops_only_when_pressed_twice(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    assert_string_equal(press(&f, "s"), "");
    assert_non_null(strstr(f.desk.status, "again"));
    assert_string_equal(press(&f, "j"), ""); /* any other key: no */
    assert_string_equal(press(&f, "s"), "");
    assert_string_equal(press(&f, "s"), "attempt.stop {\"ids\":[\"3.2\"]}\n");
    press(&f, "jjj");
    assert_string_equal(press(&f, "s"), ""); /* 3.5 has ended */
    assert_non_null(strstr(f.desk.status, "3.5 has ended"));
    fixture_release(&f);
}

static void pasted_text_is_no_command(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "g");
    assert_string_equal(press(&f, "\x1b[200~aq\rs\x1b[201~"), "");
    check_top(&f, &scr_queue_ops);
    fixture_release(&f);
}

static void rings_for_new_calls_only(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    fixture_event(&f, "call", fixture_call(5, "3.2", "Bash", "{\"command\":\"ls\"}"));
    assert_string_equal(fixture_asked(&f), "alert 5\n");
    fixture_event(&f, "call", fixture_call(5, "3.2", "Bash", "{\"command\":\"ls\"}"));
    assert_string_equal(fixture_asked(&f), "");
    settle(&f, "c5", "approved", "ana");
    assert_string_equal(fixture_asked(&f), "");
    fixture_release(&f);
}

static void opens_output_and_diff(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    assert_string_equal(press(&f, "o"), "tail /state/attempts/3.1\n");
    assert_string_equal(press(&f, "\t"), "tail -\ndiff 3.1 /home/ana/src/parser 1a2b 9f8e\n");
    assert_string_equal(press(&f, "r"), "attempt.harvest {\"ids\":[\"3.1\"]}\n");
    desk_on_answer(&f.desk, ASK_HARVEST, "3.1", json_true(), NULL);
    assert_string_equal(fixture_asked(&f), "diff 3.1 /home/ana/src/parser 1a2b 9f8e\n");
    struct err err = ERR_INIT;
    err_set(&err, ERR_FAILED, "late");
    desk_on_diff(&f.desk, "9.9", NULL, &err); /* of another screen: dropped */
    fixture_release(&f);
}

static void traces_an_attempt(void **state)
{
    (void)state;
    static const char ask[] = "attempt.trace {\"ids\":[\"3.1\"]}\n";
    struct fixture f;
    struct err err = ERR_INIT;
    open_busy(&f);
    assert_string_equal(press(&f, "w"), ask);
    check_top(&f, &scr_trace_ops);
    err_set(&err, ERR_FAILED, "late");
    desk_on_answer(&f.desk, ASK_TRACE, "9.9", NULL, &err); /* of another attempt: dropped */
    desk_on_answer(&f.desk, ASK_TRACE, "3.1", NULL, &err);
    assert_string_equal(press(&f, "r"), ask);
    assert_string_equal(press(&f, "q"), "");
    check_top(&f, &scr_attempts_ops);
    desk_on_answer(&f.desk, ASK_TRACE, "3.1", NULL, &err); /* its screen is closed */
    /* What looks like one of these keys to a program that counts in bytes is another. */
    assert_string_equal(press(&f, "\xc5\xaf\xc5\xb6"), "");
    check_top(&f, &scr_attempts_ops);
    fixture_release(&f);
}

static void passes_keys_to_the_terminal(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    assert_string_equal(press(&f, "t"), ""); /* 3.1 is headless */
    assert_non_null(strstr(f.desk.status, "without a terminal"));
    assert_string_equal(press(&f, "jt"), "live /run/k3.2 80x23\n");
    assert_true(desk_wants_raw(&f.desk));
    assert_string_equal(press(&f, "qa\x03\x1a\x1d\x1d"), "send qa\x03\x1a\x1d\n");
    desk_on_live(&f.desk, "\x1b[?1h", 5);
    assert_string_equal(press(&f, "\x1b[A\x1b[15~\x1b"), "send \x1bOA\x1b[15~\x1b\n");
    fixture_draw(&f, 40, 100);
    assert_string_equal(fixture_asked(&f), "resize 100x39\n");
    assert_string_equal(press(&f, "x\x1d"
                                  "dj"),
                        "send x\nlive close\n");
    check_top(&f, &scr_attempts_ops);
    assert_string_equal(f.desk.attempt, "3.3"); /* the j behind the detach was a key again */
    fixture_release(&f);
}

static void terminal_ends(void **state)
{
    (void)state;
    struct fixture f;
    open_busy(&f);
    press(&f, "jt");
    desk_on_live_end(&f.desk, 3, NULL);
    assert_string_equal(press(&f, "x"), "live close\n");
    check_top(&f, &scr_attempts_ops);
    fixture_release(&f);
}

static void asks_for_layers_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ROWS, COLS);
    fixture_load(&f, fixture_busy(8));
    assert_non_null(strstr(fixture_asked(&f), "attempt.show {\"ids\":[\"3.1\"]}\n"));
    fixture_event(&f, "attempt", fixture_attempt(3, 1, "running"));
    assert_string_equal(fixture_asked(&f), "");
    fixture_release(&f);
}

/* The clock alone asks for a drawing only when a time in sight will change. */
static void ticks_only_for_visible_ages(void **state)
{
    (void)state;
    struct fixture f;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    fixture_init(&f, ROWS, COLS);
    assert_int_equal(desk_draw(&f.desk, &cv, ROWS, COLS), INT64_MAX);
    json_t *snapshot = fixture_snapshot();
    fixture_add(snapshot, "attempts", fixture_attempt(3, 1, "done"));
    fixture_load(&f, snapshot);
    assert_int_equal(desk_draw(&f.desk, &cv, ROWS, COLS), INT64_MAX);
    fixture_event(&f, "attempt",
                  fixture_attempt(3, 2, "running")); /* 125 s old: minutes are shown */
    assert_int_equal(desk_draw(&f.desk, &cv, ROWS, COLS) - f.desk.now_ms, 55000);
    json_t *young = fixture_attempt(3, 3, "running");
    jx_set_int(young, "started_ms", FIXTURE_NOW_MS - 10300);
    fixture_event(&f, "attempt", young);
    assert_int_equal(desk_draw(&f.desk, &cv, ROWS, COLS) - f.desk.now_ms, 700);
    press(&f, "?");
    assert_int_equal(desk_draw(&f.desk, &cv, ROWS, COLS), INT64_MAX);
    fixture_release(&f);
}

static void fetches_arguments_that_were_too_large(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ROWS, COLS);
    json_t *snapshot = fixture_busy(1), *big = fixture_call(7, "3.1", "Write", "{}");
    json_object_del(big, "args");
    jx_set_int(big, "asked_ms", 1);
    fixture_add(snapshot, "calls", big);
    fixture_load(&f, snapshot);
    f.desk.now_ms += 1000;
    press(&f, "g");
    assert_string_equal(press(&f, "a"), "call.show {\"call\":\"c7\"}\n"); /* not decided unseen */
    check_top(&f, &scr_call_ops);
    assert_string_equal(press(&f, "a"), "");
    AUTO_JSON json_t *result = json_object();
    jx_set(result, "call", fixture_call(7, "3.1", "Write", "{\"content\":\"x\"}"));
    desk_on_answer(&f.desk, ASK_CALL, "c7", result, NULL);
    sends(press(&f, "a"), "allow", "c7", "c7", "");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_from_screen_to_screen),
        cmocka_unit_test(quits),
        cmocka_unit_test(decides_a_card_with_every_digest),
        cmocka_unit_test(decides_one_call_of_a_card),
        cmocka_unit_test(denies_with_a_reason),
        cmocka_unit_test(keeps_the_set_while_typing),
        cmocka_unit_test(guards_a_card_that_moved),
        cmocka_unit_test(keeps_the_selected_card),
        cmocka_unit_test(tells_what_became_of_a_decision),
        cmocka_unit_test(stops_only_when_pressed_twice),
        cmocka_unit_test(pasted_text_is_no_command),
        cmocka_unit_test(rings_for_new_calls_only),
        cmocka_unit_test(opens_output_and_diff),
        cmocka_unit_test(traces_an_attempt),
        cmocka_unit_test(passes_keys_to_the_terminal),
        cmocka_unit_test(terminal_ends),
        cmocka_unit_test(asks_for_layers_once),
        cmocka_unit_test(ticks_only_for_visible_ages),
        cmocka_unit_test(fetches_arguments_that_were_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
