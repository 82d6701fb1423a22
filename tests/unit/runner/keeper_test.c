/*
 * The server's side of the stream to a keeper. The keeper here is this test, which speaks the
 * protocol of runner/PROTOCOL.md word for word at the real socket, so that every moment can be
 * chosen; the real keeper is met in the black-box tests.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate/spool.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"
#include "tests/unit/runner/world.h"

enum { WAIT_MS = 20 * 1000 };

static const char request[] =
    "{\"v\":1,\"source\":\"hook\",\"agent\":\"command\",\"tool\":\"Bash\","
    "\"args\":{\"command\":\"git push\"},\"cwd\":\"/w\",\"call_id\":\"\",\"session\":\"\"}";

struct keeper {
    int listen_fd;
    struct sync_conn conn;
};

static void keeper_listen(struct keeper *k, struct world *w)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = paths_keeper_socket(&w->paths, "1.1");
    k->conn.fd = -1;
    k->listen_fd = socket_listen(path, 0600, &err);
    if (k->listen_fd < 0)
        fail_msg("%s", err.text);
}

static void keeper_send(struct keeper *k, const char *text)
{
    struct err err = ERR_INIT;
    json_t *message;
    assert_ok(jx_parse(&message, text, strlen(text), &err));
    assert_ok(sync_send(&k->conn, message, &err));
    json_decref(message);
}

/* The next message of this kind; others are passed over. */
static json_t *keeper_await(struct keeper *k, const char *kind)
{
    struct err err = ERR_INIT;
    for (;;) {
        json_t *message;
        assert_ok(sync_recv(&message, &k->conn, WAIT_MS, &err));
        if (!message)
            fail_msg("the server did not say '%s'", kind);
        if (strcmp(jx_str(message, "t", ""), kind) == 0)
            return message;
        json_decref(message);
    }
}

/* Take the server's connection and greet: what it says it has. */
static int64_t keeper_greet(struct keeper *k, const char *state, const char *waiting)
{
    struct pollfd knock = {.fd = k->listen_fd, .events = POLLIN};
    if (poll(&knock, 1, WAIT_MS) != 1)
        fail_msg("the server did not connect");
    sync_close(&k->conn);
    k->conn.fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(k->conn.fd >= 0);
    frame_init(&k->conn.frame, LIMIT_LINE_BYTES);
    AUTO_JSON json_t *hello = keeper_await(k, "hello");
    assert_string_equal(jx_str(hello, "role", ""), "server");
    AUTO_FREE char *welcome =
        xasprintf("{\"t\":\"welcome\",\"v\":1,\"attempt\":\"1.1\",\"pid\":0,\"start_ticks\":0,"
                  "\"boot_id\":\"\",\"state\":\"%s\",\"epoch\":0,\"waiting\":%s}",
                  state, waiting);
    keeper_send(k, welcome);
    return jx_int(hello, "acked", -1);
}

static void keeper_record(struct keeper *k, int64_t seq, const char *kind, const char *members)
{
    AUTO_FREE char *text =
        xasprintf("{\"t\":\"record\",\"record\":{\"seq\":%lld,\"at_ms\":%lld,\"prev\":\"\","
                  "\"r\":\"%s\"%s,\"hash\":\"\"}}",
                  (long long)seq, (long long)(1000 + seq), kind, members);
    keeper_send(k, text);
}

static void keeper_asks(struct keeper *k, int64_t seq)
{
    AUTO_FREE char *members = xasprintf(
        ",\"call\":%lld,\"request\":%s,\"deadline_ms\":99999999999999", (long long)seq, request);
    keeper_record(k, seq, "asked", members);
}

static void keeper_await_ack(struct keeper *k, int64_t seq)
{
    int64_t acked = 0;
    while (acked < seq) {
        AUTO_JSON json_t *ack = keeper_await(k, "ack");
        acked = jx_int(ack, "seq", 0);
    }
    assert_int_equal(acked, seq);
}

static void keeper_leave(struct keeper *k, struct world *w)
{
    AUTO_FREE char *path = paths_keeper_socket(&w->paths, "1.1");
    close(k->listen_fd);
    unlink(path);
    sync_close(&k->conn);
}

