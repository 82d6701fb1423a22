/*
 * An interactive agent on the keeper's terminal: clients that watch, type, resize, join and stall.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/b64.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/ring.h"
#include "tests/unit/keep/world.h"

struct client {
    struct sync_conn conn;
    struct buf screen; /* all bytes that came */
    int64_t status;    /* of an `exit`, -1: none yet */
};

static void client_send(struct client *c, json_t *message_stolen)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message = message_stolen;
    assert_true(sync_send(&c->conn, message, &err));
}

static void client_open(struct client *c, const struct world *w, int cols, int rows)
{
    struct err err = ERR_INIT;
    *c = (struct client){.screen = BUF_INIT, .status = -1};
    assert_true(sync_open(&c->conn, w->socket, &err));
    client_send(c, json_pack("{s:s s:i s:s s:i s:i}", "t", "hello", "v", 1, "role", "attach",
                             "cols", cols, "rows", rows));
}

static void client_close(struct client *c)
{
    sync_close(&c->conn);
    buf_release(&c->screen);
}

static void client_take(struct client *c)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *msg = NULL;
    if (!sync_recv(&msg, &c->conn, 30000, &err) || !msg)
        fail_msg("nothing came; the screen is: %s", c->screen.ptr);
    const char *t = jx_str(msg, "t", "");
    const char *b64 = jx_str(msg, "b64", "");
    if (strcmp(t, "data") == 0)
        assert_true(b64_decode(&c->screen, b64, strlen(b64), &err));
    if (strcmp(t, "note") == 0)
        buf_adds(&c->screen, jx_str(msg, "text", ""));
    if (strcmp(t, "exit") == 0)
        c->status = jx_int(msg, "status", -1);
}

static void client_expect(struct client *c, const char *text)
{
    while (!memmem(c->screen.ptr, c->screen.len, text, strlen(text)))
        client_take(c);
}

static void client_expect_exit(struct client *c, int64_t status)
{
    while (c->status < 0)
        client_take(c);
    assert_int_equal(c->status, status);
}

static void client_type(struct client *c, const char *text)
{
    AUTO_BUF struct buf b64 = BUF_INIT;
    b64_encode(&b64, text, strlen(text));
    client_send(c, json_pack("{s:s s:s}", "t", "data", "b64", b64.ptr));
}

static void world_init_interactive(struct world *w, const char *script)
{
    world_init(w, script);
    json_object_set_new(w->config, "interactive", json_true());
}

static void a_client_types_resizes_and_sees_the_end(void **state)
{
    (void)state;
    struct world w;
    struct client c, later;
    world_init_interactive(&w, "stty -echo; while read x; do case $x in size) stty size;; "
                               "bye) exit 4;; *) echo \"got <$x>\";; esac; done");
    world_start(&w);
    client_open(&c, &w, 100, 30);
    client_type(&c, "hello\n");
    client_expect(&c, "got <hello>");
    client_type(&c, "size\n");
    client_expect(&c, "30 100");
    client_send(&c, json_pack("{s:s s:i s:i}", "t", "resize", "cols", 71, "rows", 21));
    client_type(&c, "size\n");
    client_expect(&c, "21 71");
    /* Who comes later sees what was there. */
    client_open(&later, &w, 71, 21);
    client_expect(&later, "got <hello>");
    client_type(&later, "bye\n");
    client_expect_exit(&later, 4);
    client_expect_exit(&c, 4);
    world_expect_exit(&w, 4, "exit");
    world_expect_in_log(&w, "got <hello>");
    client_close(&c);
    client_close(&later);
    /* The end is told to those who come after it. */
    client_open(&c, &w, 80, 24);
    client_expect(&c, "got <hello>");
    client_expect_exit(&c, 4);
    client_close(&c);
    world_done(&w);
}

static void say_types_a_line(void **state)
{
    (void)state;
    struct world w;
    world_init_interactive(&w, "read x; echo \"said <$x>\"");
    world_start(&w);
    AUTO_JSON json_t *started = world_record(&w, "started");
    world_send(&w, json_pack("{s:s s:s}", "t", "say", "text", "go on, please"));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "said <go on, please>");
    world_done(&w);
}

static void a_still_terminal_waits_for_input(void **state)
{
    (void)state;
    struct world w;
    /* Silent: what an agent says first may come before the keeper knows that it has begun. */
    world_init_interactive(&w, "read x; echo \"said <$x>\"; read y");
    world_start(&w);
    AUTO_JSON json_t *still = world_record(&w, "pulse");
    assert_string_equal(jx_str(jx_obj(still, "pulse"), "state", ""), "waiting");
    assert_string_equal(jx_str(json_array_get(jx_arr(still, "news"), 0), "kind", ""), "waiting");
    world_send(&w, json_pack("{s:s s:s}", "t", "say", "text", "go on"));
    AUTO_JSON json_t *moved = world_record(&w, "pulse");
    assert_string_equal(jx_str(jx_obj(moved, "pulse"), "state", ""), "working");
    world_done(&w);
}

