/*
 * Ends and limits of a box under its keeper. FIFOs in the worktree tell when all their writers, so
 * all processes of the box, are gone.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

/* Processes that want to stay: in sessions of their own, orphaned twice, deaf to signals; each
 * holds the FIFO open. */
#define STAYERS                                                                             \
    "exec 9> /w/up; trap '' TERM HUP INT; "                                                 \
    "setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & "                                      \
    "(setsid sh -c '(sleep 1000 &) ; sleep 1000' &) ; nohup sleep 1000 > /dev/null 2>&1 & " \
    "echo up >&9; "

static void limit(struct world *w, const char *name, int64_t value)
{
    json_t *limits = jx_obj(w->config, "limits");
    if (!limits) {
        limits = json_object();
        jx_set(w->config, "limits", limits);
    }
    jx_set_int(limits, name, value);
}

static void stop(struct world *w, int grace_ms)
{
    world_send(w,
               json_pack("{s:s s:s s:i}", "t", "stop", "cause", "stopped", "grace_ms", grace_ms));
}

static void a_killed_keeper_takes_its_whole_box_along(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, STAYERS "while :; do sleep 1000; done");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_await_byte(up);
    kill(w.keeper.pid, SIGKILL);
    world_await_hang_up(up);
    close(up);
    world_done(&w);
}

static void an_agent_that_ends_leaves_nothing_behind(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, STAYERS "exit 5");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_expect_exit(&w, 5, "exit");
    world_await_hang_up(up);
    close(up);
    world_done(&w);
}

static void stop_kills_what_ignores_it_after_the_grace(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, STAYERS "while :; do sleep 1000; done");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_await_byte(up);
    int64_t before_ms = clock_mono_ms();
    stop(&w, 200);
    world_expect_exit(&w, 137, "stopped");
    assert_true(clock_mono_ms() - before_ms >= 200);
    world_await_hang_up(up);
    close(up);
    world_done(&w);
}

static void stop_lets_an_agent_end_by_itself(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "trap 'echo bye; exit 3' TERM; echo up > /w/up; while :; do sleep 0.05; done");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_await_byte(up);
    stop(&w, 20000);
    world_expect_exit(&w, 3, "stopped");
    world_expect_in_log(&w, "bye\n");
    close(up);
    world_done(&w);
}

static void a_second_stop_can_only_hurry(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, STAYERS "while :; do sleep 1000; done");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_await_byte(up);
    stop(&w, 60000);
    stop(&w, 100);
    stop(&w, 60000);
    world_expect_exit(&w, 137, "stopped");
    close(up);
    world_done(&w);
}

static void the_time_limit_ends_it_as_timeout(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "exec sleep 1000");
    limit(&w, "time_ms", 200);
    world_start(&w);
    world_expect_exit(&w, 128 + SIGTERM, "timeout");
    world_done(&w);
}

static void the_output_limit_ends_it_with_a_whole_log(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "exec yes");
    limit(&w, "output", 100000);
    world_start(&w);
    world_expect_exit(&w, 128 + SIGTERM, "output");
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(&w, &log);
    assert_int_equal(log.len, 100000);
    world_done(&w);
}

/* The limits layer left out, so that the keeper's accounting has to hold them. */
static void memory_over_its_limit_ends_it(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done");
    w.spec.without = 1U << LAYER_LIMITS;
    limit(&w, "memory", 64 * 1024 * 1024);
    world_start(&w);
    AUTO_JSON json_t *usage = world_message(&w, "usage");
    assert_true(jx_int(usage, "memory", 0) > 0);
    w.acked = 0;
    world_disconnect(&w);
    world_connect(&w);
    world_expect_exit(&w, 137, "memory");
    world_done(&w);
}

/* With every layer: the kernel's limit where a cgroup is ours, else the accounting again. */
static void memory_over_the_boxes_own_limit_ends_it(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done");
    w.spec.limits.memory_bytes = 64 * 1024 * 1024;
    limit(&w, "memory", 64 * 1024 * 1024);
    world_start(&w);
    world_expect_exit(&w, 137, "memory");
    world_done(&w);
}

static void too_many_processes_end_it(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; wait");
    w.spec.without = 1U << LAYER_LIMITS;
    limit(&w, "pids", 50);
    world_start(&w);
    world_expect_exit(&w, 137, "pids");
    world_done(&w);
}

static void output_comes_whole_and_in_order(void **state)
{
    (void)state;
    struct world w;
    world_init(
        &w, "echo one; echo two >&2; echo three; echo four > /dev/stderr; seq 100000; printf end");
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(&w, &log);
    assert_int_equal(strncmp(log.ptr, "one\ntwo\nthree\nfour\n1\n2\n", 23), 0);
    assert_string_equal(log.ptr + log.len - 10, "100000\nend");
    world_done(&w);
}

