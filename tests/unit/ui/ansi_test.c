#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "ui/ansi.h"

static const struct {
    const char *in, *out;
} cases[] = {
    {"plain", "plain"},
    {"\x1b[31mred\x1b[0m", "red"},
    {"\x1b[38;2;1;2;3mx\x1b[4:3my\x1b[m", "xy"},
    {"\x1b[2Jx", "\x1b[2Jx"},
    {"\x1b]0;t\x07x", "\x1b]0;t\x07x"},
    {"\x1b\x1b[1mx", "\x1bx"},
    {"\x1b[1\x1b[1mx", "\x1b[1x"},
    {"mm[m", "mm[m"},
};

static void strips(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct ansi a = {.n = 0};
        ansi_strip(&a, &out, cases[i].in, strlen(cases[i].in));
        assert_string_equal(out.ptr, cases[i].out);
    }
}

static void strips_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        struct ansi a = {.n = 0};
        for (const char *at = cases[i].in; *at; at++)
            ansi_strip(&a, &out, at, 1);
        assert_string_equal(out.ptr, cases[i].out);
    }
}

static void lets_endless_ones_go(void **state)
{
    (void)state;
    AUTO_BUF struct buf in = BUF_INIT, out = BUF_INIT;
    struct ansi a = {.n = 0};
    buf_adds(&in, "\x1b[");
    for (int i = 0; i < 1000; i++)
        buf_addch(&in, '1');
    buf_adds(&in, "mx");
    ansi_strip(&a, &out, in.ptr, in.len);
    assert_string_equal(out.ptr, in.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips),
        cmocka_unit_test(strips_byte_by_byte),
        cmocka_unit_test(lets_endless_ones_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