static void saying_to_a_headless_agent_is_noted(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read x < /w/go");
    world_fifo_to_box(&w, "go");
    world_start(&w);
    world_send(&w, json_pack("{s:s s:s}", "t", "say", "text", "hello"));
    AUTO_JSON json_t *note = world_record(&w, "note");
    assert_non_null(strstr(jx_str(note, "text", ""), "reads no terminal"));
    world_go(&w, "go");
    world_done(&w);
}

static void a_headless_agent_hears_what_is_said_once(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read x; read y; printf '<%s>\\n<%s>\\n' \"$x\" \"$y\"");
    jx_set(w.config, "input", json_pack("{s:s}", "form", "lines"));
    world_start(&w);
    for (int i = 0; i < 2; i++)
        world_send(&w, json_pack("{s:s s:i s:s}", "t", "say", "message", 3, "text", "two\nlines"));
    world_send(&w, json_pack("{s:s s:i s:s}", "t", "say", "message", 7, "text", "more"));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "<{\"id\":3,\"text\":\"twonlines\"}>\n<{\"id\":7,\"text\":\"more\"}>");
    world_done(&w);
}

static void one_with_a_stream_is_given_its_task_and_then_the_end(void **state)
{
    (void)state;
    struct world w;
    world_init(&w,
               "read -r x; printf '<%s>\\n' \"$x\"; echo '{\"type\":\"result\"}'; cat; echo over");
    jx_set(w.config, "input", json_pack("{s:s s:s}", "form", "claude", "task", "Do it"));
    jx_set_str(w.config, "output", "claude");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "\"content\":\"Do it\"");
    world_expect_in_log(&w, "over");
    world_done(&w);
}

/* The set-up must not read what is the agent's. */
static void a_set_up_command_hears_nothing(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read -r x; echo \"agent <$x>\"");
    jx_set(w.config, "input", json_pack("{s:s}", "form", "lines"));
    jx_set_bool(w.config, "setup", true);
    strv_push(&w.spec.setup, "/bin/sh");
    strv_push(&w.spec.setup, "-c");
    strv_push(&w.spec.setup, "read -r x; echo \"set-up <$x>\"");
    world_start(&w);
    world_send(&w, json_pack("{s:s s:i s:s}", "t", "say", "message", 1, "text", "hello"));
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "set-up <>");
    world_expect_in_log(&w, "agent <{\"id\":1,\"text\":\"hello\"}>");
    world_done(&w);
}

static void stop_ends_an_interactive_shell_within_its_grace(void **state)
{
    (void)state;
    struct world w;
    struct client c;
    world_init_interactive(&w, "exec sh -i");
    world_start(&w);
    client_open(&c, &w, 80, 24);
    client_type(&c, "echo re'a'dy\n");
    client_expect(&c, "ready");
    world_send(&w, json_pack("{s:s s:s s:i}", "t", "stop", "cause", "stopped", "grace_ms", 25000));
    int64_t before_ms = clock_mono_ms();
    AUTO_JSON json_t *record = world_record(&w, "exited");
    assert_string_equal(jx_str(record, "cause", ""), "stopped");
    assert_true(clock_mono_ms() - before_ms < 20000);
    client_close(&c);
    world_done(&w);
}

static void join(struct client *c, const char *script)
{
    client_send(c, json_pack("{s:s s:[s s s] s:[s s] s:s s:i s:i}", "t", "join", "argv", "sh", "-c",
                             script, "env", "PATH=/usr/bin:/bin", "TERM=xterm", "cwd", "/w", "cols",
                             60, "rows", 20));
}

