/*
 * The gate of a running attempt: calls from inside the real box, decisions from the server's side.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "gate/call.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

#define ASK "keep_caller call Write '{\"file_path\":\"/w/f\",\"content\":\"x\"}'"

static void world_init_asking(struct world *w, const char *script)
{
    world_init(w, script);
    jx_set_str(jx_obj(w->config, "policy"), "ladder", "confirm");
}

static void decide(struct world *w, const json_t *asked, const char *decision, const char *reason)
{
    world_send(w,
               json_pack("{s:s s:I s:s s:s s:s s:s s:s}", "t", "decide", "call",
                         (json_int_t)jx_int(asked, "call", 0), "name", "c12", "decision", decision,
                         "reason", reason, "why", "person", "digest", jx_str(asked, "digest", "")));
}

static void what_the_ladder_allows_is_on_record_and_answered(void **state)
{
    (void)state;
    struct world w;
    struct err err = ERR_INIT;
    world_init(&w, "keep_caller call Bash '{\"command\":\"true\"}'");
    world_start(&w);
    AUTO_JSON json_t *decided = world_record(&w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "allow");
    assert_string_equal(jx_str(decided, "why", ""), "ladder");
    /* The agent is known by its socket, whatever it claims ("other"). */
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    char digest[DIGEST_HEX_SIZE], action[DIGEST_HEX_SIZE];
    assert_true(call_request_from_json(&request, jx_obj(decided, "request"), &err));
    assert_string_equal(request.agent, "command");
    call_action_digest(action, &request);
    call_digest(digest, "3.2", jx_int(decided, "call", 0), &request);
    assert_string_equal(jx_str(decided, "action", ""), action);
    assert_string_equal(jx_str(decided, "digest", ""), digest);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"decision\":\"allow\"");
    world_done(&w);
}

static void a_rule_denies_with_its_reason(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "keep_caller call Bash '{\"command\":\"docker ps\"}'");
    json_array_append_new(jx_arr(jx_obj(w.config, "policy"), "rules"),
                          json_pack("{s:i s:s}", "id", 5, "text", "deny command docker"));
    world_start(&w);
    AUTO_JSON json_t *decided = world_record(&w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "deny");
    assert_int_equal(jx_int(decided, "rule", 0), 5);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"decision\":\"deny\"");
    world_done(&w);
}

static void an_asked_call_waits_for_a_decision(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK ";" ASK);
    world_start(&w);
    AUTO_JSON json_t *first = world_record(&w, "asked");
    assert_true(jx_int(first, "deadline_ms", 0) > jx_int(first, "at_ms", 0));
    decide(&w, first, "allow", "");
    AUTO_JSON json_t *consumed = world_record(&w, "consumed");
    assert_int_equal(jx_int(consumed, "call", 0), jx_int(first, "call", -1));
    assert_string_equal(jx_str(consumed, "digest", ""), jx_str(first, "digest", "?"));
    AUTO_JSON json_t *second = world_record(&w, "asked");
    decide(&w, second, "deny", "not that file, use \xc3\xbc.txt");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(
        &w, "\"decision\":\"allow\",\"reason\":\"\",\"why\":\"person\",\"call\":\"c12\"");
    world_expect_in_log(&w, "not that file, use \xc3\xbc.txt");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "consumed"), 1);
    assert_int_equal(world_count(records, "orphaned"), 0);
    world_done(&w);
}

/* The way of every agent: the real hook client, twice, to a person's allow and denial. */
static void the_hook_client_carries_a_decision_both_ways(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w,
                      "for i in 1 2; do echo '{\"tool\":\"Write\",\"args\":{\"file_path\":"
                      "\"/w/f\",\"content\":\"x\"},\"cwd\":\"/w\"}' | "
                      "/b/headgate-hook --socket /run/headgate/gate.sock; echo \"code $?\"; done");
    box_spec_bind(&w.spec, HOOK, "/b/headgate-hook", 0);
    world_start(&w);
    AUTO_JSON json_t *first = world_record(&w, "asked");
    decide(&w, first, "allow", "");
    AUTO_JSON json_t *second = world_record(&w, "asked");
    decide(&w, second, "deny", "write to g instead");
    world_expect_exit(&w, 0, "exit");
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(&w, &log);
    const char *allowed = strstr(log.ptr, "code 0\n");
    const char *denied = strstr(log.ptr, "write to g instead");
    assert_true(allowed && denied && allowed < denied);
    assert_non_null(strstr(denied, "code 2\n"));
    world_done(&w);
}