/* An attempt that runs, as the store sees it, with this test as its keeper. */
static void begin(struct world *w, struct keeper *k)
{
    world_add_run(w, 1, 1);
    world_set_state(w, "1.1", ATTEMPT_RUNNING);
    keeper_listen(k, w);
    assert_int_equal(world_start(w), 0);
    assert_int_equal(keeper_greet(k, "running", "[]"), 0);
}

/* The scripted keeper has no worktree, so nothing can be brought home, which fails an attempt that
 * ended well. */
static void assert_ended_without_harvest(const json_t *attempt)
{
    assert_string_equal(jx_str(attempt, "outcome", ""), "failed");
    assert_non_null(strstr(jx_str(attempt, "error", ""), "could not be brought home"));
    assert_int_equal(jx_int(attempt, "exit_status", -1), 0);
}

static void an_attempt_is_adopted_and_ends(void **state)
{
    struct world *w = *state;
    struct keeper k;
    begin(w, &k);
    AUTO_JSON json_t *policy = keeper_await(&k, "policy");
    assert_string_equal(jx_str(policy, "ladder", ""), "edits");
    keeper_record(&k, 1, "started", "");
    keeper_record(&k, 2, "layers", ",\"layers\":[{\"name\":\"user\",\"state\":\"active\"}]");
    keeper_send(&k, "{\"t\":\"line\",\"line\":\"the last words\",\"bytes\":9}");
    keeper_record(&k, 3, "exited", ",\"status\":0,\"cause\":\"exit\",\"error\":null");
    keeper_await_ack(&k, 3);
    json_decref(keeper_await(&k, "quit"));
    keeper_leave(&k, w);
    AUTO_JSON json_t *attempt = world_await(w, "1.1", "done");
    assert_ended_without_harvest(attempt);
    assert_string_equal(jx_str(attempt, "last_line", ""), "the last words");
    AUTO_JSON json_t *shown = world_get(w, "attempt.show", json_pack("{s:[s]}", "ids", "1"));
    const json_t *whole = json_array_get(jx_arr(shown, "attempts"), 0);
    assert_int_equal(json_array_size(jx_arr(whole, "layers")), 1);
}

static void a_call_is_asked_and_decided(void **state)
{
    struct world *w = *state;
    struct keeper k;
    begin(w, &k);
    keeper_asks(&k, 1);
    AUTO_JSON json_t *name = keeper_await(&k, "name");
    assert_string_equal(jx_str(name, "name", ""), "c1");
    AUTO_JSON json_t *pending = world_await_call(w, "c1", "pending");
    const char *digest = jx_str(pending, "digest", "");
    struct sync_conn c = {.fd = -1};
    struct err err = ERR_INIT;
    world_connect(w, &c);
    AUTO_JSON json_t *wrong = world_ask(
        &c, "call.decide",
        json_pack("{s:[s], s:s, s:s}", "ids", "c1", "decision", "allow", "digest", "0000"), &err);
    assert_string_equal(jx_str(json_array_get(jx_arr(wrong, "failed"), 0), "code", ""), "conflict");
    AUTO_JSON json_t *decided =
        world_ask(&c, "call.decide",
                  json_pack("{s:[s], s:s, s:s, s:s}", "ids", "c1", "decision", "deny", "digest",
                            digest, "reason", "not on a Friday"),
                  &err);
    assert_int_equal(json_array_size(jx_arr(decided, "decided")), 1);
    AUTO_JSON json_t *told = keeper_await(&k, "decide");
    assert_int_equal(jx_int(told, "call", 0), 1);
    assert_string_equal(jx_str(told, "decision", ""), "deny");
    assert_string_equal(jx_str(told, "reason", ""), "not on a Friday");
    AUTO_JSON json_t *late = world_ask(
        &c, "call.decide", json_pack("{s:[s], s:s}", "ids", "c1", "decision", "allow"), &err);
    const char *why = jx_str(json_array_get(jx_arr(late, "failed"), 0), "message", "");
    if (!strstr(why, "denied by") || !strstr(why, "(shell, pid "))
        fail_msg("the loser is not told by whom: %s", why);
    sync_close(&c);
    keeper_leave(&k, w);
}

