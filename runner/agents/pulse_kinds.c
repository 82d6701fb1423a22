#include "runner/agents/pulse_kinds.h"

#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"

enum { TOO_MANY_REQUESTS = 429 };

/* ---- Claude Code: `--output-format stream-json` (seen with 2.1.332) ---- */

static struct pulse_use claude_use(const json_t *usage)
{
    return (struct pulse_use){.in = pulse_number(usage, "input_tokens"),
                              .cached = pulse_number(usage, "cache_read_input_tokens"),
                              .cache_written = pulse_number(usage, "cache_creation_input_tokens"),
                              .out = pulse_number(usage, "output_tokens")};
}

/* An assistant's message comes once for each of its parts, with the use of the whole. */
static bool claude_message(struct pulse *p, const json_t *msg)
{
    const json_t *message = jx_obj(msg, "message");
    const struct pulse_use use = claude_use(jx_obj(message, "usage"));
    if (jx_str(msg, "error", NULL)) /* its own words about a failure; the result tells it */
        return false;
    bool has_worked = pulse_works(p);
    return pulse_counts(p, jx_str(message, "id", ""), &use) || has_worked;
}

static bool claude_retry(struct pulse *p, const json_t *msg, int64_t now_ms)
{
    int64_t status = jx_int(msg, "error_status", 0);
    bool is_limit =
        status == TOO_MANY_REQUESTS || strcmp(jx_str(msg, "error", ""), "rate_limit") == 0;
    AUTO_BUF struct buf why = BUF_INIT;
    buf_adds(&why, jx_str(msg, "error", "the connection failed"));
    if (status)
        buf_addf(&why, " (HTTP %lld)", (long long)status);
    buf_addf(&why, ", try %lld of %lld", (long long)jx_int(msg, "attempt", 0),
             (long long)jx_int(msg, "max_retries", 0));
    return pulse_retries(p, is_limit, now_ms + pulse_number(msg, "retry_delay_ms"), why.ptr);
}

/* Of a subscription: told when it changes, and refused when it is used up. */
static bool claude_limit(struct pulse *p, const json_t *info)
{
    if (strcmp(jx_str(info, "status", ""), "rejected") != 0)
        return false;
    AUTO_FREE char *why =
        xasprintf("the limit %s is used up", jx_str(info, "rateLimitType", "of the subscription"));
    return pulse_is_limited(p, pulse_number(info, "resetsAt") * 1000, why);
}

/* The end of a turn, with the use of all models since the last one: subagents' and what it asked on
 * the side. */
static bool claude_result(struct pulse *p, const json_t *msg)
{
    struct pulse_use sum = {0};
    const json_t *models = jx_obj(msg, "model_usage_since_last_result");
    const char *name;
    json_t *told;
    json_object_foreach((json_t *)(uintptr_t)models, name, told)
    {
        const json_t *cost = json_object_get(told, "costUSD");
        const struct pulse_use use = {.in = pulse_number(told, "inputTokens"),
                                      .cached = pulse_number(told, "cacheReadInputTokens"),
                                      .cache_written =
                                          pulse_number(told, "cacheCreationInputTokens"),
                                      .out = pulse_number(told, "outputTokens"),
                                      .cost_usd = pulse_cost(cost),
                                      .has_cost = json_is_number(cost)};
        pulse_use_add(&sum, &use, 1);
    }
    bool has_changed = models && pulse_settles(p, &sum);
    if (jx_bool(msg, "is_error", false))
        return pulse_failed(p, jx_str(msg, "result", jx_str(msg, "subtype", "")));
    return pulse_works(p) || has_changed;
}

/* Where it tells when it rests and works, that is the word; else the end of a turn is. */
static void claude_rest(struct pulse *p, const char *type, const json_t *msg)
{
    const char *state = jx_str(msg, "state", "");
    if (strcmp(jx_str(msg, "subtype", ""), "session_state_changed") == 0) {
        p->tells_idle = true;
        p->is_idle = strcmp(state, "idle") == 0;
    } else if (!p->tells_idle) {
        p->is_idle = strcmp(type, "result") == 0;
    }
}

