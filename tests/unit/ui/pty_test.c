#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/b64.h"
#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/ui/fixture.h"
#include "tests/unit/ui/rig.h"

static void start_dashboard(struct rig *r)
{
    rig_start(r, "dashboard", fixture_busy(64), 24, 80);
    rig_wait_text(r, "Attempts 64");
}

static void event(struct rig *r, const char *kind, json_t *item)
{
    rig_send(r, json_pack("{s:i, s:{s:s, s:o}}", "id", 1, "event", "e", kind, kind, item));
}

static void scrolls_and_resizes(void **state)
{
    (void)state;
    struct rig r;
    start_dashboard(&r);
    rig_wait_text(&r, " 3.1 ");
    rig_type(&r, "\x1b[6~\x1b[6~");
    rig_wait_no_text(&r, " 3.1 ");
    rig_type(&r, "\x1b[F");
    rig_wait_text(&r, " 3.64 ");
    rig_resize(&r, 50, 160);
    rig_wait_text(&r, "TASK");
    rig_wait_text(&r, " 3.30 ");
    rig_resize(&r, 10, 40);
    rig_wait_text(&r, "Too small: 40x10");
    rig_resize(&r, 24, 80);
    rig_wait_text(&r, " 3.64 ");
    rig_type(&r, "q");
    assert_int_equal(rig_wait_end(&r), 0);
    rig_check_restored(&r);
    rig_stop(&r);
}

static void approves_with_the_digest(void **state)
{
    (void)state;
    struct rig r;
    char digest[DIGEST_HEX_SIZE];
    start_dashboard(&r);
    rig_type(&r, "g");
    rig_wait_text(&r, "[Queue 4]");
    rig_type(&r, "j");
    rig_wait_text(&r, "c2  Write");
    rig_type(&r, "a");
    AUTO_JSON json_t *request = rig_wait_message(&r, "op", "call.decide");
    digest_bytes(digest, "c2", 2);
    assert_string_equal(jx_str(request, "digest", ""), digest);
    assert_string_equal(jx_str(request, "decision", ""), "allow");
    assert_string_equal(json_string_value(json_array_get(jx_arr(request, "ids"), 0)), "c2");
    rig_send(&r,
             json_pack("{s:I, s:b, s:{s:[], s:[{s:s, s:s, s:s}]}}", "id",
                       (json_int_t)jx_int(request, "id", 0), "ok", 1, "result", "decided", "failed",
                       "id", "c2", "code", "conflict", "message", "already denied by ben"));
    rig_wait_text(&r, "c2: already denied by ben");
    event(&r, "call",
          json_pack("{s:s, s:s, s:s}", "id", "c2", "state", "denied", "decided_by", "ben"));
    rig_wait_text(&r, "[Queue 3]");
    rig_type(&r, "\x03"); /* Ctrl-C */
    int status = rig_wait_end(&r);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    rig_check_restored(&r);
    rig_stop(&r);
}

static void rings_the_bell(void **state)
{
    (void)state;
    struct rig r;
    start_dashboard(&r);
    buf_clear(&r.raw);
    event(&r, "call", fixture_call(9, "3.2", "Bash", "{\"command\":\"curl example.com\"}"));
    rig_wait_text(&r, "Queue 5");
    assert_non_null(strchr(r.raw.ptr, '\a'));
    rig_stop(&r);
}

static void restores_after_signals(void **state)
{
    (void)state;
    static const int signals[] = {
        SIGTERM, SIGHUP, SIGQUIT, SIGINT, SIGABRT, SIGUSR1, /* abort() in the driver */
#ifndef __SANITIZE_ADDRESS__ /* which turns it into a report and an exit */
        SIGSEGV,
#endif
    };
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        struct rig r;
        start_dashboard(&r);
        kill(r.pid, signals[i]);
        int status = rig_wait_end(&r), expected = signals[i] == SIGUSR1 ? SIGABRT : signals[i];
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), expected);
        rig_check_restored(&r);
        rig_stop(&r);
    }
}

static void suspends_and_continues(void **state)
{
    (void)state;
    struct rig r;
    start_dashboard(&r);
    rig_type(&r, "\x1a"); /* Ctrl-Z */
    rig_wait_stop(&r);
    rig_check_restored(&r);
    vt_feed(r.vt, "\x1b[2J", 4); /* what the shell would do to the screen */
    kill(r.pid, SIGCONT);
    rig_wait_text(&r, "Attempts 64");
    rig_type(&r, "q");
    assert_int_equal(rig_wait_end(&r), 0);
    rig_check_restored(&r);
    rig_stop(&r);
}

