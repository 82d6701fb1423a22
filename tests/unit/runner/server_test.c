/*
 * The server as a process on a state folder of its own: its socket, its manners, what it refuses.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/server/server.h"
#include "tests/unit/runner/world.h"

static void greets_and_knows_itself(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    struct stat st;
    assert_int_equal(world_start(w), 0);
    assert_ok(sync_open(&c, w->paths.control, &err));
    AUTO_JSON json_t *hello =
        world_ask(&c, "hello", json_pack("{s:i, s:s}", "v", 1, "client", "shell"), &err);
    assert_non_null(hello);
    assert_int_equal(jx_int(hello, "v", 0), 1);
    assert_string_equal(jx_str(hello, "version", ""), HEADGATE_VERSION);
    assert_string_equal(jx_str(hello, "state", ""), w->paths.state);
    assert_int_equal(stat(w->paths.control, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    sync_close(&c);
}

static enum err_code refusal(struct sync_conn *c, const char *op, json_t *request)
{
    struct err err = ERR_INIT;
    json_t *result = world_ask(c, op, request, &err);
    if (result)
        fail_msg("%s was not refused", op);
    return err.code;
}

static void wants_a_greeting_and_known_words(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    assert_int_equal(world_start(w), 0);
    assert_ok(sync_open(&c, w->paths.control, &err));
    assert_int_equal(refusal(&c, "snapshot", NULL), ERR_USAGE);
    world_connect(w, &c);
    assert_int_equal(refusal(&c, "make.coffee", NULL), ERR_USAGE);
    AUTO_JSON json_t *snapshot = world_ask(&c, "snapshot", NULL, &err); /* and goes on */
    assert_non_null(snapshot);
    assert_int_equal(json_array_size(jx_arr(snapshot, "attempts")), 0);
    assert_int_equal(json_array_size(jx_arr(snapshot, "runs")), 0);
    assert_int_equal(json_array_size(jx_arr(snapshot, "calls")), 0);
    sync_close(&c);
}

static void answers_malformed_json_and_closes(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    static const char line[] = "{\"id\":1,\"op\":\n";
    json_t *message = NULL;
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    assert_int_equal(send(c.fd, line, sizeof(line) - 1, MSG_NOSIGNAL), sizeof(line) - 1);
    assert_ok(sync_recv(&message, &c, 10000, &err));
    assert_false(jx_bool(message, "ok", true));
    assert_string_equal(jx_str(jx_obj(message, "error"), "code", ""), "format");
    json_decref(message);
    message = NULL;
    assert_false(sync_recv(&message, &c, 10000, &err)); /* closed */
    sync_close(&c);
    json_decref(world_get(w, "snapshot", NULL)); /* others are served */
}

static void one_server_for_a_state_folder(void **state)
{
    struct world *w = *state;
    assert_int_equal(world_start(w), 0);
    pid_t first = w->server;
    assert_int_equal(world_start_foreground(w), SERVER_EXIT_RUNNING);
    assert_int_equal(world_start(w), 0);
    assert_int_equal(w->server, first);
}

static void a_client_that_never_reads_is_dropped(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    enum { REQUESTS = 200000 };
    static const char line[] = "{\"id\":1,\"op\":\"snapshot\"}\n";
    world_add_run(w, 1, 200);
    for (int i = 1; i <= 200; i++) {
        AUTO_FREE char *id = xasprintf("1.%d", i);
        world_set_state(w, id, ATTEMPT_DONE);
    }
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    bool is_dropped = false;
    for (int i = 0; i < REQUESTS && !is_dropped; i++)
        is_dropped = send(c.fd, line, sizeof(line) - 1, MSG_NOSIGNAL) < 0;
    assert_true(is_dropped);
    sync_close(&c);
    AUTO_JSON json_t *info = world_get(w, "server.info", NULL);
    assert_int_equal(jx_int(info, "pid", 0), w->server);
    assert_ok(true);
}

static void a_killed_server_is_replaced(void **state)
{
    struct world *w = *state;
    assert_int_equal(world_start(w), 0);
    pid_t first = w->server;
    AUTO_JSON json_t *added =
        world_get(w, "rule.add", json_pack("{s:[s]}", "texts", "allow tool Read"));
    world_kill(w);
    assert_int_equal(world_start(w), 0);
    assert_int_not_equal(w->server, first);
    AUTO_JSON json_t *rules = world_get(w, "rule.list", NULL);
    assert_int_equal(json_array_size(jx_arr(rules, "rules")), 1);
}

