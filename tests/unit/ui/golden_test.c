#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/ui/fixture.h"
#include "ui/screens.h"

/* Compare the drawing with golden/NAME.COLSxROWS.txt; GOLDEN_UPDATE=1 in the environment writes the
 * files anew. */
static void check_golden(struct fixture *f, const char *name)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf is = BUF_INIT, expected = BUF_INIT;
    AUTO_FREE char *path =
        xasprintf("%s/%s.%dx%d.txt", GOLDEN_DIR, name, f->canvas.cols, f->canvas.rows);
    canvas_dump(&is, &f->canvas);
    if (getenv("GOLDEN_UPDATE"))
        assert_true(fs_write_plain(AT_FDCWD, path, is.ptr, is.len, 0644, &err));
    if (!fs_read_file(&expected, AT_FDCWD, path, 1024 * 1024, &err))
        fail_msg("%s", err.text);
    if (strcmp(is.ptr, expected.ptr) != 0) {
        fprintf(stderr, "---- %s is now ----\n%s", path, is.ptr);
        fail_msg("%s differs", path);
    }
}

static const struct size {
    int rows, cols;
} sizes[] = {{24, 80}, {40, 120}, {50, 200}};

/* Load, type, draw and compare at every size. The keys are typed after a first drawing, as a
 * person's are. */
static void check_sizes(const char *name, json_t *(*snapshot)(void), const char *keys,
                        void (*more)(struct fixture *f))
{
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct fixture f;
        fixture_init(&f, sizes[i].rows, sizes[i].cols);
        fixture_load(&f, snapshot());
        f.desk.card_moved_ms = 0;
        fixture_draw(&f, sizes[i].rows, sizes[i].cols);
        for (const char *key = keys; *key; key++) {
            fixture_type(&f, (char[]){*key, '\0'});
            fixture_draw(&f, sizes[i].rows, sizes[i].cols);
        }
        if (more)
            more(&f);
        fixture_draw(&f, sizes[i].rows, sizes[i].cols);
        check_golden(&f, name);
        fixture_release(&f);
    }
}

static json_t *busy(void)
{
    return fixture_busy(8);
}

static json_t *full(void)
{
    return fixture_busy(64);
}

