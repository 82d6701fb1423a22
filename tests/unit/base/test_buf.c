#include "tests/unit/base/scratch.h"

static void empty_is_a_string(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    assert_string_equal(b.ptr, "");
    buf_add(&b, NULL, 0);
    buf_adds(&b, "");
    buf_addf(&b, "%s", "");
    buf_clear(&b);
    buf_rtrim(&b);
    buf_consume(&b, 0);
    buf_reserve(&b, 0);
    assert_int_equal(b.cap, 0);
    assert_string_equal(b.ptr, "");
}

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    for (int i = 0; i < 10000; i++) {
        buf_addch(&b, (char)('a' + i % 26));
        assert_int_equal(b.ptr[b.len], '\0');
        assert_true(b.len < b.cap);
    }
    assert_int_equal(b.len, 10000);
    assert_int_equal(b.ptr[9999], 'a' + 9999 % 26);
}

static void holds_any_bytes(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    buf_add(&b, "a\0b", 3);
    buf_addf(&b, "-%05d", 42);
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.ptr, "a\0b-00042", 10);
}

static void reserved_memory_is_there(void **state)
{
    (void)state;
    for (size_t more = 0; more < 200; more++) {
        AUTO_BUF struct buf b = BUF_INIT;
        buf_adds(&b, "xy");
        buf_reserve(&b, more);
        assert_true(b.cap >= 2 + more + 1);
        memset(b.ptr + b.len, 'z', more);
        b.ptr[b.len + more] = '\0';
    }
}

static void consume_removes_the_front(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    buf_adds(&b, "headtail");
    buf_consume(&b, 4);
    assert_string_equal(b.ptr, "tail");
    buf_consume(&b, 4);
    assert_string_equal(b.ptr, "");
    assert_int_equal(b.len, 0);
}

static void rtrim_removes_white_space(void **state)
{
    (void)state;
    static const struct {
        const char *given, *trimmed;
    } cases[] = {
        {"x", "x"}, {"x \t\r\n\v\f", "x"}, {" \n", ""}, {"", ""}, {" x y ", " x y"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf b = BUF_INIT;
        buf_adds(&b, cases[i].given);
        buf_rtrim(&b);
        assert_string_equal(b.ptr, cases[i].trimmed);
        assert_int_equal(b.len, strlen(cases[i].trimmed));
    }
    AUTO_BUF struct buf b = BUF_INIT; /* a NUL byte is not white space */
    buf_add(&b, "x\0", 2);
    buf_rtrim(&b);
    assert_int_equal(b.len, 2);
}

static void steal_hands_over(void **state)
{
    (void)state;
    AUTO_BUF struct buf b = BUF_INIT;
    AUTO_FREE char *empty = buf_steal(&b);
    assert_string_equal(empty, "");
    buf_adds(&b, "text");
    AUTO_FREE char *text = buf_steal(&b);
    assert_string_equal(text, "text");
    assert_int_equal(b.cap, 0);
    assert_string_equal(b.ptr, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_a_string),         cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(holds_any_bytes),           cmocka_unit_test(reserved_memory_is_there),
        cmocka_unit_test(consume_removes_the_front), cmocka_unit_test(rtrim_removes_white_space),
        cmocka_unit_test(steal_hands_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
