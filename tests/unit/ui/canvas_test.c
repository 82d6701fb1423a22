#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "ui/canvas.h"

static void check_row(const struct canvas *cv, int row, const char *expected)
{
    AUTO_BUF struct buf is = BUF_INIT;
    for (int col = 0; col < cv->cols; col++)
        buf_adds(&is, canvas_cell(cv, row, col)->text);
    assert_string_equal(is.ptr, expected);
}

static void puts_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *text_row, *clip_row;
        int used;
    } cases[] = {
        {"abc", "abc     ", "abc     ", 3},
        {"abcdefghij", "abcdefgh", "abcdefg\xe2\x80\xa6", 8},
        {"\x1b[m", "\\e[m    ", "\\e[m    ", 4},
        {"a\nb", "a\\nb    ", "a\\nb    ", 4},
        {"\xff", "\\xff    ", "\\xff    ", 4},
        {"\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97    ", "\xe6\xbc\xa2\xe5\xad\x97    ",
         4},
        {"abcdefg\xe6\xbc\xa2", "abcdefg ", "abcdefg\xe2\x80\xa6", 7},
        {"e\xcc\x81x", "e\xcc\x81x      ", "e\xcc\x81x      ", 2},
        {"\xcc\x81x", "x       ", "x       ", 1},
        {"\xe2\x80\xae!", "\\u{202e}", "\\u{202e\xe2\x80\xa6", 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_CANVAS struct canvas cv = CANVAS_INIT;
        canvas_reset(&cv, 2, 8);
        assert_int_equal(
            canvas_text(&cv, 0, 0, 8, STYLE_PLAIN, cases[i].text, strlen(cases[i].text)),
            cases[i].used);
        canvas_clip(&cv, 1, 0, 8, STYLE_PLAIN, cases[i].text);
        check_row(&cv, 0, cases[i].text_row);
        if (strcmp(cases[i].clip_row, cases[i].text_row) != 0 || cases[i].used < 8)
            check_row(&cv, 1, cases[i].clip_row);
    }
}

static void never_halves_wide_cells(void **state)
{
    (void)state;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    static const char wide[] = "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2";
    for (int col = 0; col < 6; col++) {
        canvas_reset(&cv, 1, 6);
        canvas_text(&cv, 0, 0, 6, STYLE_PLAIN, wide, strlen(wide));
        canvas_text(&cv, 0, col, 1, STYLE_PLAIN, "x", 1);
        for (int i = 0; i < 6; i++) {
            const struct cell *cell = canvas_cell(&cv, 0, i), *next = canvas_cell(&cv, 0, i + 1);
            assert_true(cell->width != 2 || (next && next->width == 0));
            assert_true(cell->width != 0 || canvas_cell(&cv, 0, i - 1)->width == 2);
        }
        assert_string_equal(canvas_cell(&cv, 0, col)->text, "x");
    }
}

static void ignores_what_is_outside(void **state)
{
    (void)state;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    canvas_reset(&cv, 2, 3);
    canvas_text(&cv, -1, 0, 3, STYLE_PLAIN, "abc", 3);
    canvas_text(&cv, 2, 0, 3, STYLE_PLAIN, "abc", 3);
    canvas_text(&cv, 0, 3, 3, STYLE_PLAIN, "abc", 3);
    canvas_restyle(&cv, 1, -5, 100, style_attr(CELL_BOLD));
    canvas_cursor(&cv, 5, 5);
    check_row(&cv, 0, "   ");
    assert_false(cv.cursor_visible);
    assert_int_equal(canvas_cell(&cv, 1, 2)->style.attr, CELL_BOLD);
}

static void bounds_marks(void **state)
{
    (void)state;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    AUTO_BUF struct buf zalgo = BUF_INIT;
    buf_adds(&zalgo, "a");
    for (int i = 0; i < 100; i++)
        buf_adds(&zalgo, "\xcc\x81");
    buf_adds(&zalgo, "b");
    canvas_reset(&cv, 1, 4);
    assert_int_equal(canvas_text(&cv, 0, 0, 4, STYLE_PLAIN, zalgo.ptr, zalgo.len), 2);
    assert_true(strlen(canvas_cell(&cv, 0, 0)->text) < CELL_TEXT_SIZE);
    assert_string_equal(canvas_cell(&cv, 0, 1)->text, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_text),
        cmocka_unit_test(never_halves_wide_cells),
        cmocka_unit_test(ignores_what_is_outside),
        cmocka_unit_test(bounds_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
