#include "runner/base/changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runner/base/proc.h"

#define TOKEN_NAME "headgate1"

static const int64_t second_ns = 1000000000;
static const int64_t spare_ns = 1000000000;
static const int64_t set_back_ns = 500000000; /* within what is to spare */

static int64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * second_ns + t.tv_nsec;
}

/* What a file gets as its time is read from the coarse clock, which is never ahead. */
bool changes_now(struct changes_token *ret, struct err *err)
{
    struct changes_token now = {.since_ns = read_clock(CLOCK_REALTIME_COARSE)};
    now.offset_ns = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME);
    if (!proc_boot_id(now.boot_id, err))
        return false;
    *ret = now;
    return true;
}

bool changes_after_this(struct changes_token *ret, struct err *err)
{
    if (!changes_now(ret, err))
        return false;
    ret->since_ns = read_clock(CLOCK_REALTIME) + 1 + spare_ns;
    return true;
}

void changes_format(struct buf *out, const struct changes_token *token)
{
    buf_addf(out, TOKEN_NAME " %" PRId64 " %" PRId64 " %s", token->since_ns, token->offset_ns,
             token->boot_id);
}

bool changes_parse(struct changes_token *ret, const char *text, const struct changes_token *now)
{
    struct changes_token token = {.since_ns = 0};
    int end = 0;
    if (sscanf(text, TOKEN_NAME " %" SCNd64 " %" SCNd64 " %39[0-9a-f-]%n", &token.since_ns,
               &token.offset_ns, token.boot_id, &end) != 3 ||
        text[end] || strcmp(token.boot_id, now->boot_id) != 0 ||
        now->offset_ns < token.offset_ns - set_back_ns)
        return false;
    *ret = token;
    return true;
}

bool changes_is_later(const struct changes_token *token, int64_t changed_ns)
{
    return changed_ns >= token->since_ns - spare_ns;
}
