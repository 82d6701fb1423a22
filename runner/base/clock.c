#include "runner/base/clock.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "runner/base/mem.h"

static int64_t now_us(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts); /* cannot fail for the clocks used here */
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t clock_unix_ms(void)
{
    return now_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_mono_ms(void)
{
    return now_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
    return now_us(CLOCK_MONOTONIC);
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void clock_pass_tick(void)
{
    enum { TRIES = 1000 }; /* a clock that is set back meanwhile is not waited for */
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int64_t began_ns = now_ns(CLOCK_REALTIME);
    for (int i = 0; i < TRIES && now_ns(CLOCK_REALTIME_COARSE) <= began_ns; i++)
        nanosleep(&millisecond, NULL);
}

void clock_add_duration(struct buf *out, int64_t duration_ms)
{
    int64_t s = duration_ms > 0 ? duration_ms / 1000 : 0;
    if (s < 60)
        buf_addf(out, "%" PRId64 "s", s);
    else if (s < 3600)
        buf_addf(out, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        buf_addf(out, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        buf_addf(out, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
}

void clock_add_local(struct buf *out, int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm tm;
    char text[64];
    if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
        buf_adds(out, text);
    else
        buf_addf(out, "@%" PRId64, (int64_t)seconds); /* a year that struct tm cannot hold */
}

struct unit {
    char suffix;
    int64_t factor;
};

/* "<digits>[suffix]" times the suffix's factor; units[0] is that of a bare number. */
static bool parse_scaled(int64_t *ret, const char *text, const struct unit *units, size_t n)
{
    int64_t value = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            return false;
    if (p == text || (*p && p[1]))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (units[i].suffix != *p)
            continue;
        if (__builtin_mul_overflow(value, units[i].factor, &value))
            return false;
        *ret = value;
        return true;
    }
    return false;
}

bool clock_parse_duration(int64_t *ret_ms, const char *text, struct err *err)
{
    static const struct unit units[] = {
        {'\0', 1000}, {'s', 1000}, {'m', 60 * 1000}, {'h', 3600 * 1000}, {'d', 86400 * 1000},
    };
    return parse_scaled(ret_ms, text, units, ARRAY_LEN(units)) ||
           err_set(err, ERR_USAGE, "'%s' is not a duration such as 90s, 15m, 2h or 1d", text);
}

bool clock_parse_size(int64_t *ret_bytes, const char *text, struct err *err)
{
    static const struct unit units[] = {
        {'\0', 1},
        {'k', INT64_C(1) << 10},
        {'K', INT64_C(1) << 10},
        {'m', INT64_C(1) << 20},
        {'M', INT64_C(1) << 20},
        {'g', INT64_C(1) << 30},
        {'G', INT64_C(1) << 30},
        {'t', INT64_C(1) << 40},
        {'T', INT64_C(1) << 40},
    };
    return parse_scaled(ret_bytes, text, units, ARRAY_LEN(units)) ||
           err_set(err, ERR_USAGE, "'%s' is not a size such as 512, 64k, 300M or 2G", text);
}
