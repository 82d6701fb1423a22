#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/log_text.h"

struct shown {
    const char *kind, *log, *text;
};

#define SAYS(text)                                                                          \
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"" text \
    "\"}]}}\n"
#define CALLS                                                                                     \
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\"," \
    "\"input\":{\"command\":\"make\"}}]}}\n"
#define RESULT(text) "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"" text "\"}\n"

static const struct shown cases[] = {
    {"lines", "a\nb\r\nc", "a\nb\nc\n"},
    {"lines", "\n\n", "\n\n"},
    {"lines", "10%\r20%\rdone\r\n", "done\n"},
    {"lines", "\033[1;31mred\033[0m \033]0;title\a\033]8;;x\033\\link\033(B\n", "red link\n"},
    {"lines", "a\tb \033[2 \x01\xff\xe2\x80\xae\n", "a       b \\e[2 \\x01\\xff\\u{202e}\n"},
    {"claude", "{\"type\":\"system\"}\nboom\n", "boom\n"},
    {"claude",
     "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\\nyou\"}]}"
     "}\n",
     "hi\nyou\n"},
    /* The result is the last answer again; one that was not told, or told of another turn, is
     * shown. */
    {"claude", SAYS("a") CALLS SAYS("b") RESULT("b"), "a\nBash make\nb\n"},
    {"claude", SAYS("a") RESULT("b") RESULT("a"), "a\nb\na\n"},
    {"claude", SAYS("a") RESULT("a") SAYS("a") RESULT("a") RESULT("a"), "a\na\na\n"},
    {"claude", SAYS("a") "{\"type\":\"result\",\"subtype\":\"error_max_turns\"}\n",
     "a\nerror_max_turns\n"},
};

static void shows_lines_whole_or_in_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].log);
        for (size_t step = 1; step <= len; step += len > 8 ? len - 1 : 1) {
            AUTO_LOG_TEXT struct log_text t;
            AUTO_BUF struct buf out = BUF_INIT;
            log_text_init(&t, cases[i].kind);
            for (size_t at = 0; at < len; at += step)
                log_text_feed(&out, &t, cases[i].log + at, at + step < len ? step : len - at);
            log_text_end(&out, &t);
            assert_string_equal(out.ptr, cases[i].text);
        }
    }
}

static void bounds_a_line_without_end(void **state)
{
    (void)state;
    AUTO_LOG_TEXT struct log_text t;
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_FREE char *block = xmalloc(64 * 1024);
    memset(block, 'x', 64 * 1024);
    log_text_init(&t, "lines");
    for (int i = 0; i < 40; i++)
        log_text_feed(&out, &t, block, 64 * 1024);
    assert_true(t.partial.len <= 1024 * 1024);
    log_text_end(&out, &t);
    assert_true(out.len >= 40 * 64 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_lines_whole_or_in_pieces),
        cmocka_unit_test(bounds_a_line_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