static void a_stopped_server_is_gone(void **state)
{
    struct world *w = *state;
    assert_int_equal(world_start(w), 0);
    AUTO_JSON json_t *stopped = world_get(w, "server.stop", NULL);
    assert_int_equal(jx_int(stopped, "active", -1), 0);
    assert_true(world_await_end(w->server));
    assert_false(fs_exists(w->paths.control));
    assert_int_equal(world_start(w), 0);
}

static void ends_by_itself_when_idle(void **state)
{
    struct world *w = *state;
    world_write(w, "home/.config/headgate/config", "[server]\n\tidletimeout = 1s\n");
    assert_int_equal(world_start(w), 0);
    assert_true(world_await_end(w->server));
    w->server = 0;
}

static void a_bad_setting_is_one_sentence(void **state)
{
    struct world *w = *state;
    world_write(w, "home/.config/headgate/config", "[server]\n\tidletimeout = soon\n");
    assert_int_equal(world_start(w), SERVER_EXIT_FAILED);
    assert_false(fs_exists(w->paths.control));
}

static void rules_come_and_go(void **state)
{
    struct world *w = *state;
    struct sync_conn c = {.fd = -1};
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    AUTO_JSON json_t *added =
        world_get(w, "rule.add", json_pack("{s:[s]}", "texts", "deny path .github/"));
    int64_t id = jx_int(json_array_get(jx_arr(added, "rules"), 0), "id", 0);
    assert_true(id > 0);
    assert_int_equal(refusal(&c, "rule.add", json_pack("{s:[s]}", "texts", "allow nonsense")),
                     ERR_USAGE);
    assert_int_equal(refusal(&c, "rule.add", json_pack("{s:[s]}", "texts", "allow tool X in repo")),
                     ERR_USAGE);
    assert_int_equal(refusal(&c, "rule.rm", json_pack("{s:[i]}", "ids", 99)), ERR_NOT_FOUND);
    AUTO_JSON json_t *removed =
        world_get(w, "rule.rm", json_pack("{s:[I]}", "ids", (json_int_t)id));
    assert_int_equal(json_array_size(jx_arr(removed, "rules")), 0);
    AUTO_JSON json_t *snapshot = world_get(w, "snapshot", NULL);
    assert_int_equal(jx_int(snapshot, "epoch", -1), 2);
    AUTO_JSON json_t *verified = world_get(w, "gate.verify", NULL);
    assert_true(jx_bool(verified, "ok", false));
    AUTO_JSON json_t *log = world_get(w, "gate.log", NULL);
    assert_int_equal(json_array_size(jx_arr(log, "rows")), jx_int(verified, "rows", -1));
    AUTO_JSON json_t *stats = world_get(w, "gate.stats", NULL);
    assert_int_equal(jx_int(stats, "rules", -1), 0);
    sync_close(&c);
}

/* A repository with one commit in the world's folder. */
static char *make_repository(struct world *w)
{
    struct err err = ERR_INIT;
    char *path = fs_join(w->dir, "repo");
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, "sh");
    strv_push(&argv, "-c");
    strv_push(&argv,
              "git init -q -b main \"$0\" && cd \"$0\" && git -c user.name=a -c user.email=a@b "
              "commit -q --allow-empty -m first");
    strv_push(&argv, path);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = 20000};
    assert_ok(proc_run(&result, &cmd, &err));
    assert_int_equal(result.status, 0);
    return path;
}

static json_t *creation(const char *repo, const char *more)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *text =
        xasprintf("{\"repo\":\"%s\",\"n\":1,\"env\":{\"PATH\":\"/nowhere\"}%s}", repo, more);
    json_t *request;
    assert_ok(jx_parse(&request, text, strlen(text), &err));
    return request;
}