bool pulse_claude(struct pulse *p, const json_t *msg, int64_t now_ms)
{
    const char *type = jx_str(msg, "type", ""), *subtype = jx_str(msg, "subtype", "");
    claude_rest(p, type, msg);
    if (strcmp(type, "user") == 0 && jx_bool(msg, "isReplay", false))
        return pulse_hears(p, pulse_message_of(jx_str(msg, "uuid", "")));
    if (strcmp(type, "assistant") == 0)
        return claude_message(p, msg);
    if (strcmp(type, "result") == 0)
        return claude_result(p, msg);
    if (strcmp(type, "rate_limit_event") == 0)
        return claude_limit(p, jx_obj(msg, "rate_limit_info"));
    if (strcmp(type, "system") == 0 && strcmp(subtype, "api_retry") == 0)
        return claude_retry(p, msg, now_ms);
    return false;
}

/* ---- Codex: notifications of its app-server (seen with 0.171.0) ---- */

/* Totals are of the conversation, resumed ones' of all its life; what counts is what the last
 * request used. */
static bool codex_tokens(struct pulse *p, const json_t *params)
{
    const json_t *usage = jx_obj(params, "tokenUsage"), *last = jx_obj(usage, "last");
    int64_t cached = pulse_number(last, "cachedInputTokens");
    int64_t in = pulse_number(last, "inputTokens");
    const struct pulse_use use = {.in = in > cached ? in - cached : 0,
                                  .cached = cached,
                                  .cache_written = pulse_number(last, "cacheWriteInputTokens"),
                                  .out = pulse_number(last, "outputTokens")};
    if (!p->has_begun) /* a conversation that is taken up tells its last request again */
        return false;
    AUTO_FREE char *id = xasprintf("%s %lld", jx_str(params, "threadId", ""),
                                   (long long)pulse_number(jx_obj(usage, "total"), "totalTokens"));
    return pulse_counts(p, id, &use);
}

static bool codex_is_limit(const json_t *error)
{
    const json_t *info = json_object_get(error, "codexErrorInfo");
    const char *key;
    json_t *details;
    if (json_is_string(info))
        return strcmp(json_string_value(info), "usageLimitExceeded") == 0 ||
               strcmp(json_string_value(info), "rateLimitExceeded") == 0;
    json_object_foreach((json_t *)(uintptr_t)info, key, details)
    {
        if (jx_int(details, "httpStatusCode", 0) == TOO_MANY_REQUESTS)
            return true;
    }
    return false;
}

static bool codex_error(struct pulse *p, const json_t *params)
{
    const json_t *error = jx_obj(params, "error");
    const char *details = jx_str(error, "additionalDetails", NULL);
    const char *message = jx_str(error, "message", "");
    AUTO_FREE char *why = details ? xasprintf("%s: %s", message, details) : xstrdup(message);
    if (jx_bool(params, "willRetry", false))
        return pulse_retries(p, codex_is_limit(error), 0, why);
    if (codex_is_limit(error))
        pulse_is_limited(p, p->limit_ms, why);
    return pulse_failed(p, why);
}

/* Kept until a limit is met: the reset of the one that is used up most. */
static bool codex_limits(struct pulse *p, const json_t *limits)
{
    static const char *const windows[] = {"primary", "secondary"};
    double worst = 0;
    for (size_t i = 0; i < ARRAY_LEN(windows); i++) {
        const json_t *window = jx_obj(limits, windows[i]);
        double used = json_number_value(json_object_get(window, "usedPercent"));
        int64_t resets = pulse_number(window, "resetsAt");
        if (resets && used >= worst) {
            worst = used;
            p->limit_ms = resets * 1000;
        }
    }
    if (!jx_str(limits, "rateLimitReachedType", NULL))
        return false;
    return pulse_is_limited(p, p->limit_ms, "the limit of the subscription is used up");
}

bool pulse_codex(struct pulse *p, const json_t *msg, int64_t now_ms)
{
    const char *method = jx_str(msg, "method", "");
    const json_t *params = jx_obj(msg, "params");
    (void)now_ms;
    if (strcmp(method, "headgate/heard") == 0)
        return pulse_hears(p, jx_int(params, "id", 0));
    if (strcmp(method, "turn/started") == 0)
        p->has_begun = true;
    if (strcmp(method, "thread/tokenUsage/updated") == 0)
        return codex_tokens(p, params);
    if (strcmp(method, "error") == 0)
        return codex_error(p, params);
    if (strcmp(method, "account/rateLimits/updated") == 0)
        return codex_limits(p, jx_obj(params, "rateLimits"));
    bool is_item = strcmp(method, "item/started") == 0 || strcmp(method, "item/completed") == 0;
    return is_item && strcmp(jx_str(jx_obj(params, "item"), "type", ""), "userMessage") != 0 &&
           pulse_works(p);
}

