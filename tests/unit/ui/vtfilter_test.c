#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "ui/vtfilter.h"

#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *in, *out;
} cases[] = {
    {"plain\r\n\t\b\a", "plain\r\n\t\b\a"},
    {"\x01\x02\x05\x7f"
     "a",
     "a"},
    /* text */
    {"\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80", "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80"},
    {"\xff"
     "a\xc3"
     "b\xe6\xbc"
     "c",
     FFFD "a" FFFD "b" FFFD "c"},
    {"\xc2\x9b"
     "2J",
     FFFD "2J"}, /* CSI as a C1 character */
    {"\x9b"
     "2J\x9dx\x9c",
     FFFD "2J" FFFD "x" FFFD}, /* as bytes */
    {"\xe0\x80\x80\xed\xa0\x80\xf4\x90\x80\x80", FFFD FFFD FFFD},
    {"\xe6\x1b[1m", FFFD "\x1b[1m"},
    /* sequences that pass */
    {"\x1b[H\x1b[2J\x1b[1;31m\x1b[38;5;9m\x1b[4:3m",
     "\x1b[H\x1b[2J\x1b[1;31m\x1b[38;5;9m\x1b[4:3m"},
    {"\x1b[;5H\x1b[;H", "\x1b[0;5H\x1b[H"},
    {"\x1b[?25l\x1b[?1049h\x1b[?2004h", "\x1b[?25l\x1b[?1049h\x1b[0n\x1b[?2004h"},
    {"\0337\0338\x1b(0q\x1b(B\x1bM\x1b=",
     "\0337\0338\x1b[0n\x1b(0q\x1b(B\x1bM\x1b="}, /* 0n: see mend_cursor */
    {"\x1b[!p\x1b[2 q\x1b[6n\x1b[>c", "\x1b[!p\x1b[2 q\x1b[6n\x1b[>c"},
    {"\x1b[99999999999999A", "\x1b[9999A"},
    /* translated */
    {"\x1b[s\x1b[u", "\0337\0338\x1b[0n"},
    {"ab\x1b[3b", "abbbb"},
    {"\xe6\xbc\xa2\x1b[b", "\xe6\xbc\xa2\xe6\xbc\xa2"},
    {"\x1b[5b", ""},
    /* dropped */
    {"\x1b#8a\x1b#6", "a"},
    {"\x1b[?69h\x1b[5;10s", ""},
    {"\x1b[?1000;25;1006h", "\x1b[?25h"},
    {"\x1b[8;50;200t\x1b[>4;2m\x1b[=1u\x1b[?u\x1b[1$r\x1b[x", ""},
    {"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17m", ""},
    {"\x1b[?1?2h\x1b[1?h", ""},
    {"\x1b(#B\x1b*0", ""},
    /* strings */
    {"a\x1b]0;title\x07"
     "b",
     "ab"},
    {"a\x1b]52;c;AAAA\x1b\\b", "ab"},
    {"a\x1bPq\xff\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e", "abcde"},
    {"\x1b]0;t\x1b[1mx", "\x1b[1mx"}, /* cut short by another sequence */
    {"\x1b]0;t\x18x\x1b[1\x1ay", "xy"},
    {"\x1b]0;t", ""},
    /* one inside the other */
    {"\x1b[1\x1b[2m", "\x1b[2m"},
    {"\x1b[1\r;2m", "\r\x1b[1;2m"},
    {"\x1b\x1b\x1b[m", "\x1b[m"},
};

static void check(const char *in, const char *expected, size_t step)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct vtfilter f = VTFILTER_INIT;
    size_t len = strlen(in);
    for (size_t at = 0; at < len; at += step)
        vtfilter_feed(&f, &out, in + at, len - at < step ? len - at : step);
    assert_string_equal(out.ptr, expected);
}

static void filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check(cases[i].in, cases[i].out, 1000);
        check(cases[i].in, cases[i].out, 1);
    }
}

static void bounds_repetition(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    struct vtfilter f = VTFILTER_INIT;
    vtfilter_feed(&f, &out, "x\x1b[2147483647b", 14);
    assert_int_equal(out.len, 1 + VTFILTER_REPEAT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters),
        cmocka_unit_test(bounds_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