static void a_joined_process_has_a_terminal_of_its_own(void **state)
{
    (void)state;
    struct world w;
    struct client watcher, joined;
    world_init_interactive(&w, "echo agent here; read x");
    world_start(&w);
    client_open(&watcher, &w, 80, 24);
    client_expect(&watcher, "agent here");
    client_open(&joined, &w, 80, 24);
    client_expect(&joined, "agent here"); /* it watched until it joined */
    buf_clear(&joined.screen);
    join(&joined, "stty -echo; stty size; pwd; grep -c Seccomp:.*2 /proc/self/status; read x; "
                  "echo \"joined got <$x>\"; exit 9");
    client_expect(&joined, "20 60\r\n/w\r\n1\r\n");
    client_type(&joined, "mine\n");
    client_expect(&joined, "joined got <mine>");
    client_expect_exit(&joined, 9);
    assert_null(strstr(watcher.screen.ptr, "joined"));
    client_close(&joined);

    /* What is typed before the terminal is there is not lost. */
    client_open(&joined, &w, 80, 24);
    join(&joined, "read x; echo \"soon <$x>\"");
    client_type(&joined, "typed\n");
    client_expect(&joined, "soon <typed>");
    client_expect_exit(&joined, 0);
    client_close(&joined);

    client_open(&joined, &w, 80, 24);
    client_send(&joined, json_pack("{s:s s:[s] s:[] s:s}", "t", "join", "argv", "/no/such", "env",
                                   "cwd", "/w"));
    client_expect_exit(&joined, 125);
    client_close(&joined);
    client_type(&watcher, "\n");
    client_expect_exit(&watcher, 0);
    client_close(&watcher);
    world_done(&w);
}

static void a_joined_process_ends_with_its_client(void **state)
{
    (void)state;
    struct world w;
    struct client joined;
    world_init_interactive(&w, "read x < /w/go");
    world_fifo_to_box(&w, "go");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    AUTO_JSON json_t *started = world_record(&w, "started");
    client_open(&joined, &w, 80, 24);
    join(&joined, "exec 9> /w/up; echo up >&9; sleep 1000");
    world_await_byte(up);
    client_close(&joined);
    world_await_hang_up(up);
    world_go(&w, "go");
    world_expect_exit(&w, 0, "exit");
    close(up);
    world_done(&w);
}

static void a_client_that_stalls_never_stops_the_agent(void **state)
{
    (void)state;
    struct world w;
    struct client stalled, late;
    world_init_interactive(
        &w, "read x; head -c 20000000 /dev/zero | tr '\\0' 'z'; echo; echo over; read x");
    world_start(&w);
    client_open(&stalled, &w, 80, 24);
    client_type(&stalled, "\n");
    /* It never reads. The agent's last line comes all the same. */
    for (;;) {
        AUTO_JSON json_t *line = world_message(&w, "line");
        const char *text = jx_str(line, "line", "");
        if (strlen(text) >= 4 && jx_int(line, "bytes", 0) > 20000000)
            break;
    }
    client_open(&late, &w, 80, 24);
    client_expect(&late, "over");
    assert_true(late.screen.len <= RING_BYTES + 64);
    client_type(&late, "\n");
    client_expect_exit(&late, 0);
    client_close(&late);
    client_close(&stalled);
    world_done(&w);
}

static void an_interactive_log_is_begun_anew_at_its_bound(void **state)
{
    (void)state;
    struct world w;
    world_init_interactive(&w, "seq 100000");
    json_object_set_new(w.config, "limits", json_pack("{s:i}", "output", 100000));
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "100000\r\n");
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(&w, &log);
    assert_true(log.len <= 100000);
    AUTO_FREE char *older = fs_join(w.attempt, "log.1");
    assert_true(fs_exists(older));
    world_done(&w);
}

static void who_does_not_say_hello_is_closed(void **state)
{
    (void)state;
    static const char *const words[] = {"{\"t\":\"stop\",\"cause\":\"stopped\"}\n",
                                        "{\"t\":\"hello\",\"v\":2,\"role\":\"server\"}\n",
                                        "{\"t\":\"hello\",\"v\":1,\"role\":\"admin\"}\n",
                                        "nonsense\n"};
    struct world w;
    world_init(&w, "read x < /w/go");
    world_fifo_to_box(&w, "go");
    world_start(&w);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct sync_conn c;
        struct err err = ERR_INIT;
        json_t *msg = NULL;
        assert_true(sync_open(&c, w.socket, &err));
        assert_true(fs_write_fd(c.fd, words[i], strlen(words[i]), &err));
        assert_false(sync_recv(&msg, &c, 30000, &err));
        assert_int_equal(err.code, ERR_SYS);
        sync_close(&c);
    }
    world_go(&w, "go");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_client_types_resizes_and_sees_the_end),
        world_test(say_types_a_line),
        world_test(a_still_terminal_waits_for_input),
        world_test(saying_to_a_headless_agent_is_noted),
        world_test(a_headless_agent_hears_what_is_said_once),
        world_test(one_with_a_stream_is_given_its_task_and_then_the_end),
        world_test(a_set_up_command_hears_nothing),
        world_test(stop_ends_an_interactive_shell_within_its_grace),
        world_test(a_joined_process_has_a_terminal_of_its_own),
        world_test(a_joined_process_ends_with_its_client),
        world_test(a_client_that_stalls_never_stops_the_agent),
        world_test(an_interactive_log_is_begun_anew_at_its_bound),
        world_test(who_does_not_say_hello_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