static void a_killed_server_loses_no_call(void **state)
{
    struct world *w = *state;
    struct keeper k;
    begin(w, &k);
    keeper_asks(&k, 1);
    keeper_await_ack(&k, 1);
    world_kill(w);
    assert_int_equal(world_start(w), 0);
    assert_int_equal(
        keeper_greet(&k, "running", "[{\"call\":1,\"name\":\"c1\"},{\"call\":2,\"name\":\"\"}]"),
        1);
    AUTO_JSON json_t *name = keeper_await(&k, "name");
    assert_string_equal(jx_str(name, "name", ""), "c1");
    keeper_asks(&k, 2); /* was spooled while no server was there */
    AUTO_JSON json_t *second = keeper_await(&k, "name");
    assert_string_equal(jx_str(second, "name", ""), "c2");
    AUTO_JSON json_t *decided =
        world_get(w, "call.decide", json_pack("{s:b, s:s}", "all", 1, "decision", "allow"));
    assert_int_equal(json_array_size(jx_arr(decided, "decided")), 2);
    world_kill(w);
    /* Decided, but nobody knows whether the keeper heard it: it is told again. */
    assert_int_equal(world_start(w), 0);
    assert_int_equal(keeper_greet(&k, "running", "[{\"call\":1,\"name\":\"c1\"}]"), 2);
    AUTO_JSON json_t *told = keeper_await(&k, "decide");
    assert_string_equal(jx_str(told, "decision", ""), "allow");
    assert_int_equal(jx_int(told, "call", 0), 1);
    keeper_record(&k, 3, "consumed", ",\"call\":1");
    keeper_await_ack(&k, 3);
    AUTO_JSON json_t *other = world_get(w, "call.show", json_pack("{s:s}", "call", "c2"));
    assert_string_equal(jx_str(jx_obj(other, "call"), "state", ""), "approved");
    AUTO_JSON json_t *shown = world_get(w, "call.show", json_pack("{s:s}", "call", "c1"));
    assert_string_equal(jx_str(jx_obj(shown, "call"), "state", ""), "consumed");
    keeper_leave(&k, w);
}

static void a_broken_stream_is_opened_again(void **state)
{
    struct world *w = *state;
    struct keeper k;
    begin(w, &k);
    keeper_record(&k, 1, "started", "");
    keeper_await_ack(&k, 1);
    assert_int_equal(send(k.conn.fd, "{nonsense\n", 10, MSG_NOSIGNAL), 10);
    assert_int_equal(keeper_greet(&k, "running", "[]"), 1);
    keeper_record(&k, 1, "started", ""); /* again, as after a lost acknowledgement */
    keeper_record(&k, 2, "note", ",\"text\":\"still here\"");
    keeper_await_ack(&k, 2);
    keeper_leave(&k, w);
}

static void a_keeper_that_vanishes_is_lost(void **state)
{
    struct world *w = *state;
    struct keeper k;
    begin(w, &k);
    keeper_asks(&k, 1);
    keeper_await_ack(&k, 1);
    keeper_leave(&k, w);
    AUTO_JSON json_t *attempt = world_await(w, "1.1", "done");
    assert_string_equal(jx_str(attempt, "outcome", ""), "lost");
    AUTO_JSON json_t *shown = world_get(w, "call.show", json_pack("{s:s}", "call", "c1"));
    assert_string_equal(jx_str(jx_obj(shown, "call"), "state", ""), "orphaned");
}