static void reconnects(void **state)
{
    (void)state;
    struct rig r;
    start_dashboard(&r);
    rig_type(&r, "gj");
    rig_wait_text(&r, "c2  Write");
    rig_type(&r, "a");
    AUTO_JSON json_t *request = rig_wait_message(&r, "op", "call.decide");
    rig_peer_down(&r);
    rig_wait_text(&r, "Server gone, reconnecting");
    json_decref(r.snapshot);
    r.snapshot = fixture_busy(7);
    rig_peer_up(&r);
    rig_wait_text(&r, "Attempts 7");
    rig_wait_text(
        &r, "c2: the server went away"); /* it is not known what became of it, and that is said */
    rig_stop(&r);
}

static void starts_without_a_server(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "dashboard", fixture_busy(2), 24, 80);
    rig_peer_down(&r);
    rig_wait_text(&r, "Server gone");
    rig_peer_up(&r);
    rig_wait_text(&r, "Attempts 2");
    rig_stop(&r);
}

static int64_t cpu_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec spent;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &spent), 0);
    return spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

/* 64 attempts that each print ten lines a second, for a second's worth, then nothing. */
static void draws_a_storm_with_little_work(void **state)
{
    (void)state;
    struct rig r;
    start_dashboard(&r);
    int64_t before = cpu_ms(r.pid);
    buf_clear(&r.raw);
    for (int round = 0; round < 10; round++) {
        for (int n = 1; n <= 64; n++) {
            AUTO_FREE char *id = xasprintf("3.%d", n),
                           *line = xasprintf("line %d of %s", round, id);
            rig_send(&r, json_pack("{s:i, s:{s:s, s:s, s:s}}", "id", 1, "event", "e", "output",
                                   "attempt", id, "line", line));
        }
        AUTO_FREE char *shown = xasprintf("line %d of 3.1\n", round);
        rig_wait_text(&r, shown);
    }
    print_message("640 lines of output: %lld ms of CPU, %zu bytes to the terminal\n",
                  (long long)(cpu_ms(r.pid) - before), r.raw.len);
    assert_true(cpu_ms(r.pid) - before < 1000);
    rig_stop(&r);
}

static void never_sends_raw_bytes(void **state)
{
    (void)state;
    struct rig r;
    json_t *snapshot = fixture_busy(2), *args = json_object();
    static const char evil[] = "\x1b]0;pwned\x07\x1b[2J\xe2\x80\xae\xc2\x9b"
                               "31m";
    json_t *call = fixture_call(0, "3.1", evil, "{}");
    jx_set_str(args, "command", evil);
    jx_set(call, "args", args);
    fixture_add(snapshot, "calls", call);
    jx_set_str(json_array_get(jx_arr(snapshot, "attempts"), 0), "last_line", evil);
    rig_start(&r, "dashboard", snapshot, 24, 80);
    rig_wait_text(&r, "Attempts 2");
    rig_type(&r, "g");
    rig_wait_text(&r, "command | \\e]0;pwned");
    assert_null(strstr(r.raw.ptr, "\x1b]"));
    assert_null(strstr(r.raw.ptr, "\xe2\x80\xae"));
    assert_null(strstr(r.raw.ptr, "\xc2\x9b"));
    rig_stop(&r);
}

static void needs_no_color(void **state)
{
    (void)state;
    struct rig r;
    setenv("NO_COLOR", "1", 1);
    start_dashboard(&r);
    unsetenv("NO_COLOR");
    assert_null(strstr(r.raw.ptr, "\x1b[33m"));
    assert_null(strstr(r.raw.ptr, "\x1b[32m"));
    rig_stop(&r);
}

/* Give the first attempt a file of the rig's folder under this member. */
static char *own_path(struct rig *r, const char *key, const char *name)
{
    char *path = fs_join(r->dir, name);
    jx_set_str(json_array_get(jx_arr(r->snapshot, "attempts"), 0), key, path);
    return path;
}

static void add_line(const char *path, const char *line)
{
    AUTO_FILE FILE *file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
}

static void follows_a_log(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "dashboard", fixture_busy(2), 24, 80);
    AUTO_FREE char *log = own_path(&r, "log", "log");
    add_line(log, "the first line");
    rig_wait_text(&r, "Attempts 2");
    rig_type(&r, "o");
    rig_wait_text(&r, "the first line");
    add_line(log, "\x1b[31mred\x1b[0m \x1b[2J");
    rig_wait_text(&r, "red \\e[2J");
    assert_int_equal(truncate(log, 0), 0);
    add_line(log, "from the start");
    rig_wait_text(&r, "from the start");
    unlink(log);
    rig_stop(&r);
}

static void shows_a_real_diff(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "dashboard", fixture_busy(2), 24, 80);
    AUTO_FREE char *repo = own_path(&r, "repo", "repo");
    AUTO_FREE char *make =
        xasprintf("export HOME=%s GIT_CONFIG_NOSYSTEM=1 && git init -q -b main %s && cd %s && git "
                  "config user.name t && "
                  "git config user.email t@t && echo old >f && git add f && git commit -qm 1 && "
                  "git tag base && "
                  "printf 'new \\033[2J\\n' >f && git commit -qam 2 && git tag tip",
                  r.dir, repo, repo);
    assert_int_equal(system(make), 0);
    json_t *attempt = json_array_get(jx_arr(r.snapshot, "attempts"), 0);
    jx_set_str(attempt, "base", "base");
    jx_set_str(attempt, "tip", "tip");
    rig_wait_text(&r, "Attempts 2");
    rig_type(&r, "v");
    rig_wait_text(&r, "-old\n");
    rig_wait_text(&r, "+new \\e[2J\n");
    AUTO_FREE char *clean = xasprintf("rm -rf %s", repo);
    assert_int_equal(system(clean), 0);
    rig_stop(&r);
}