/* Everything that an agent can name, with what a terminal would obey or draw elsewhere. */
static json_t *hostile(void)
{
    static const char evil[] =
        "\x1b[2J\x1b]0;pwned\x07red\x1b[31m \xe2\x80\xae"
        "gpj.exe\xe2\x80\xac \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80 "
        "1\xef\xb8\x8f\xe2\x83\xa3 e\xcc\x81 \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 "
        "z\xe2\x80\x8bw \r\nnext\ttab";
    json_t *snapshot = fixture_snapshot(), *run = fixture_run(3),
           *a = fixture_attempt(3, 1, "running");
    jx_set_str(run, "repo", evil);
    static const char *const members[] = {"state", "agent", "task", "title", "last_line", "branch"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        jx_set_str(a, members[i], evil);
    fixture_add(snapshot, "runs", run);
    fixture_add(snapshot, "attempts", a);
    json_t *call = fixture_call(1, "3.1", evil, "{}"), *args = json_object(), *sub = json_object();
    jx_set_str(args, "command", evil);
    jx_set_str(args, evil, "a\\n is not\na line break");
    jx_set_int(args, "count", 7);
    jx_set(call, "args", args);
    static const char *const words[] = {"cwd", "why", "reason"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        jx_set_str(call, words[i], evil);
    jx_set_str(sub, "type", evil);
    jx_set_int(sub, "depth", 2);
    jx_set(call, "subagent", sub);
    fixture_add(snapshot, "calls", call);
    return snapshot;
}

static json_t *long_args(void)
{
    json_t *snapshot = fixture_busy(2), *args = json_object();
    AUTO_BUF struct buf content = BUF_INIT;
    for (int i = 1; i <= 100; i++)
        buf_addf(&content, "line %d of a file that is written whole%s\n", i,
                 i % 10 ? ""
                        : ", with a tail that is longer than a terminal of eighty columns is wide, "
                          "and more");
    jx_set_str(args, "file_path", "src/lexer.c");
    jx_set_str(args, "content", content.ptr);
    json_t *call = fixture_call(0, "3.1", "Write", "{}");
    jx_set(call, "args", args);
    fixture_add(snapshot, "calls", call);
    return snapshot;
}

static void attempts_busy(void **state)
{
    (void)state;
    check_sizes("attempts", busy, "", NULL);
}

static void attempts_full(void **state)
{
    (void)state;
    check_sizes("attempts-64", full, "G\x1b", NULL);
}

static void show_layers(struct fixture *f)
{
    struct err err = ERR_INIT;
    json_t *parsed;
    static const char text[] =
        "{\"attempts\":[{\"run\":3,\"layers\":[{\"name\":\"user\",\"state\":\"active\"},"
        "{\"name\":\"cgroup\",\"state\":\"degraded\"}]}]}";
    assert_true(jx_parse(&parsed, text, strlen(text), &err));
    AUTO_JSON json_t *result = parsed;
    desk_on_answer(&f->desk, ASK_LAYERS, "3.1", result, NULL);
    fixture_type(f, "\x1b[B\x1b[B");
}

static void attempts_layers(void **state)
{
    (void)state;
    check_sizes("attempts-layers", busy, "", show_layers);
}

static void attempts_hostile(void **state)
{
    (void)state;
    check_sizes("attempts-hostile", hostile, "", NULL);
}

static void attempts_none(void **state)
{
    (void)state;
    check_sizes("attempts-none", fixture_snapshot, "", NULL);
}

static void queue_cards(void **state)
{
    (void)state;
    check_sizes("queue", busy, "g", NULL);
}

static void queue_hostile(void **state)
{
    (void)state;
    check_sizes("queue-hostile", hostile, "g", NULL);
}

static void queue_long(void **state)
{
    (void)state;
    check_sizes("queue-long", long_args, "g ", NULL);
}

static void queue_none(void **state)
{
    (void)state;
    check_sizes("queue-none", fixture_snapshot, "g", NULL);
}

static void call_detail(void **state)
{
    (void)state;
    check_sizes("call", busy, "g\r", NULL);
}

static void call_hostile(void **state)
{
    (void)state;
    check_sizes("call-hostile", hostile, "g\r", NULL);
}

static void deny_prompt(void **state)
{
    (void)state;
    check_sizes("deny", busy, "gdPush to a branch of your own, not main", NULL);
}

static void show_attempt(struct fixture *f)
{
    struct err err = ERR_INIT;
    json_t *parsed;
    static const char text[] = "{\"attempts\":[{\"task\":\"Replace the lexer.\\nKeep every test "
                               "green.\",\"review\":[\"CI file\\t.github/workflows/ci.yml\"],"
                               "\"layers\":[{\"name\":\"user\",\"state\":\"active\",\"mechanism\":"
                               "\"user namespace, identity-mapped\"},"
                               "{\"name\":\"cgroup\",\"state\":\"degraded\",\"mechanism\":"
                               "\"rlimits\",\"reason\":\"no cgroup is delegated\"}]}]}";
    assert_true(jx_parse(&parsed, text, strlen(text), &err));
    AUTO_JSON json_t *result = parsed;
    desk_on_answer(&f->desk, ASK_ATTEMPT, "3.1", result, NULL);
}

static void attempt_detail(void **state)
{
    (void)state;
    check_sizes("attempt", busy, "\r", show_attempt);
}

static void show_output(struct fixture *f)
{
    static const char text[] =
        "\x1b[32mok\x1b[0m 1 lexer\r\n\x1b[2Jclears\n\xe6\xbc\xa2\xe5\xad\x97\twide and a "
        "tab\n50%\r51%\nno end yet";
    static const char messages[] = "{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":"
                                   "\"assistant\",\"message\":{\"content\":"
                                   "[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{"
                                   "\"command\":\"make \\u001b[2Jtest\"}}]}}\n"
                                   "{\"no message\": \n";
    size_t half = strlen(messages) / 2; /* what comes may end anywhere */
    desk_on_tail(&f->desk, messages, half, NULL);
    desk_on_tail(&f->desk, messages + half, strlen(messages) - half, NULL);
    desk_on_tail(&f->desk, text, strlen(text), NULL);
}

static const char trace_json[] =
    "{\"cut\":false,\"trace\":{\"kind\":\"attempt\",\"at_ms\":1760000000000,\"attempt\":{\"id\":"
    "\"3.1\",\"agent\":\"claude\",\"state\":\"running\",\"title\":\"Replace the lexer\"},"
    "\"children\":[{\"kind\":\"subagent\",\"at_ms\":1760000001000,\"subagent\":{\"id\":\"a1\","
    "\"type\":\"explorer\",\"depth\":1},\"children\":[{\"kind\":\"call\",\"at_ms\":1760000001000,"
    "\"call\":{\"id\":\"c10\",\"state\":\"denied\",\"why\":\"floor\",\"reason\":\"not here\","
    "\"tool\":\"Bash\",\"args\":{\"command\":\"sudo \\u001b[2J\\u202ex\"}},\"children\":[]}]},"
    "{\"kind\":\"call\",\"at_ms\":1760000002000,\"call\":{\"id\":\"c12\",\"state\":\"consumed\","
    "\"decided_by\":\"ann (shell, pid 4)\",\"tool\":\"Bash\",\"args\":{\"command\":\"npm ci\"}},"
    "\"children\":[{\"kind\":\"program\",\"at_ms\":1760000003000,\"path\":\"/usr/bin/npm\",\"n\":3,"
    "\"children\":[{\"kind\":\"net\",\"at_ms\":1760000004000,\"host\":\"registry.demo.test\","
    "\"port\":443,\"connections\":2,\"up\":1536,\"down\":20,\"denied\":0,\"refused\":1,"
    "\"refused_why\":\"the TLS handshake names another host\",\"children\":[]}]}]},"
    "{\"kind\":\"call\",\"at_ms\":1760000005000,\"call\":{\"id\":\"c13\",\"state\":\"pending\","
    "\"why\":\"floor\",\"tool\":\"Bash\",\"args\":{\"command\":\"git push\"}},\"children\":[]},"
    "{\"kind\":\"refs\",\"at_ms\":1760000006000,\"ref\":\"refs/heads/headgate/3/1\",\"to\":"
    "\"0123456789abcdef\",\"commits\":1,\"files\":2,\"children\":[]}]}}";

static void show_trace(struct fixture *f)
{
    struct err err = ERR_INIT;
    json_t *parsed;
    assert_true(jx_parse(&parsed, trace_json, strlen(trace_json), &err));
    AUTO_JSON json_t *result = parsed;
    desk_on_answer(&f->desk, ASK_TRACE, "3.1", result, NULL);
}

static void trace(void **state)
{
    (void)state;
    check_sizes("trace", busy, "w", show_trace);
}

static void output(void **state)
{
    (void)state;
    check_sizes("output", busy, "o", show_output);
}

static void show_diff(struct fixture *f)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_adds(&text, "diff --git a/src/lexer.c b/src/lexer.c\n--- a/src/lexer.c\n+++ "
                    "b/src/lexer.c\n@@ -1,3 +1,3 @@ int main\n"
                    " int a;\n-int b;\n+\tint b; /* \x1b[31m \xe2\x80\xae */\n");
    for (int i = 0; i < 80; i++)
        buf_addf(&text, " context %d\n", i);
    desk_on_diff(&f->desk, "3.1", &text, NULL);
}

static void diff(void **state)
{
    (void)state;
    check_sizes("diff", busy, "v", show_diff);
}

static void show_live(struct fixture *f)
{
    static const char text[] =
        "\x1b]0;title\x07\x1b[1mClaude\x1b[0m \xe6\xbc\xa2 e\xcc\x81\r\n\x1b[31mred\x1b[0m "
        "\x1b[38;2;255;128;0mrgb\x1b[0m\r\n> ";
    desk_on_live(&f->desk, text, strlen(text));
}

static void live(void **state)
{
    (void)state;
    check_sizes("live", busy, "jt", show_live);
}

static void help(void **state)
{
    (void)state;
    check_sizes("help-attempts", busy, "?", NULL);
    check_sizes("help-queue", busy, "g?", NULL);
}

static void lose_server(struct fixture *f)
{
    desk_on_link(&f->desk, LINK_GONE);
}

static void server_gone(void **state)
{
    (void)state;
    check_sizes("server-gone", busy, "", lose_server);
}

static void too_small(void **state)
{
    (void)state;
    static const struct size small[] = {{23, 80}, {24, 79}, {5, 20}, {1, 1}};
    struct fixture f;
    fixture_init(&f, 24, 80);
    fixture_load(&f, busy());
    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        fixture_draw(&f, small[i].rows, small[i].cols);
        check_golden(&f, "small");
    }
    fixture_release(&f);
}

