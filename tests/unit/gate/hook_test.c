/* The hook client against a real socket: whatever happens, the exit is an answer or a denial. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "tests/unit/gate/hook_run.h"
#include "tests/unit/gate/scratch.h"

static const char plain_call[] = "{\"tool\":\"shell\",\"args\":{\"command\":\"ls\"}}";
static const char claude_call[] = "{\"session_id\":\"s\",\"cwd\":\"/"
                                  "w\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\","
                                  "\"tool_input\":{\"command\":\"ls\"},\"tool_use_id\":\"t1\"}";

static char *folder;
static char *socket_path;
static int listener = -1;

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    folder = scratch_make();
    socket_path = fs_join(folder, "gate.sock");
    assert_true(strlen(socket_path) < sizeof(address.sun_path));
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 16), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(listener);
    free(socket_path);
    scratch_remove(folder);
    return 0;
}

static void start_for(struct hook *h, const char *agent, const char *input)
{
    char *const argv[] = {"headgate-hook", "--agent",   (char *)(uintptr_t)agent,
                          "--socket",      socket_path, NULL};
    hook_start(h, folder, input, strlen(input), argv, HOOK_ODD_NOTHING);
}

/* Exit 2 with one sentence that has this word in it, and nothing on standard output. */
static void expect_denied(struct hook *h, const char *word)
{
    hook_finish(h);
    if (h->status != 2 || h->out_text.len > 0)
        fail_msg("exit %d, printed [%s], said [%s]", h->status, h->out_text.ptr, h->err_text.ptr);
    const char *newline = strchr(h->err_text.ptr, '\n');
    assert_true(newline && newline[1] == '\0');
    if (!strstr(h->err_text.ptr, word))
        fail_msg("said [%s], not [%s]", h->err_text.ptr, word);
    hook_release(h);
}

/* Take the next connection and its whole request. */
static int take_request(struct buf *ret)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    char c = 0;
    while (c != '\n') {
        assert_int_equal(read(fd, &c, 1), 1);
        buf_addch(ret, c);
    }
    return fd;
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0)
            return; /* the hook may rightly have gone already */
        data += n;
        len -= (size_t)n;
    }
}

static void answer(const char *data, size_t len)
{
    AUTO_BUF struct buf request = BUF_INIT;
    int fd = take_request(&request);
    send_all(fd, data, len);
    close(fd);
}

static void allows(void **state)
{
    (void)state;
    static const char yes[] =
        "{\"v\":1,\"decision\":\"allow\",\"reason\":\"ok\",\"why\":\"ladder\"}\n";
    struct hook h;
    AUTO_BUF struct buf request = BUF_INIT;
    start_for(&h, "plain", plain_call);
    int fd = take_request(&request);
    send_all(fd, yes, sizeof(yes) - 1);
    hook_finish(&h);
    close(fd);
    assert_int_equal(h.status, 0);
    assert_string_equal(h.out_text.ptr,
                        "{\"decision\":\"allow\",\"reason\":\"ok\",\"call\":\"\"}\n");
    assert_string_equal(h.err_text.ptr, "");
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_FREE char *want =
        xasprintf("{\"v\":1,\"source\":\"hook\",\"agent\":\"command\",\"tool\":\"shell\","
                  "\"args\":{\"command\":\"ls\"},\"cwd\":\"%s\",\"call_id\":\"\","
                  "\"session\":\"\"}\n",
                  cwd);
    assert_string_equal(request.ptr, want);
    hook_release(&h);
    static const struct {
        const char *agent, *call, *out;
    } rows[] = {
        {"claude", claude_call,
         "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
         "\"allow\"}}\n"},
        {"codex", claude_call, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start_for(&h, rows[i].agent, rows[i].call);
        answer(yes, sizeof(yes) - 1);
        hook_finish(&h);
        assert_int_equal(h.status, 0);
        assert_string_equal(h.out_text.ptr, rows[i].out);
        assert_string_equal(h.err_text.ptr, "");
        hook_release(&h);
    }
}

/* The person's words, whatever they are, arrive unchanged. */
static void keeps_the_words_of_a_denial(void **state)
{
    (void)state;
    AUTO_BUF struct buf longest = BUF_INIT;
    while (longest.len < 10240)
        buf_adds(&longest, "no: ünïcode 漢字 \"q\" \\ \t\n");
    const char *const reasons[] = {"use make test", "two\nlines\n", "ü 漢字 🙂 \xe2\x80\xae",
                                   "\"}{\\u0000", longest.ptr};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        AUTO_JSON json_t *message =
            json_pack("{s:i, s:s, s:s, s:s, s:s}", "v", 1, "decision", "deny", "reason", reasons[i],
                      "why", "person", "call", "c12");
        AUTO_BUF struct buf line = BUF_INIT;
        jx_dump(&line, message);
        buf_addch(&line, '\n');
        for (int is_claude = 0; is_claude < 2; is_claude++) {
            struct hook h;
            struct err err = ERR_INIT;
            AUTO_JSON json_t *out = NULL;
            start_for(&h, is_claude ? "claude" : "plain", is_claude ? claude_call : plain_call);
            answer(line.ptr, line.len);
            hook_finish(&h);
            assert_int_equal(h.status, is_claude ? 0 : 2);
            assert_true(jx_parse(&out, h.out_text.ptr, h.out_text.len, &err));
            const char *got = is_claude ? jx_str(jx_obj(out, "hookSpecificOutput"),
                                                 "permissionDecisionReason", "?")
                                        : jx_str(out, "reason", "?");
            assert_string_equal(got, reasons[i]);
            if (!is_claude)
                assert_string_equal(jx_str(out, "call", "?"), "c12");
            hook_release(&h);
        }
    }
}