/* As Claude Code asks: the same call again with its path joined is answered by the first answer,
 * once. */
static void a_call_that_is_told_twice_is_asked_once(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w,
                      "for path in f /w/f /w/f; do echo "
                      "'{\"tool\":\"Write\",\"args\":{\"file_path\":\"'$path'\"},\"cwd\":\"/w\","
                      "\"call_id\":\"t1\"}' | /b/headgate-hook --socket "
                      "/run/headgate/gate.sock; echo \"$path code $?\"; done");
    box_spec_bind(&w.spec, HOOK, "/b/headgate-hook", 0);
    world_start(&w);
    AUTO_JSON json_t *first = world_record(&w, "asked");
    decide(&w, first, "allow", "");
    AUTO_JSON json_t *second = world_record(&w, "asked");
    decide(&w, second, "deny", "not again");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"call\":\"\"}\n/w/f code 0\n");
    world_expect_in_log(&w, "/w/f code 2\n");
    world_done(&w);
}

static void a_server_that_comes_back_delivers_once(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    AUTO_JSON json_t *so_far = world_spool(&w);
    if (world_count(so_far, "started") == 0) /* the agent was quicker than the word of its start */
        json_decref(world_record(&w, "started"));
    world_disconnect(&w);
    /* It merged less than it was sent: those records come again. */
    w.acked = jx_int(asked, "seq", 0) - 2;
    world_connect(&w);
    const json_t *waiting = json_array_get(jx_arr(w.welcome, "waiting"), 0);
    assert_int_equal(jx_int(waiting, "call", 0), jx_int(asked, "call", -1));
    assert_string_equal(jx_str(w.welcome, "state", ""), "running");
    AUTO_JSON json_t *again = world_record(&w, "asked");
    assert_true(json_equal(again, asked));
    decide(&w, asked, "allow", "");
    decide(&w, asked, "allow", "");
    decide(&w, asked, "deny", "too late");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"decision\":\"allow\"");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "consumed"), 1);
    world_done(&w);
}

static void a_second_server_takes_over(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    struct sync_conn before = w.server;
    world_connect(&w);
    json_t *end = NULL;
    struct err err = ERR_INIT;
    while (sync_recv(&end, &before, -1, &err))
        json_decref(end);
    assert_int_equal(err.code, ERR_SYS);
    sync_close(&before);
    decide(&w, asked, "allow", "");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void without_a_server_the_policy_still_judges(void **state)
{
    (void)state;
    struct world w;
    world_init(&w,
               "read x < /w/go; keep_caller call Bash '{\"command\":\"true\"}'; echo up > /w/up");
    world_fifo_to_box(&w, "go");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_disconnect(&w);
    world_go(&w, "go");
    world_await_byte(up);
    world_connect(&w);
    AUTO_JSON json_t *decided = world_record(&w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "allow");
    world_expect_exit(&w, 0, "exit");
    close(up);
    world_done(&w);
}

static void a_decision_for_another_digest_is_a_denial(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    jx_set_str(asked, "digest", "0000");
    decide(&w, asked, "allow", "");
    AUTO_JSON json_t *orphaned = world_record(&w, "orphaned");
    assert_int_equal(jx_int(orphaned, "call", 0), jx_int(asked, "call", -1));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"decision\":\"deny\"");
    world_expect_in_log(&w, "\"why\":\"closed\"");
    world_done(&w);
}

static void a_hook_that_was_killed_is_orphaned(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK " & p=$!; read x < /w/go; kill -9 $p; wait; read x < /w/end");
    world_fifo_to_box(&w, "go");
    world_fifo_to_box(&w, "end");
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_go(&w, "go");
    AUTO_JSON json_t *orphaned = world_record(&w, "orphaned");
    assert_int_equal(jx_int(orphaned, "call", 0), jx_int(asked, "call", -1));
    decide(&w, asked, "allow", "");
    world_go(&w, "end");
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "consumed"), 0);
    world_done(&w);
}