/* What is measured is the whole way from the model to cells, as at every change; the bound is a
 * frame at 30 a second. */
static void draws_in_a_frame(void **state)
{
    (void)state;
    enum { ROUNDS = 50 };
    static const char *const screens[] = {"", "g", "g\r"};
    for (size_t i = 0; i < ARRAY_LEN(screens); i++) {
        struct fixture f;
        fixture_init(&f, 50, 200);
        fixture_load(&f, full());
        fixture_type(&f, screens[i]);
        int64_t begin = clock_mono_us();
        for (int round = 0; round < ROUNDS; round++)
            fixture_draw(&f, 50, 200);
        int64_t each = (clock_mono_us() - begin) / ROUNDS;
        print_message("%s of 64 attempts at 200x50: %lld us\n", f.desk.top->ops->name,
                      (long long)each);
        assert_true(each < 33000);
        fixture_release(&f);
    }
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_busy),
        cmocka_unit_test(attempts_full),
        cmocka_unit_test(attempts_layers),
        cmocka_unit_test(attempts_hostile),
        cmocka_unit_test(attempts_none),
        cmocka_unit_test(queue_cards),
        cmocka_unit_test(queue_hostile),
        cmocka_unit_test(queue_long),
        cmocka_unit_test(queue_none),
        cmocka_unit_test(call_detail),
        cmocka_unit_test(call_hostile),
        cmocka_unit_test(deny_prompt),
        cmocka_unit_test(attempt_detail),
        cmocka_unit_test(output),
        cmocka_unit_test(trace),
        cmocka_unit_test(diff),
        cmocka_unit_test(live),
        cmocka_unit_test(help),
        cmocka_unit_test(server_gone),
        cmocka_unit_test(too_small),
        cmocka_unit_test(draws_in_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