static void denies_on_a_bad_answer(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *word;
    } rows[] = {
        {"", "without an answer"},
        {"{\"v\":1,\"decision\":\"allow\",\"reason\":\"\"}", "without an answer"}, /* no newline */
        {"{\"v\":1,\"decision\":\"al", "without an answer"},
        {"\n", "JSON"},
        {"allow\n", "JSON"},
        {"{\"v\":1,\"decision\":\"allow\"} x\n", "JSON"},
        {"{\"v\":1,\"decision\":\"allow\",\"decision\":\"deny\"}\n", "JSON"},
        {"[]\n", "version"},
        {"{}\n", "version"},
        {"{\"v\":2,\"decision\":\"allow\"}\n", "version"},
        {"{\"v\":\"1\",\"decision\":\"allow\"}\n", "version"},
        {"{\"v\":1}\n", "neither"},
        {"{\"v\":1,\"decision\":\"ask\"}\n", "neither"},
        {"{\"v\":1,\"decision\":\"Allow\"}\n", "neither"},
        {"{\"v\":1,\"decision\":true}\n", "neither"},
        {"{\"v\":1,\"decision\":\"allow\\u0000\"}\n", "neither"},
        {"\xff\xfe\n", "JSON"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hook h;
        start_for(&h, "claude", claude_call);
        answer(rows[i].answer, strlen(rows[i].answer));
        expect_denied(&h, rows[i].word);
    }
    AUTO_BUF struct buf huge = BUF_INIT;
    buf_adds(&huge, "{\"v\":1,\"decision\":\"allow\",\"reason\":\"");
    while (huge.len <= LIMIT_LINE_BYTES)
        buf_adds(&huge, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    buf_adds(&huge, "\"}\n");
    struct hook h;
    start_for(&h, "claude", claude_call);
    answer(huge.ptr, huge.len);
    expect_denied(&h, "longer than");
}

static void denies_without_a_gate(void **state)
{
    (void)state;
    struct hook h;
    start_for(&h, "claude", claude_call);
    close(accept4(listener, NULL, NULL, SOCK_CLOEXEC)); /* gone before it read a byte */
    expect_denied(&h, "denied");
    close(listener);
    listener = -1;
    start_for(&h, "claude", claude_call);
    expect_denied(&h, "cannot reach the gate");
    assert_int_equal(unlink(socket_path), 0);
    start_for(&h, "claude", claude_call);
    expect_denied(&h, "cannot reach the gate");
    char long_name[300];
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    char *const too_long[] = {"headgate-hook", "--socket", long_name, NULL};
    hook_start(&h, folder, plain_call, strlen(plain_call), too_long, HOOK_ODD_NOTHING);
    expect_denied(&h, "name that cannot be");
    unsetenv("HEADGATE_GATE");
    char *const no_socket[] = {"headgate-hook", NULL};
    hook_start(&h, folder, plain_call, strlen(plain_call), no_socket, HOOK_ODD_NOTHING);
    expect_denied(&h, "HEADGATE_GATE");
    char *const unknown[] = {"headgate-hook", "--agent", "nobody", "--socket", socket_path, NULL};
    hook_start(&h, folder, plain_call, strlen(plain_call), unknown, HOOK_ODD_NOTHING);
    expect_denied(&h, "'nobody'");
    char *const wrong[] = {"headgate-hook", "--sockte", socket_path, NULL};
    hook_start(&h, folder, plain_call, strlen(plain_call), wrong, HOOK_ODD_NOTHING);
    expect_denied(&h, "--sockte");
}

static void denies_on_a_bad_call(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *input, *word;
    } rows[] = {
        {"plain", "", "JSON"},
        {"plain", "{\"tool\":\"x\"", "JSON"},
        {"plain", "{}", "tool"},
        {"claude", "not json", "JSON"},
        {"claude", "{\"hook_event_name\":\"NewEvent\"}", "NewEvent"},
        {"gemini", "{\"hook_event_name\":\"PreToolUse\"}", "PreToolUse"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hook h;
        start_for(&h, rows[i].agent, rows[i].input);
        expect_denied(&h, rows[i].word);
    }
    /* Too large as a call, and too large to be read at all. */
    static const size_t sizes[] = {LIMIT_CALL_BYTES, LIMIT_LINE_BYTES};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        AUTO_BUF struct buf input = BUF_INIT;
        buf_adds(&input, "{\"tool\":\"write\",\"args\":{\"content\":\"");
        while (input.len < sizes[i])
            buf_adds(&input, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
        buf_adds(&input, "\"}}");
        char *const argv[] = {"headgate-hook", "--socket", socket_path, NULL};
        struct hook h;
        hook_start(&h, folder, input.ptr, input.len, argv, HOOK_ODD_NOTHING);
        expect_denied(&h, "");
    }
}

static void passes_harmless_events(void **state)
{
    (void)state;
    struct hook h;
    start_for(&h, "claude", "{\"hook_event_name\":\"SubagentStop\"}");
    hook_finish(&h);
    assert_int_equal(h.status, 0);
    assert_string_equal(h.out_text.ptr, "");
    hook_release(&h);
}

/* The start of a session says nothing to the agent, and something to the gate. */
static void shakes_hands(void **state)
{
    (void)state;
    static const char yes[] = "{\"v\":1,\"decision\":\"allow\",\"reason\":\"\"}\n";
    AUTO_BUF struct buf request = BUF_INIT;
    struct hook h;
    start_for(&h, "claude", "{\"hook_event_name\":\"SessionStart\"}");
    int fd = take_request(&request);
    assert_string_equal(request.ptr, "{\"v\":1,\"hello\":true}\n");
    assert_int_equal(write(fd, yes, sizeof(yes) - 1), sizeof(yes) - 1);
    close(fd);
    hook_finish(&h);
    assert_int_equal(h.status, 0);
    assert_string_equal(h.out_text.ptr, "");
    hook_release(&h);
}

/* That the agent waits is news: nothing follows from it, whatever becomes of it. */
static void tells_that_it_rests(void **state)
{
    (void)state;
    static const char yes[] = "{\"v\":1,\"decision\":\"allow\",\"reason\":\"\"}\n";
    for (int is_answered = 0; is_answered < 2; is_answered++) {
        AUTO_BUF struct buf request = BUF_INIT;
        struct hook h;
        start_for(&h, "claude", "{\"hook_event_name\":\"Stop\"}");
        int fd = take_request(&request);
        assert_string_equal(request.ptr, "{\"v\":1,\"rest\":\"\"}\n");
        if (is_answered)
            assert_int_equal(write(fd, yes, sizeof(yes) - 1), sizeof(yes) - 1);
        close(fd);
        hook_finish(&h);
        assert_string_equal(h.out_text.ptr, "");
        assert_int_equal(h.status, is_answered ? 0 : 2);
        hook_release(&h);
    }
}

static void denies_on_every_signal(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGPIPE, SIGALRM,
                                  SIGUSR1, SIGUSR2, SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,
                                  SIGILL,  SIGXCPU, SIGSYS,  SIGPROF};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        struct hook h;
        AUTO_BUF struct buf request = BUF_INIT;
        start_for(&h, "codex", claude_call);
        int fd = take_request(&request); /* now it waits */
        assert_int_equal(kill(h.pid, signals[i]), 0);
        expect_denied(&h, signals[i] == SIGALRM ? "in time" : "signal");
        char c;
        assert_int_equal(read(fd, &c, 1), 0); /* the gate sees it go */
        close(fd);
    }
}