/* ---- Gemini CLI: `--output-format stream-json`, and tries again on standard error (seen with
 * 0.61.0) ---- */

static bool gemini_result(struct pulse *p, const json_t *msg)
{
    const json_t *stats = jx_obj(msg, "stats");
    const struct pulse_use use = {.in = pulse_number(stats, "input"),
                                  .cached = pulse_number(stats, "cached"),
                                  .out = pulse_number(stats, "output_tokens")};
    bool has_changed = stats && pulse_settles(p, &use);
    if (strcmp(jx_str(msg, "status", ""), "error") == 0)
        return pulse_failed(p, jx_str(jx_obj(msg, "error"), "message", ""));
    return pulse_works(p) || has_changed;
}

bool pulse_gemini(struct pulse *p, const json_t *msg, int64_t now_ms)
{
    const char *type = jx_str(msg, "type", "");
    (void)now_ms;
    if (strcmp(type, "result") == 0)
        return gemini_result(p, msg);
    if (strcmp(type, "error") == 0)
        return pulse_failed(p, jx_str(msg, "message", ""));
    bool is_work =
        strcmp(type, "tool_use") == 0 ||
        (strcmp(type, "message") == 0 && strcmp(jx_str(msg, "role", ""), "assistant") == 0);
    return is_work && pulse_works(p);
}

bool pulse_gemini_mutter(struct pulse *p, const char *line, int64_t now_ms)
{
    int number, status;
    (void)now_ms;
    if (sscanf(line, "Attempt %d failed with status %d. Retrying", &number, &status) != 2)
        return false;
    AUTO_FREE char *why = xasprintf("HTTP %d, try %d", status, number);
    return pulse_retries(p, status == TOO_MANY_REQUESTS, 0, why);
}

/* ---- OpenCode: `run --format json`, and what its plugin passes on (seen with 1.18.33) ---- */

static bool opencode_step(struct pulse *p, const json_t *part)
{
    const json_t *tokens = jx_obj(part, "tokens"), *cache = jx_obj(tokens, "cache");
    const json_t *cost = json_object_get(part, "cost");
    const struct pulse_use use = {.in = pulse_number(tokens, "input"),
                                  .cached = pulse_number(cache, "read"),
                                  .cache_written = pulse_number(cache, "write"),
                                  .out = pulse_number(tokens, "output") +
                                         pulse_number(tokens, "reasoning"),
                                  .cost_usd = pulse_cost(cost),
                                  .has_cost = json_is_number(cost)};
    return pulse_counts(p, jx_str(part, "id", ""), &use);
}

static bool opencode_retry(struct pulse *p, const json_t *status)
{
    const char *message = jx_str(status, "message", "the server failed");
    bool is_limit = strcasestr(message, "rate limit") || strcasestr(message, "too many requests") ||
                    strcasestr(message, "quota");
    AUTO_FREE char *why =
        xasprintf("%s, try %lld", message, (long long)jx_int(status, "attempt", 0));
    return pulse_retries(p, is_limit, pulse_number(status, "next"), why);
}

bool pulse_opencode(struct pulse *p, const json_t *msg, int64_t now_ms)
{
    const char *type = jx_str(msg, "type", "");
    const json_t *error = jx_obj(msg, "error");
    (void)now_ms;
    if (strcmp(type, "step_finish") == 0)
        return opencode_step(p, jx_obj(msg, "part"));
    if (strcmp(type, "headgate_heard") == 0)
        return pulse_hears(p, jx_int(msg, "id", 0));
    if (strcmp(type, "headgate_retry") == 0)
        return opencode_retry(p, jx_obj(msg, "status"));
    if (strcmp(type, "error") == 0)
        return pulse_failed(p, jx_str(jx_obj(error, "data"), "message", jx_str(error, "name", "")));
    return strcmp(type, "step_start") == 0 && pulse_works(p);
}