/* A stop is answered when the attempt has ended, not before. */
static void a_stop_waits_for_the_end(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct keeper k;
    struct sync_conn c = {.fd = -1};
    begin(w, &k);
    world_connect(w, &c);
    AUTO_JSON json_t *ask =
        json_pack("{s:i, s:s, s:[s]}", "id", 77, "op", "attempt.stop", "ids", "1.1");
    assert_ok(sync_send(&c, ask, &err));
    AUTO_JSON json_t *stop = keeper_await(&k, "stop");
    assert_string_equal(jx_str(stop, "cause", ""), "stopped");
    json_t *early = NULL;
    assert_ok(sync_recv(&early, &c, 0, &err));
    assert_null(early);
    keeper_record(&k, 1, "exited", ",\"status\":143,\"cause\":\"stopped\"");
    json_decref(keeper_await(&k, "quit"));
    keeper_leave(&k, w);
    json_t *answer = NULL;
    assert_ok(sync_recv(&answer, &c, WAIT_MS, &err));
    assert_int_equal(jx_int(answer, "id", 0), 77);
    const json_t *stopped = json_array_get(jx_arr(jx_obj(answer, "result"), "attempts"), 0);
    assert_string_equal(jx_str(stopped, "state", ""), "done");
    assert_string_equal(jx_str(stopped, "outcome", ""), "stopped");
    json_decref(answer);
    sync_close(&c);
}

/* A server that died between the store and the word to the keeper says it when it is there again.
 */
static void a_stop_outlives_the_server(void **state)
{
    struct world *w = *state;
    struct keeper k;
    world_add_run(w, 1, 1);
    world_set_tree(w, "1.1");
    world_set_state(w, "1.1", ATTEMPT_STOPPING);
    keeper_listen(&k, w);
    assert_int_equal(world_start(w), 0);
    keeper_greet(&k, "running", "[]");
    json_decref(keeper_await(&k, "stop"));
    keeper_leave(&k, w);
    AUTO_JSON json_t *attempt = world_await(w, "1.1", "done");
    assert_string_equal(jx_str(attempt, "outcome", ""), "stopped");
}

static void a_rule_is_answered_when_the_keeper_has_it(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct keeper k;
    struct sync_conn c = {.fd = -1};
    begin(w, &k);
    json_decref(keeper_await(&k, "policy"));
    world_connect(w, &c);
    AUTO_JSON json_t *ask = json_pack("{s:i, s:s, s:[s]}", "id", 5, "op", "rule.add", "texts",
                                      "allow tool Read in run 1");
    assert_ok(sync_send(&c, ask, &err));
    AUTO_JSON json_t *policy = keeper_await(&k, "policy");
    assert_int_equal(jx_int(policy, "epoch", 0), 1);
    assert_int_equal(json_array_size(jx_arr(policy, "rules")), 1);
    json_t *answer = NULL;
    assert_ok(sync_recv(&answer, &c, 0, &err));
    assert_null(answer);
    keeper_send(&k, "{\"t\":\"epoch\",\"epoch\":1}");
    assert_ok(sync_recv(&answer, &c, WAIT_MS, &err));
    assert_true(jx_bool(answer, "ok", false));
    json_decref(answer);
    sync_close(&c);
    keeper_leave(&k, w);
}

/* A keeper of an attempt that is over, as a server that died before it said "quit" leaves it. */
static void a_forgotten_keeper_is_sent_home(void **state)
{
    struct world *w = *state;
    struct keeper k;
    world_add_run(w, 1, 1);
    world_set_state(w, "1.1", ATTEMPT_DONE);
    keeper_listen(&k, w);
    assert_int_equal(world_start(w), 0);
    keeper_greet(&k, "exited", "[]");
    json_decref(keeper_await(&k, "quit"));
    keeper_leave(&k, w);
}

/* What a keeper that is no more has left in the attempt's folder: it started, and its agent ended
 * well. */
static void leave_spool(struct world *w)
{
    struct err err = ERR_INIT;
    struct spool *spool;
    int64_t seq;
    AUTO_FREE char *dir = paths_attempt(&w->paths, "1.1");
    assert_ok(fs_mkdirs(dir, 0700, &err));
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, dir, &err);
    assert_ok(spool_open(&spool, dirfd, &err));
    AUTO_JSON json_t *started = json_pack("{s:s}", "r", "started");
    AUTO_JSON json_t *exited =
        json_pack("{s:s, s:i, s:s}", "r", "exited", "status", 0, "cause", "exit");
    assert_ok(spool_append(spool, started, &seq, &err));
    assert_ok(spool_append(spool, exited, &seq, &err));
    spool_close(spool);
}

