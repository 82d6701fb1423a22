#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/mem.h"
#include "ui/fixed.h"

static void cuts_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"abcde", "abcde"},
        {"abcdef", "abcde"},
        {"abcd\xc3\xa9", "abcd"},
        {"abc\xc3\xa9", "abc\xc3\xa9"},
        {"abc\xe2\x82\xac", "abc"},
        {"ab\xf0\x9f\x98\x80", "ab"},
        {"a\xf0\x9f\x98\x80", "a\xf0\x9f\x98\x80"},
        {"a\xf0\x9f\x98\x80z", "a\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char set[6], setf[6];
        fixed_set(set, sizeof(set), cases[i].in);
        fixed_setf(setf, sizeof(setf), "%s", cases[i].in);
        assert_string_equal(set, cases[i].out);
        assert_string_equal(setf, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts_between_characters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
