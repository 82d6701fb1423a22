#include "runner/agents/pulse_words.h"

#include <string.h>
#include <time.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

/* A limit whose time has passed is tried anew. */
static bool is_over(const json_t *pulse, int64_t now_ms)
{
    int64_t until_ms = jx_int(pulse, "until_ms", 0);
    return until_ms && until_ms <= now_ms;
}

const char *pulse_word(const json_t *pulse, int64_t now_ms)
{
    const char *state = jx_str(pulse, "state", "");
    if (strcmp(state, "limited") == 0)
        return is_over(pulse, now_ms) ? "retrying" : "limited";
    if (strcmp(state, "waiting") == 0)
        return "input";
    return strcmp(state, "retrying") == 0 ? "retrying" : NULL;
}

void pulse_add_until(struct buf *out, int64_t until_ms, int64_t now_ms)
{
    char text[32];
    struct tm until, now;
    const time_t until_s = (time_t)(until_ms / 1000), now_s = (time_t)(now_ms / 1000);
    if (!until_ms || !localtime_r(&until_s, &until) || !localtime_r(&now_s, &now))
        return;
    bool is_today = until.tm_yday == now.tm_yday && until.tm_year == now.tm_year;
    strftime(text, sizeof text, is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &until);
    buf_addf(out, " until %s", text);
}

bool pulse_words(struct buf *out, const json_t *pulse, int64_t now_ms)
{
    const char *word = pulse_word(pulse, now_ms);
    if (!word)
        return false;
    if (strcmp(word, "limited") == 0) {
        buf_adds(out, "rate limited");
        pulse_add_until(out, jx_int(pulse, "until_ms", 0), now_ms);
    } else {
        buf_adds(out, strcmp(word, "input") == 0 ? "waiting for input" : word);
    }
    return true;
}

/* "850", "12.3k", "4.0M". */
static void add_tokens(struct buf *out, int64_t n)
{
    if (n < 1000)
        buf_addf(out, "%lld", (long long)n);
    else if (n < 1000 * 1000)
        buf_addf(out, "%.1fk", (double)n / 1000);
    else
        buf_addf(out, "%.1fM", (double)n / (1000 * 1000));
}

bool pulse_add_use(struct buf *out, const json_t *pulse)
{
    static const struct {
        const char *key, *word;
        bool is_always;
    } parts[] = {{"in", "in", true},
                 {"cached", "cached", false},
                 {"cache_written", "cache written", false},
                 {"out", "out", true}};
    const json_t *tokens = jx_obj(pulse, "tokens"), *cost = json_object_get(pulse, "cost_usd");
    const char *separator = "";
    int64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        sum += jx_int(tokens, parts[i].key, 0);
    if (sum == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        int64_t n = jx_int(tokens, parts[i].key, 0);
        if (n == 0 && !parts[i].is_always)
            continue;
        buf_adds(out, separator);
        add_tokens(out, n);
        buf_addf(out, " %s", parts[i].word);
        separator = ", ";
    }
    if (json_is_number(cost))
        buf_addf(out, "; $%.*f", json_number_value(cost) < 1 ? 4 : 2, json_number_value(cost));
    return true;
}

bool pulse_add_troubles(struct buf *out, const json_t *pulse)
{
    int64_t retries = jx_int(pulse, "retries", 0), errors = jx_int(pulse, "errors", 0);
    const char *error = jx_str(pulse, "error", "");
    if (retries)
        buf_addf(out, "tried again %lld time%s", (long long)retries, retries == 1 ? "" : "s");
    if (errors) {
        buf_addf(out, "%s%lld error%s: ", retries ? ", " : "", (long long)errors,
                 errors == 1 ? "" : "s");
        text_sanitise(out, error, strlen(error), 0);
    }
    return retries || errors;
}