static void a_deadline_that_passed_is_told_as_one(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    json_object_set_new(w.config, "deadline_ms", json_integer(150));
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_send(&w, json_pack("{s:s s:I s:s}", "t", "name", "call",
                             (json_int_t)jx_int(asked, "call", 0), "name", "c7"));
    AUTO_JSON json_t *expired = world_record(&w, "expired");
    assert_int_equal(jx_int(expired, "call", 0), jx_int(asked, "call", -1));
    decide(&w, asked, "allow", "");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"why\":\"deadline\",\"call\":\"c7\"");
    world_expect_in_log(&w, "Nobody decided call c7");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "consumed"), 0);
    world_done(&w);
}

/* Its time is over: said once, and it waits on. */
static void a_call_with_patience_is_overdue_and_waits_on(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    json_object_set_new(w.config, "deadline_ms", json_integer(100));
    json_object_set_new(w.config, "patience_ms", json_integer(60 * 1000));
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_true(jx_int(asked, "deadline_ms", 0) - jx_int(asked, "at_ms", 0) > 50 * 1000);
    AUTO_JSON json_t *overdue = world_record(&w, "overdue");
    assert_int_equal(jx_int(overdue, "call", 0), jx_int(asked, "call", -1));
    decide(&w, asked, "allow", "");
    AUTO_JSON json_t *consumed = world_record(&w, "consumed");
    assert_int_equal(jx_int(consumed, "call", 0), jx_int(asked, "call", -1));
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "overdue"), 1);
    assert_int_equal(world_count(records, "expired"), 0);
    world_done(&w);
}

/* Patience ends too. */
static void an_overdue_call_expires(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    json_object_set_new(w.config, "deadline_ms", json_integer(50));
    json_object_set_new(w.config, "patience_ms", json_integer(200));
    world_start(&w);
    AUTO_JSON json_t *overdue = world_record(&w, "overdue");
    AUTO_JSON json_t *expired = world_record(&w, "expired");
    assert_int_equal(jx_int(expired, "call", 0), jx_int(overdue, "call", -1));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"why\":\"deadline\"");
    world_done(&w);
}

static void a_waiting_call_is_closed_when_the_attempt_ends(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, ASK);
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    world_send(&w, json_pack("{s:s s:s s:i}", "t", "stop", "cause", "stopped", "grace_ms", 0));
    AUTO_JSON json_t *orphaned = world_record(&w, "orphaned");
    assert_int_equal(jx_int(orphaned, "call", 0), jx_int(asked, "call", -1));
    world_expect_exit(&w, 137, "stopped");
    world_done(&w);
}

static void a_second_request_on_a_connection_is_refused(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w,
                      "L='{\"v\":1,\"source\":\"hook\",\"agent\":\"a\",\"tool\":\"Write\",\"args\":"
                      "{\"file_path\":\"/w/f\"},\"cwd\":\"/w\"}\\n'; keep_caller raw \"$L$L\"");
    world_start(&w);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    AUTO_JSON json_t *orphaned = world_record(&w, "orphaned");
    assert_int_equal(jx_int(orphaned, "call", 0), jx_int(asked, "call", -1));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"why\":\"closed\"");
    world_done(&w);
}

static void nonsense_and_excess_are_denied_with_a_reason(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "keep_caller raw 'nonsense\\n'; keep_caller raw '{\"v\":1}\\n'; "
                   "keep_caller long 1500000; keep_caller flood 2000; sleep 1.1; "
                   "keep_caller call Bash '{\"command\":\"true\"}'");
    world_start(&w);
    AUTO_JSON json_t *note = world_record(&w, "note");
    AUTO_JSON json_t *decided = world_record(&w, "decided");
    assert_string_equal(jx_str(decided, "verdict", ""), "allow");
    world_expect_exit(&w, 0, "exit");
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(&w, &log);
    assert_int_equal(strncmp(log.ptr, "{\"v\":1,\"decision\":\"deny\"", 24), 0);
    const char *excess = strstr(log.ptr, "excess ");
    assert_non_null(excess);
    assert_true(atoi(excess + 7) > 0);
    assert_null(strstr(log.ptr, "no answer"));
    world_done(&w);
}

