#include "tests/unit/base/scratch.h"

#include "runner/base/frame.h"

/* Feed text in pieces of the given size; the lines that come out, joined by '|'. A line above the
 * bound ends with "!". */
static char *lines(const char *text, size_t piece, size_t max_bytes)
{
    struct frame f;
    frame_init(&f, max_bytes);
    AUTO_BUF struct buf line = BUF_INIT;
    struct buf all = BUF_INIT;
    struct err err = ERR_INIT;
    bool ok = true;
    for (size_t at = 0, len = strlen(text); ok && at < len; at += piece) {
        frame_feed(&f, text + at, len - at < piece ? len - at : piece);
        bool have = true;
        while ((ok = frame_next(&f, &line, &have, &err)) && have)
            buf_addf(&all, "%s|", line.ptr);
    }
    if (!ok) {
        assert_int_equal(err.code, ERR_LIMIT);
        buf_addch(&all, '!');
    }
    frame_release(&f);
    return buf_steal(&all);
}

static void lines_come_out_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t max_bytes;
        const char *lines;
    } cases[] = {
        {"", 10, ""},
        {"a\n", 10, "a|"},
        {"unfinished", 10, ""},
        {"a\nbb\n\nccc\nrest", 10, "a|bb||ccc|"},
        {"12345\n", 5, "12345|"},
        {"123456\n", 5, "!"},
        {"ok\n123456", 5, "ok|!"},
        {"crlf\r\n", 10, "crlf\r|"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t piece = 1; piece <= 16; piece++) {
            AUTO_FREE char *got = lines(cases[i].text, piece, cases[i].max_bytes);
            assert_string_equal(got, cases[i].lines);
        }
    }
}

static void many_lines_in_one_piece_cost_little(void **state)
{
    (void)state;
    enum { LINES = 1000000 };
    struct frame f;
    frame_init(&f, 100);
    AUTO_BUF struct buf text = BUF_INIT;
    for (int i = 0; i < LINES; i++)
        buf_adds(&text, "x\n");
    frame_feed(&f, text.ptr, text.len);
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    int n = 0;
    for (bool have; frame_next(&f, &line, &have, &err) && have;)
        n++;
    assert_int_equal(n, LINES); /* moving the rest for each line would take minutes */
    frame_release(&f);
}

static void lines_may_hold_nul(void **state)
{
    (void)state;
    struct frame f;
    frame_init(&f, 10);
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    bool have;
    frame_feed(&f, "a\0b\n", 4);
    assert_ok(frame_next(&f, &line, &have, &err));
    assert_true(have);
    assert_int_equal(line.len, 3);
    assert_memory_equal(line.ptr, "a\0b", 4);
    frame_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_out_whole),
        cmocka_unit_test(many_lines_in_one_piece_cost_little),
        cmocka_unit_test(lines_may_hold_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