static void denies_when_started_oddly(void **state)
{
    (void)state;
    static const char no[] = "{\"v\":1,\"decision\":\"deny\",\"reason\":\"no\"}\n";
    char *const argv[] = {"headgate-hook", "--agent", "claude", "--socket", socket_path, NULL};
    struct hook h;
    AUTO_BUF struct buf request = BUF_INIT;
    hook_start(&h, folder, claude_call, strlen(claude_call), argv, HOOK_ODD_SIGNALS_BLOCKED);
    int fd = take_request(&request);
    kill(h.pid, SIGTERM);
    expect_denied(&h, "signal");
    close(fd);
    static const enum hook_oddity mute[] = {HOOK_ODD_NO_STDOUT, HOOK_ODD_FULL_STDOUT};
    for (size_t i = 0; i < ARRAY_LEN(mute); i++) {
        hook_start(&h, folder, claude_call, strlen(claude_call), argv, mute[i]);
        answer(no, sizeof(no) - 1);
        expect_denied(&h, "denied");
    }
    hook_start(&h, folder, claude_call, strlen(claude_call), argv, HOOK_ODD_NO_STDIN);
    expect_denied(&h, "denied");
}

static void denies_without_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer needs address space of its own */
#endif
    AUTO_BUF struct buf input = BUF_INIT;
    while (input.len < LIMIT_LINE_BYTES - 100)
        buf_adds(&input, "                                                                ");
    char *const argv[] = {"headgate-hook", "--agent", "claude", "--socket", socket_path, NULL};
    struct hook h;
    hook_start(&h, folder, input.ptr, input.len, argv, HOOK_ODD_LITTLE_MEMORY);
    hook_finish(&h);
    assert_int_equal(h.status, 2);
    assert_non_null(strstr(h.err_text.ptr, "signal"));
    hook_release(&h);
}

