#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "ui/edit.h"

static void type(struct edit *e, const char *bytes)
{
    struct key_reader r = {.n = 0};
    struct key key;
    size_t len = strlen(bytes);
    for (size_t at = 0, used; at < len; at += used)
        if (key_next(&key, &r, (const unsigned char *)bytes + at, len - at, &used))
            (void)edit_key(e, &key);
}

static void edits(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *text;
        size_t at;
    } cases[] = {
        {"abc", "abc", 3},
        {"abc\x7f", "ab", 2},
        {"\x7f\x1b[3~\x1b[D\x1b[C", "", 0},
        {"abc\x1b[D\x1b[DX", "aXbc", 2},
        {"abc\x01X\x05Y", "XabcY", 5},
        {"ab\x1b[D\x1b[3~", "a", 1},
        {"one two  \x17", "one ", 4},
        {"abc\x1b[D\x15", "c", 0},
        {"abc\x01\x1b[C\x0b", "a", 1},
        {"\xe6\xbc\xa2\xe5\xad\x97\x7f", "\xe6\xbc\xa2", 3},
        {"e\xcc\x81x\x1b[D\x1b[D\x1b[3~", "x", 0}, /* a letter goes with its accent */
        {"\x1b[200~a\rb\tc\x1b[201~", "a b c", 5},
        {"0123456789012345", "0123456789", 10},
        {"012345678\xc3\xa9", "012345678", 9},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct edit e;
        edit_init(&e, 10);
        type(&e, cases[i].keys);
        assert_string_equal(e.text.ptr, cases[i].text);
        assert_int_equal(e.at, cases[i].at);
        edit_release(&e);
    }
}

static void keeps_the_cursor_in_sight(void **state)
{
    (void)state;
    AUTO_CANVAS struct canvas cv = CANVAS_INIT;
    struct edit e;
    edit_init(&e, 1000);
    for (int i = 0; i < 30; i++) {
        type(&e, i % 3 ? "x" : "\xe6\xbc\xa2");
        canvas_reset(&cv, 1, 8);
        edit_draw(&e, &cv, 0, 0, 8);
        assert_true(cv.cursor_visible);
        assert_true(cv.cursor_col < 8);
    }
    edit_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits),
        cmocka_unit_test(keeps_the_cursor_in_sight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