/* ---- attach ---- */

static json_t *data(const char *bytes)
{
    AUTO_BUF struct buf text = BUF_INIT;
    b64_encode(&text, bytes, strlen(bytes));
    return json_pack("{s:s, s:s}", "t", "data", "b64", text.ptr);
}

static void check_data(struct rig *r, const char *expected)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf got = BUF_INIT;
    while (got.len < strlen(expected)) {
        AUTO_JSON json_t *message = rig_wait_message(r, "t", "data");
        const char *text = jx_str(message, "b64", "");
        assert_true(b64_decode(&got, text, strlen(text), &err));
    }
    assert_string_equal(got.ptr, expected);
}

static void attaches_and_detaches(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "attach", NULL, 24, 80);
    AUTO_JSON json_t *hello = rig_wait_message(&r, "t", "hello");
    assert_string_equal(jx_str(hello, "role", ""), "attach");
    assert_int_equal(jx_int(hello, "rows", 0), 23);
    assert_int_equal(jx_int(hello, "cols", 0), 80);
    rig_send(&r, json_pack("{s:s, s:i}", "t", "welcome", "v", 1));
    rig_send(&r, data("\x1b]0;evil\x07hello \xe6\xbc\xa2\x1b[31m red\x1b[6n"));
    rig_wait_text(&r, "hello \xe6\xbc\xa2 red");
    rig_wait_text(&r, "3.2  Ctrl-] d detaches");
    assert_null(strstr(r.raw.ptr, "evil"));
    assert_true(rig_is_raw(&r));
    rig_type(&r, "x\x03\x1a\r\x1b[15~"); /* every key reaches the agent; a replayed question gets no
                                            answer */
    check_data(&r, "x\x03\x1a\r\x1b[15~");
    rig_resize(&r, 30, 100);
    AUTO_JSON json_t *resize = rig_wait_message(&r, "t", "resize");
    assert_int_equal(jx_int(resize, "rows", 0), 29);
    rig_type(&r, "\x1d"
                 "d");
    assert_int_equal(rig_wait_end(&r), 0);
    rig_check_restored(&r);
    assert_non_null(strstr(r.raw.ptr, "status -1"));
    rig_stop(&r);
}

static void joins_a_process(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "enter", NULL, 24, 80);
    AUTO_JSON json_t *hello = rig_wait_message(&r, "t", "hello");
    assert_null(json_object_get(hello, "cols")); /* the agent's terminal keeps its size */
    AUTO_JSON json_t *join = rig_wait_message(&r, "t", "join");
    assert_string_equal(json_string_value(json_array_get(jx_arr(join, "argv"), 0)), "/bin/sh");
    assert_int_equal(jx_int(join, "rows", 0), 23);
    rig_send(&r, data("$ \x1b[6n"));
    check_data(&r, "\x1b[1;3R"); /* its own terminal answers */
    rig_send(&r, json_pack("{s:s, s:i}", "t", "exit", "status", 7));
    assert_int_equal(rig_wait_end(&r), 0);
    assert_non_null(strstr(r.raw.ptr, "status 7"));
    rig_check_restored(&r);
    rig_stop(&r);
}

static void tells_why_a_terminal_ended(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "attach", NULL, 24, 80);
    AUTO_JSON json_t *hello = rig_wait_message(&r, "t", "hello");
    rig_peer_down(&r);
    assert_int_equal(WEXITSTATUS(rig_wait_end(&r)), 1);
    assert_non_null(strstr(r.raw.ptr, "the keeper closed the terminal"));
    rig_check_restored(&r);
    rig_stop(&r);
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scrolls_and_resizes),
        cmocka_unit_test(approves_with_the_digest),
        cmocka_unit_test(rings_the_bell),
        cmocka_unit_test(restores_after_signals),
        cmocka_unit_test(suspends_and_continues),
        cmocka_unit_test(reconnects),
        cmocka_unit_test(starts_without_a_server),
        cmocka_unit_test(draws_a_storm_with_little_work),
        cmocka_unit_test(never_sends_raw_bytes),
        cmocka_unit_test(needs_no_color),
        cmocka_unit_test(follows_a_log),
        cmocka_unit_test(shows_a_real_diff),
        cmocka_unit_test(attaches_and_detaches),
        cmocka_unit_test(joins_a_process),
        cmocka_unit_test(tells_why_a_terminal_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
