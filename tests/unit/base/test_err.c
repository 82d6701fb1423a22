#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <malloc.h>

static void set_escapes_controls(void **state)
{
    (void)state;
    static const struct {
        const char *given, *text;
    } cases[] = {
        {"plain words", "plain words"},
        {"", ""},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\x9b31m"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"back\\slash", "back\\slash"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        assert_false(err_set(&err, ERR_FORMAT, "%s", cases[i].given));
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.code, ERR_FORMAT);
        assert_int_equal(err.sys_errno, 0);
    }
}

static void long_text_ends_between_characters(void **state)
{
    (void)state;
    char given[4096];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(given, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof(given); i += 3)
            memcpy(given + i, "\xe2\x82\xac", 4);
        struct err err = ERR_INIT;
        err_set(&err, ERR_FAILED, "%s", given);
        size_t len = strlen(err.text);
        assert_in_range(len, sizeof(err.text) - 4, sizeof(err.text) - 1);
        assert_int_equal((len - shift) % 3, 0);
    }
    memset(given, '\x01', sizeof(given) - 1);
    given[sizeof(given) - 1] = '\0';
    struct err err = ERR_INIT;
    err_set(&err, ERR_FAILED, "%s", given);
    assert_int_equal(strlen(err.text) % strlen("\\x01"), 0);
}

static void sys_names_the_cause(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_false(err_sys(&err, ENOSPC, "cannot write %s", "x"));
    assert_string_equal(err.text, "cannot write x: No space left on device");
    assert_int_equal(err.code, ERR_SYS);
    assert_int_equal(err.sys_errno, ENOSPC);
    err_sys(&err, 99999, "odd");
    assert_string_equal(err.text, "odd: error 99999");
}

static void prefix_keeps_code_and_cause(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    err_sys(&err, EACCES, "cannot open x");
    assert_false(err_prefix(&err, "run %d", 3));
    assert_string_equal(err.text, "run 3: cannot open x: Permission denied");
    assert_int_equal(err.code, ERR_SYS);
    assert_int_equal(err.sys_errno, EACCES);
    err_set(&err, ERR_LIMIT, "again: %s", err.text);
    assert_string_equal(err.text, "again: run 3: cannot open x: Permission denied");
}

static void nothing_is_allocated(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    size_t before = mallinfo2().uordblks;
    err_sys(&err, ENOENT, "cannot open %s in %d", "x", 7);
    err_prefix(&err, "step %d", 3);
    assert_int_equal(mallinfo2().uordblks, before);
}

static void codes_have_names_and_exits(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        const char *name;
        int exit_code;
    } cases[] = {
        {ERR_NONE, "none", 0},           {ERR_USAGE, "usage", 2},       {ERR_FAILED, "failed", 1},
        {ERR_NOT_FOUND, "not_found", 1}, {ERR_CONFLICT, "conflict", 1}, {ERR_REFUSED, "refused", 1},
        {ERR_LIMIT, "limit", 1},         {ERR_LAYER, "layer", 4},       {ERR_FORMAT, "format", 1},
        {ERR_SYS, "system", 5},          {ERR_INTERNAL, "internal", 5}, {ERR_SHOWN, "shown", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {.code = cases[i].code};
        assert_string_equal(err_code_name(cases[i].code), cases[i].name);
        assert_int_equal(err_code_from_name(cases[i].name), cases[i].code);
        assert_int_equal(err_exit_code(&err), cases[i].exit_code);
    }
    assert_int_equal(err_code_from_name("no such word"), ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_escapes_controls), cmocka_unit_test(long_text_ends_between_characters),
        cmocka_unit_test(sys_names_the_cause),  cmocka_unit_test(prefix_keeps_code_and_cause),
        cmocka_unit_test(nothing_is_allocated), cmocka_unit_test(codes_have_names_and_exits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