static void an_agent_cannot_speak_for_the_kernel(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(
        &w, "for s in net exec; do keep_caller raw \"{\\\"v\\\":1,\\\"source\\\":\\\"$s\\\","
            "\\\"agent\\\":\\\"other\\\",\\\"tool\\\":\\\"$s\\\",\\\"args\\\":{}}\\\\n\"; done");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "calls of source net are not an agent's to make");
    world_expect_in_log(&w, "calls of source exec are not an agent's to make");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 0);
    world_done(&w);
}

static void no_more_than_the_bound_may_wait(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, "keep_caller hold 260 4");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 256);
    assert_int_equal(world_count(records, "orphaned"), 256);
    world_expect_in_log(&w, "excess 4");
    world_done(&w);
}

static void a_new_policy_is_in_force_when_its_epoch_is_told(void **state)
{
    (void)state;
    struct world w;
    world_init_asking(&w, "read x < /w/go; " ASK);
    world_fifo_to_box(&w, "go");
    world_start(&w);
    AUTO_JSON json_t *started = world_record(&w, "started");
    world_send(
        &w, json_pack("{s:s s:i s:s s:[]}", "t", "policy", "epoch", 4, "ladder", "auto", "rules"));
    AUTO_JSON json_t *epoch = world_message(&w, "epoch");
    assert_int_equal(jx_int(epoch, "epoch", 0), 4);
    /* An older one, late, changes nothing. */
    world_send(&w, json_pack("{s:s s:i s:s s:[]}", "t", "policy", "epoch", 2, "ladder", "confirm",
                             "rules"));
    AUTO_JSON json_t *same = world_message(&w, "epoch");
    assert_int_equal(jx_int(same, "epoch", 0), 4);
    world_send(
        &w, json_pack("{s:s s:i s:s s:[]}", "t", "policy", "epoch", 9, "ladder", "none", "rules"));
    world_go(&w, "go");
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "asked"), 0);
    assert_int_equal(world_count(records, "decided"), 1);
    assert_int_equal(world_count(records, "note"), 1);
    world_done(&w);
}

/* A window of records is on its way at once; the rest follows the acknowledgements. (The pause
 * keeps the agent below the calls that it may make a second.) */
static void many_records_reach_a_server_that_comes_late(void **state)
{
    (void)state;
    struct world w;
    world_init(&w,
               "read x < /w/go; i=0; while [ $i -lt 300 ]; do "
               "[ $i -eq 150 ] && sleep 1.1; keep_caller call Bash "
               "'{\"command\":\"true\"}' > /w/out || exit 9; i=$((i+1)); done; echo up > /w/up");
    world_fifo_to_box(&w, "go");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_disconnect(&w);
    w.acked = 0;
    world_go(&w, "go");
    world_await_byte(up);
    world_connect(&w);
    world_expect_exit(&w, 0, "exit");
    assert_int_equal(w.acked, 2 + 300 + 1);
    close(up);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(what_the_ladder_allows_is_on_record_and_answered),
        world_test(a_rule_denies_with_its_reason),
        world_test(an_asked_call_waits_for_a_decision),
        world_test(the_hook_client_carries_a_decision_both_ways),
        world_test(a_call_that_is_told_twice_is_asked_once),
        world_test(a_server_that_comes_back_delivers_once),
        world_test(a_second_server_takes_over),
        world_test(without_a_server_the_policy_still_judges),
        world_test(a_decision_for_another_digest_is_a_denial),
        world_test(a_hook_that_was_killed_is_orphaned),
        world_test(a_deadline_that_passed_is_told_as_one),
        world_test(a_call_with_patience_is_overdue_and_waits_on),
        world_test(an_overdue_call_expires),
        world_test(a_waiting_call_is_closed_when_the_attempt_ends),
        world_test(a_second_request_on_a_connection_is_refused),
        world_test(nonsense_and_excess_are_denied_with_a_reason),
        world_test(an_agent_cannot_speak_for_the_kernel),
        world_test(no_more_than_the_bound_may_wait),
        world_test(a_new_policy_is_in_force_when_its_epoch_is_told),
        world_test(many_records_reach_a_server_that_comes_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
