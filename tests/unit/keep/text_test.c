/*
 * What of the keeper is pure: last_line, ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "runner/base/text.h"
#include "runner/keep/last_line.h"
#include "runner/keep/ring.h"

static const struct {
    const char *kind, *fed, *line;
} lines[] = {
    {"lines", "one\ntwo\nthree", "two"},
    {"lines", "one\n\n  \n", "one"},
    {"lines", "", ""},
    {"lines", "  indented  \n", "indented"},
    {"lines", "red \033[1;31merror\033[0m here\n", "red error here"},
    {"lines", "\033]0;title\007text\n", "text"},
    {"lines", "\033]0;title\033\\text\n", "text"},
    {"lines", "\033(Bcharset\n", "charset"},
    {"lines", "\033[31\nafter\n", "after"},
    {"lines", "10%\r50%\r100%\r\n", "100%"},
    {"lines", "10%\r50%\rdone\n", "done"},
    {"lines", "tab\there\x01\x7f\n", "tab here"},
    {"lines", "gr\xc3\xbc\xc3\x9f\n", "gr\xc3\xbc\xc3\x9f"},
    {"claude",
     "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
     "\"Hello\\nyou\"}]}}\n",
     "Hello"},
    {"claude", "noise\n{\"type\":\"system\"}\n", ""},
};

static void the_last_line_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct last_line whole, bytewise;
        last_line_init(&whole, lines[i].kind);
        last_line_init(&bytewise, lines[i].kind);
        bool has_changed = last_line_feed(&whole, lines[i].fed, strlen(lines[i].fed));
        assert_int_equal(has_changed, lines[i].line[0] != '\0');
        for (const char *c = lines[i].fed; *c; c++)
            last_line_feed(&bytewise, c, 1);
        assert_string_equal(whole.line.ptr, lines[i].line);
        assert_string_equal(bytewise.line.ptr, lines[i].line);
        last_line_release(&whole);
        last_line_release(&bytewise);
    }
}

static void an_unfinished_line_counts_at_the_end(void **state)
{
    (void)state;
    struct last_line l;
    last_line_init(&l, "lines");
    assert_false(last_line_feed(&l, "tail", 4));
    assert_true(last_line_finish(&l));
    assert_string_equal(l.line.ptr, "tail");
    assert_false(last_line_finish(&l));
    last_line_release(&l);
}

static void a_long_line_is_cut_between_characters(void **state)
{
    (void)state;
    struct last_line l;
    last_line_init(&l, "lines");
    last_line_feed(&l, "x", 1);
    for (int i = 0; i < 2000; i++)
        last_line_feed(&l, "\xe2\x82\xac", 3);
    assert_true(last_line_feed(&l, "\n", 1));
    assert_true(l.line.len <= LAST_LINE_BYTES && l.line.len > LAST_LINE_BYTES - 4);
    assert_true(text_is_utf8(l.line.ptr, l.line.len));
    last_line_release(&l);
}

static void a_line_without_end_takes_bounded_memory(void **state)
{
    (void)state;
    static char chunk[64 * 1024];
    struct last_line l;
    memset(chunk, 'x', sizeof chunk);
    last_line_init(&l, "lines");
    for (int i = 0; i < 100; i++)
        last_line_feed(&l, chunk, sizeof chunk);
    assert_true(l.partial.len <= 1024 * 1024);
    assert_true(last_line_feed(&l, "\n", 1));
    assert_int_equal(l.line.len, LAST_LINE_BYTES);
    assert_true(last_line_feed(&l, "ok\n", 3));
    assert_string_equal(l.line.ptr, "ok");
    last_line_release(&l);
}

static void the_ring_keeps_the_last_bytes(void **state)
{
    (void)state;
    static char chunk[RING_BYTES + 10];
    AUTO_BUF struct buf got = BUF_INIT;
    struct ring r = {0};
    ring_copy(&got, &r);
    assert_int_equal(got.len, 0);
    ring_add(&r, "abc", 3);
    ring_copy(&got, &r);
    assert_string_equal(got.ptr, "abc");
    assert_false(r.is_full);

    memset(chunk, '.', sizeof chunk);
    memcpy(chunk + sizeof chunk - 3, "end", 3);
    ring_add(&r, chunk, sizeof chunk);
    ring_add(&r, "XYZ", 3);
    buf_clear(&got);
    ring_copy(&got, &r);
    assert_true(r.is_full);
    assert_int_equal(got.len, RING_BYTES);
    assert_string_equal(got.ptr + got.len - 6, "endXYZ");
    assert_int_equal(got.ptr[0], '.');

    buf_clear(&got);
    for (int i = 0; i < RING_BYTES; i++)
        ring_add(&r, "r", 1);
    ring_copy(&got, &r);
    assert_int_equal(got.len, RING_BYTES);
    assert_int_equal(strspn(got.ptr, "r"), RING_BYTES);
    ring_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_is_found),
        cmocka_unit_test(an_unfinished_line_counts_at_the_end),
        cmocka_unit_test(a_long_line_is_cut_between_characters),
        cmocka_unit_test(a_line_without_end_takes_bounded_memory),
        cmocka_unit_test(the_ring_keeps_the_last_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
