#include "tests/unit/base/scratch.h"

#include <inttypes.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "runner/base/clock.h"

static void durations_are_short(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {-5, "0s"},
        {0, "0s"},
        {999, "0s"},
        {59999, "59s"},
        {60000, "1m00s"},
        {192000, "3m12s"},
        {3599999, "59m59s"},
        {7500000, "2h05m"},
        {86399999, "23h59m"},
        {356400000, "4d03h"},
        {INT64_MAX, "106751991167d07h"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        clock_add_duration(&out, cases[i].ms);
        assert_string_equal(out.ptr, cases[i].text);
    }
}

static void local_time_is_local(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF_INIT;
    setenv("TZ", "UTC-2", 1);
    tzset();
    clock_add_local(&out, 1796040309000);
    assert_string_equal(out.ptr, "2026-11-30 14:05:09");
    buf_clear(&out);
    clock_add_local(&out, INT64_MAX);
    assert_true(out.len > 0);
}

static void clocks_run(void **state)
{
    (void)state;
    int64_t us = clock_mono_us(), ms = clock_mono_ms();
    assert_true(ms >= us / 1000);
    assert_true(clock_mono_us() >= us);
    assert_true(clock_unix_ms() > INT64_C(1700000000000));
}

static struct timespec time_of_new_file(const char *name)
{
    struct err err = ERR_INIT;
    struct stat st;
    assert_ok(fs_write_plain(AT_FDCWD, name, "x", 1, 0600, &err));
    assert_int_equal(stat(name, &st), 0);
    return st.st_mtim;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static void files_differ_in_time_after_a_tick(void **state)
{
    enum { ROUNDS = 50 };
    int equal = 0;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec before = time_of_new_file("a");
        equal += !is_later(time_of_new_file("b"), before); /* without: mostly the same tick */
        before = time_of_new_file("c");
        clock_pass_tick();
        assert_true(is_later(time_of_new_file("d"), before));
    }
    assert_true(equal > 0);
}

struct parse_case {
    const char *text;
    int64_t value; /* -1: refused */
};

static void parses(const struct parse_case *cases, size_t n,
                   bool (*parse)(int64_t *, const char *, struct err *))
{
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        int64_t value = -7;
        bool ok = parse(&value, cases[i].text, &err);
        if (ok != (cases[i].value >= 0))
            fail_msg("'%s' gave %d", cases[i].text, ok);
        assert_int_equal(value, ok ? cases[i].value : -7);
        assert_int_equal(err.code, ok ? ERR_NONE : ERR_USAGE);
    }
}

static void durations_parse(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"90", 90000},
        {"90s", 90000},
        {"15m", 900000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"0", 0},
        {"", -1},
        {"s", -1},
        {"-1", -1},
        {"+1", -1},
        {" 1", -1},
        {"1 ", -1},
        {"1ms", -1},
        {"1.5h", -1},
        {"1h30m", -1},
        {"9223372036854775807", -1},
        {"9223372036854775808", -1},
        {"1S", -1},
    };
    parses(cases, ARRAY_LEN(cases), clock_parse_duration);
}

static void sizes_parse(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"512", 512},
        {"64k", 65536},
        {"64K", 65536},
        {"300M", 314572800},
        {"2G", INT64_C(2) << 30},
        {"1t", INT64_C(1) << 40},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775807k", -1},
        {"", -1},
        {"k", -1},
        {"64kb", -1},
        {"0x10", -1},
    };
    parses(cases, ARRAY_LEN(cases), clock_parse_size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(local_time_is_local),
        cmocka_unit_test(clocks_run),
        cmocka_unit_test(durations_parse),
        cmocka_unit_test(sizes_parse),
        cmocka_unit_test_setup_teardown(files_differ_in_time_after_a_tick, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