static void a_stream_format_is_not_torn_by_errors(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "echo trouble >&2; echo '{\"type\":\"result\",\"result\":\"all done\"}'; "
                   "read x < /w/go");
    world_fifo_to_box(&w, "go");
    json_object_set_new(w.config, "output", json_string("claude"));
    world_start(&w);
    AUTO_JSON json_t *line = world_message(&w, "line");
    assert_string_equal(jx_str(line, "line", ""), "all done");
    world_go(&w, "go");
    world_done(&w);
}

static void the_last_line_is_told(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "echo first; echo last; read x < /w/go");
    world_fifo_to_box(&w, "go");
    world_start(&w);
    for (;;) {
        AUTO_JSON json_t *line = world_message(&w, "line");
        if (strcmp(jx_str(line, "line", ""), "last") == 0) {
            assert_int_equal(jx_int(line, "bytes", 0), 11);
            break;
        }
        assert_string_equal(jx_str(line, "line", ""), "first");
    }
    /* A server that comes later is told at once. */
    world_disconnect(&w);
    world_connect(&w);
    AUTO_JSON json_t *again = world_message(&w, "line");
    assert_string_equal(jx_str(again, "line", ""), "last");
    world_go(&w, "go");
    world_done(&w);
}

/* A server on the host's loopback that answers each client with what it sent, in a process of its
 * own. */
static pid_t start_echo(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    pid_t pid = fork();
    while (pid == 0) {
        char bytes[4096];
        int client = accept(fd, NULL, NULL);
        for (ssize_t n; (n = read(client, bytes, sizeof bytes)) > 0;)
            if (write(client, bytes, (size_t)n) != n)
                break;
        close(client);
    }
    close(fd);
    return pid;
}

static void a_service_port_reaches_the_host_and_nothing_else_does(void **state)
{
    (void)state;
    struct world w;
    uint16_t port;
    pid_t echo = start_echo(&port);
    AUTO_FREE char *script =
        xasprintf("keep_caller tcp 5432 'over there'; "
                  "keep_caller tcp 5432 \"$(head -c 90000 /dev/zero | tr '\\0' b)\" "
                  "| wc -c; keep_caller tcp %u direct; echo $?",
                  port);
    world_init(&w, script);
    strv_push(&w.spec.listen_ports, "5432");
    json_object_set_new(w.config, "services",
                        json_pack("[{s:i s:i}]", "port", 5432, "target", (int)port));
    world_start(&w);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "over there\n90001\n");
    world_expect_in_log(&w, "caller: tcp: Connection refused\n3\n");
    world_done(&w);
    kill(echo, SIGKILL);
    waitpid(echo, NULL, 0);
}

static void quit_does_not_stop_a_running_agent(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read x < /w/go");
    world_fifo_to_box(&w, "go");
    world_start(&w);
    AUTO_JSON json_t *started = world_record(&w, "started");
    world_send(&w, json_pack("{s:s}", "t", "quit"));
    AUTO_JSON json_t *note = world_record(&w, "note");
    world_go(&w, "go");
    world_expect_exit(&w, 0, "exit");
    world_done(&w);
}

static void without_a_server_it_leaves_after_a_while(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "read x < /w/go");
    world_fifo_to_box(&w, "go");
    json_object_set_new(w.config, "linger_ms", json_integer(100));
    world_start(&w);
    world_disconnect(&w);
    world_go(&w, "go");
    world_wait_keeper_end(&w);
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "exited"), 1);
    assert_false(fs_exists(w.socket));
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_killed_keeper_takes_its_whole_box_along),
        world_test(an_agent_that_ends_leaves_nothing_behind),
        world_test(stop_kills_what_ignores_it_after_the_grace),
        world_test(stop_lets_an_agent_end_by_itself),
        world_test(a_second_stop_can_only_hurry),
        world_test(the_time_limit_ends_it_as_timeout),
        world_test(the_output_limit_ends_it_with_a_whole_log),
        world_test(memory_over_its_limit_ends_it),
        world_test(memory_over_the_boxes_own_limit_ends_it),
        world_test(too_many_processes_end_it),
        world_test(output_comes_whole_and_in_order),
        world_test(a_stream_format_is_not_torn_by_errors),
        world_test(the_last_line_is_told),
        world_test(a_service_port_reaches_the_host_and_nothing_else_does),
        world_test(without_a_server_it_leaves_after_a_while),
        world_test(quit_does_not_stop_a_running_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