static void a_run_is_checked_before_anything_is_made(void **state)
{
    struct world *w = *state;
    struct sync_conn c = {.fd = -1};
    AUTO_FREE char *repo = make_repository(w);
#define TASK ",\"tasks\":[{\"text\":\"do it\"}]"
#define ARGV ",\"argv\":[\"true\"]"
    static const struct {
        const char *more;
        enum err_code want;
    } cases[] = {
        {ARGV, ERR_USAGE},                    /* no task */
        {ARGV ",\"tasks\":[{}]", ERR_FORMAT}, /* a task without text */
        {TASK ARGV ",\"base\":\"no-such-branch\"", ERR_NOT_FOUND},
        {TASK ",\"agent\":\"hal\"", ERR_USAGE},
        {TASK ",\"agent\":\"claude\"", ERR_NOT_FOUND}, /* not in that PATH */
        {TASK ",\"agent\":\"command\"", ERR_USAGE},    /* without a command */
        {TASK ",\"agent\":\"claude\"" ARGV, ERR_USAGE},
        {TASK ARGV ",\"engine\":\"steam\"", ERR_USAGE},
        {TASK ARGV ",\"services\":[0]", ERR_USAGE},
    };
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(refusal(&c, "run.create", creation(repo, cases[i].more)), cases[i].want);
    assert_int_equal(refusal(&c, "run.create", creation("relative", TASK ARGV)), ERR_USAGE);
    assert_int_equal(refusal(&c, "run.create", creation(w->dir, TASK ARGV)), ERR_NOT_FOUND);
    AUTO_JSON json_t *snapshot = world_get(w, "snapshot", NULL);
    assert_int_equal(json_array_size(jx_arr(snapshot, "runs")), 0);
    sync_close(&c);
}

static void unknown_attempts_and_calls_are_named(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    static const char *const ops[] = {"attempt.show", "attempt.stop", "attempt.resume",
                                      "attempt.harvest", "attempt.discard"};
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        assert_int_equal(refusal(&c, ops[i], json_pack("{s:[s]}", "ids", "7.1")), ERR_NOT_FOUND);
        assert_int_equal(refusal(&c, ops[i], NULL), ERR_USAGE);
    }
    assert_int_equal(
        refusal(&c, "attempt.say", json_pack("{s:s, s:s}", "attempt", "7.1", "text", "x")),
        ERR_NOT_FOUND);
    assert_int_equal(refusal(&c, "call.show", json_pack("{s:s}", "call", "c9")), ERR_NOT_FOUND);
    assert_int_equal(refusal(&c, "call.show", json_pack("{s:s}", "call", "nine")), ERR_USAGE);
    assert_int_equal(refusal(&c, "ladder.set", json_pack("{s:i, s:s}", "run", 9, "ladder", "auto")),
                     ERR_NOT_FOUND);
    AUTO_JSON json_t *decided = world_ask(
        &c, "call.decide", json_pack("{s:[s], s:s}", "ids", "c9", "decision", "allow"), &err);
    assert_non_null(decided);
    assert_string_equal(jx_str(json_array_get(jx_arr(decided, "failed"), 0), "code", ""),
                        "not_found");
    AUTO_JSON json_t *stopped = world_ask(&c, "attempt.stop", json_pack("{s:b}", "all", 1), &err);
    assert_non_null(stopped);
    sync_close(&c);
}

/* The store cannot grow: the request fails with a sentence, and the server goes on. */
static void a_full_disk_hangs_nothing(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    enum { RULES = 2000 };
    setenv("CHILD_FILE_BYTES", "524288", 1);
    assert_int_equal(world_start(w), 0);
    world_connect(w, &c);
    bool failed = false;
    for (int i = 0; i < RULES && !failed; i++) {
        AUTO_FREE char *text = xasprintf("allow tool T%d", i);
        json_t *added = world_ask(&c, "rule.add", json_pack("{s:[s]}", "texts", text), &err);
        failed = !added;
        json_decref(added);
    }
    assert_true(failed);
    assert_int_equal(err.code, ERR_SYS);
    AUTO_JSON json_t *info = world_ask(&c, "server.info", NULL, &err);
    assert_non_null(info);
    sync_close(&c);
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(greets_and_knows_itself),
        in_world(wants_a_greeting_and_known_words),
        in_world(answers_malformed_json_and_closes),
        in_world(one_server_for_a_state_folder),
        in_world(a_client_that_never_reads_is_dropped),
        in_world(a_killed_server_is_replaced),
        in_world(a_stopped_server_is_gone),
        in_world(ends_by_itself_when_idle),
        in_world(a_bad_setting_is_one_sentence),
        in_world(rules_come_and_go),
        in_world(a_run_is_checked_before_anything_is_made),
        in_world(unknown_attempts_and_calls_are_named),
        in_world(a_full_disk_hangs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