static void denies_after_its_time(void **state)
{
    (void)state;
    char *const argv[] = {"headgate-hook", "--agent",   "claude", "--socket",
                          socket_path,     "--timeout", "30",     NULL};
    struct hook h;
    AUTO_BUF struct buf request = BUF_INIT;
    hook_start(&h, folder, claude_call, strlen(claude_call), argv, HOOK_ODD_NOTHING);
    int fd = take_request(&request);
    expect_denied(&h, "in time");
    close(fd);
}

/* An agent that gave up closes its end of the pipe; the gate must learn of it. */
static void hangs_up_with_its_agent(void **state)
{
    (void)state;
    struct hook h;
    AUTO_BUF struct buf request = BUF_INIT;
    start_for(&h, "claude", claude_call);
    int fd = take_request(&request);
    close(h.out);
    h.out = -1;
    char c;
    assert_int_equal(read(fd, &c, 1), 0);
    close(fd);
    expect_denied(&h, "hung up");
}

static void prints_help(void **state)
{
    (void)state;
    char *const argv[] = {"headgate-hook", "--help", NULL};
    struct hook h;
    hook_start(&h, folder, "", 0, argv, HOOK_ODD_NOTHING);
    hook_finish(&h);
    assert_int_equal(h.status, 0);
    assert_non_null(strstr(h.out_text.ptr, "--socket PATH"));
    assert_string_equal(h.err_text.ptr, "");
    hook_release(&h);
}

static int compare_us(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void is_quick(void **state)
{
    (void)state;
    enum { RUNS = 200 };
    static const char yes[] = "{\"v\":1,\"decision\":\"allow\",\"reason\":\"\"}\n";
    int64_t us[RUNS];
    for (int i = 0; i < RUNS; i++) {
        struct hook h;
        int64_t start_us = clock_mono_us();
        start_for(&h, "claude", claude_call);
        answer(yes, sizeof(yes) - 1);
        hook_finish(&h);
        us[i] = clock_mono_us() - start_us;
        assert_int_equal(h.status, 0);
        hook_release(&h);
    }
    qsort(us, RUNS, sizeof(us[0]), compare_us);
    print_message("fork to exit with an answer at once: p50 %d us, p99 %d us\n", (int)us[RUNS / 2],
                  (int)us[RUNS * 99 / 100]);
    assert_true(us[RUNS / 2] < 100000);
}

#define HOOK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOK_TEST(allows),
        HOOK_TEST(keeps_the_words_of_a_denial),
        HOOK_TEST(denies_on_a_bad_answer),
        HOOK_TEST(denies_without_a_gate),
        HOOK_TEST(denies_on_a_bad_call),
        HOOK_TEST(passes_harmless_events),
        HOOK_TEST(shakes_hands),
        HOOK_TEST(tells_that_it_rests),
        HOOK_TEST(denies_on_every_signal),
        HOOK_TEST(denies_when_started_oddly),
        HOOK_TEST(denies_without_memory),
        HOOK_TEST(denies_after_its_time),
        HOOK_TEST(hangs_up_with_its_agent),
        HOOK_TEST(prints_help),
        HOOK_TEST(is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