/* Also when the server died right after it had started the keeper: nothing is run twice. */
static void what_a_keeper_spooled_counts_when_it_is_gone(void **state)
{
    struct world *w = *state;
    static const enum attempt_state states[] = {ATTEMPT_STARTING, ATTEMPT_RUNNING,
                                                ATTEMPT_STOPPING};
    world_add_run(w, 1, 1);
    world_set_tree(w, "1.1");
    leave_spool(w);
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        world_reset(w, "1.1", states[i]);
        assert_int_equal(world_start(w), 0);
        AUTO_JSON json_t *attempt = world_await(w, "1.1", "done");
        assert_ended_without_harvest(attempt);
        world_kill(w);
    }
}

static void half_done_work_is_finished(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *id;
        enum attempt_state state;
        const char *outcome;
    } cases[] = {
        {"1.1", ATTEMPT_RUNNING, "lost"},     /* its keeper died with the machine */
        {"1.2", ATTEMPT_STOPPING, "stopped"}, /* asked to stop while it was prepared */
        {"1.3", ATTEMPT_HARVESTING, NULL},    /* the outcome was known before */
        {"1.4", ATTEMPT_PREPARING, "failed"}, /* queued again; there is no such repository */
        {"1.5", ATTEMPT_STARTING, "failed"},  /* there is nothing to launch */
        {"1.6", ATTEMPT_QUEUED, "failed"},
    };
    world_add_run(w, 1, (int64_t)ARRAY_LEN(cases));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        world_set_state(w, cases[i].id, cases[i].state);
    assert_int_equal(world_start(w), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON json_t *attempt = world_await(w, cases[i].id, "done");
        const char *outcome = jx_str(attempt, "outcome", "");
        if (cases[i].outcome && strcmp(outcome, cases[i].outcome) != 0)
            fail_msg("%s: %s", cases[i].id, outcome);
        bool has_error = jx_str(attempt, "error", NULL) != NULL;
        if (strcmp(outcome, "failed") == 0 && !has_error)
            fail_msg("%s failed without a word", cases[i].id);
    }
}

static void a_queue_is_stopped(void **state)
{
    struct world *w = *state;
    struct keeper k;
    world_add_run(w, 1, 3); /* two at once: the first of them this keeper's */
    world_set_state(w, "1.1", ATTEMPT_RUNNING);
    world_set_state(w, "1.2", ATTEMPT_DONE);
    keeper_listen(&k, w);
    world_write(w, "home/.config/headgate/config", "[run]\n\tattempts = 1\n");
    assert_int_equal(world_start(w), 0);
    keeper_greet(&k, "running", "[]");
    json_decref(world_await(w, "1.3", "queued"));
    AUTO_JSON json_t *stopped = world_get(w, "attempt.stop", json_pack("{s:[s]}", "ids", "1.3"));
    const json_t *attempt = json_array_get(jx_arr(stopped, "attempts"), 0);
    assert_string_equal(jx_str(attempt, "outcome", ""), "stopped");
    AUTO_JSON json_t *discarded =
        world_get(w, "attempt.discard", json_pack("{s:[s,s]}", "ids", "1.3", "1.1"));
    assert_int_equal(json_array_size(jx_arr(discarded, "discarded")), 1);
    assert_string_equal(jx_str(json_array_get(jx_arr(discarded, "kept"), 0), "id", ""), "1.1");
    keeper_leave(&k, w);
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(an_attempt_is_adopted_and_ends),
        in_world(a_call_is_asked_and_decided),
        in_world(a_killed_server_loses_no_call),
        in_world(a_broken_stream_is_opened_again),
        in_world(a_keeper_that_vanishes_is_lost),
        in_world(a_stop_waits_for_the_end),
        in_world(a_stop_outlives_the_server),
        in_world(a_rule_is_answered_when_the_keeper_has_it),
        in_world(a_forgotten_keeper_is_sent_home),
        in_world(what_a_keeper_spooled_counts_when_it_is_gone),
        in_world(half_done_work_is_finished),
        in_world(a_queue_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
