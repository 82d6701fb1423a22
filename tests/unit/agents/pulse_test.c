/*
 * pulse: lines as the real programs print them, and what they come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "runner/agents/pulse.h"
#include "runner/agents/pulse_words.h"
#include "runner/base/mem.h"

static const int64_t NOW_MS = 1796040000000; /* any time will do */

#define ASSISTANT(id, in, out)                                                               \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"usage\":{\"input_tokens\":" in \
    ",\"output_tokens\":" out                                                                \
    ",\"cache_read_input_tokens\":7,\"cache_creation_input_tokens\":0}}}"
#define CLAUDE_RETRY(status, error, ms)                                                        \
    "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":10,\"retry_" \
    "delay_ms\":" ms ",\"error_status\":" status ",\"error\":\"" error "\"}"
#define CLAUDE_RESULT(more)                                                               \
    "{\"type\":\"result\",\"model_usage_since_last_result\":{\"a\":{\"inputTokens\":10,"  \
    "\"outputTokens\":4,"                                                                 \
    "\"cacheReadInputTokens\":7,\"cacheCreationInputTokens\":1,\"costUSD\":0.25},\"b\":{" \
    "\"inputTokens\":1}}" more "}"
#define CODEX_ERROR(info, again)                             \
    "{\"method\":\"error\",\"params\":{\"willRetry\":" again \
    ",\"error\":{\"message\":\"no\",\"codexErrorInfo\":" info "}}}"
#define CODEX_TOKENS(total)                                                                      \
    "{\"method\":\"thread/tokenUsage/"                                                           \
    "updated\",\"params\":{\"threadId\":\"t\",\"tokenUsage\":{\"total\":{\"totalTokens\":" total \
    "},\"last\":{\"inputTokens\":300,\"cachedInputTokens\":200,\"outputTokens\":20}}}}"

static const struct {
    const char *kind;
    const char *lines[4];
    int64_t in, cached, out, retries, errors;
    const char *state;
} cases[] = {
    {"claude", {ASSISTANT("m1", "10", "2"), ASSISTANT("m1", "10", "2")}, 10, 7, 2, 0, 0, "working"},
    {"claude",
     {ASSISTANT("m1", "10", "2"), ASSISTANT("m1", "10", "5"), ASSISTANT("m2", "1", "1")},
     11,
     14,
     6,
     0,
     0,
     "working"},
    {"claude", {ASSISTANT("m1", "900", "900"), CLAUDE_RESULT("")}, 11, 7, 4, 0, 0, "working"},
    {"claude", {CLAUDE_RETRY("429", "rate_limit", "5000")}, 0, 0, 0, 1, 0, "limited"},
    {"claude", {CLAUDE_RETRY("529", "overloaded", "5000")}, 0, 0, 0, 1, 0, "retrying"},
    {"claude",
     {CLAUDE_RETRY("429", "rate_limit", "5000"), ASSISTANT("m1", "1", "1")},
     1,
     7,
     1,
     1,
     0,
     "working"},
    {"claude", {CLAUDE_RESULT(",\"is_error\":true,\"result\":\"No\"")}, 11, 7, 4, 0, 1, "working"},
    {"claude",
     {CLAUDE_RETRY("429", "rate_limit", "5000"), "{\"type\":\"result\",\"is_error\":true}"},
     0,
     0,
     0,
     1,
     1,
     "limited"},
    {"claude",
     {"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":9}"
      "}"},
     0,
     0,
     0,
     0,
     0,
     "limited"},
    {"claude",
     {"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"allowed\",\"resetsAt\":9}"
      "}"},
     0,
     0,
     0,
     0,
     0,
     "working"},
    {"claude", {"", "not json", "{\"type\":7}", "[]"}, 0, 0, 0, 0, 0, "working"},
    {"codex", {CODEX_TOKENS("320")}, 0, 0, 0, 0, 0, "working"},
    {"codex",
     {"{\"method\":\"turn/started\"}", CODEX_TOKENS("320"), CODEX_TOKENS("320"),
      CODEX_TOKENS("640")},
     200,
     400,
     40,
     0,
     0,
     "working"},
    {"codex",
     {CODEX_ERROR("{\"responseStreamConnectionFailed\":{\"httpStatusCode\":429}}", "true")},
     0,
     0,
     0,
     1,
     0,
     "limited"},
    {"codex", {CODEX_ERROR("\"serverOverloaded\"", "true")}, 0, 0, 0, 1, 0, "retrying"},
    {"codex", {CODEX_ERROR("\"usageLimitExceeded\"", "false")}, 0, 0, 0, 0, 1, "limited"},
    {"codex", {CODEX_ERROR("\"unauthorized\"", "false")}, 0, 0, 0, 0, 1, "working"},
    {"gemini",
     {"{\"type\":\"result\",\"stats\":{\"input\":116,\"cached\":522,\"output_tokens\":40}}"},
     116,
     522,
     40,
     0,
     0,
     "working"},
    {"gemini",
     {"{\"type\":\"result\",\"status\":\"error\",\"error\":{\"message\":\"No\"}}"},
     0,
     0,
     0,
     0,
     1,
     "working"},
    {"opencode",
     {"{\"type\":\"step_finish\",\"part\":{\"id\":\"p\",\"cost\":0.5,\"tokens\":{\"input\":5,"
      "\"output\":6,\"reasoning\":1,\"cache\":{\"read\":9}}}}"},
     5,
     9,
     7,
     0,
     0,
     "working"},
    {"opencode",
     {"{\"type\":\"headgate_retry\",\"status\":{\"message\":\"Rate limited\",\"attempt\":1}}"},
     0,
     0,
     0,
     1,
     0,
     "limited"},
    {"opencode",
     {"{\"type\":\"headgate_retry\",\"status\":{\"message\":\"Overloaded\",\"attempt\":1}}"},
     0,
     0,
     0,
     1,
     0,
     "retrying"},
    {"lines", {ASSISTANT("m1", "10", "2")}, 0, 0, 0, 0, 0, "working"},
};

static void lines_come_to_numbers_and_a_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pulse p;
        pulse_init(&p);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].lines) && cases[i].lines[k]; k++)
            pulse_line(&p, cases[i].kind, cases[i].lines[k], strlen(cases[i].lines[k]), NOW_MS);
        AUTO_JSON json_t *j = pulse_json(&p);
        const json_t *tokens = jx_obj(j, "tokens");
        assert_int_equal(jx_int(tokens, "in", -1), cases[i].in);
        assert_int_equal(jx_int(tokens, "cached", -1), cases[i].cached);
        assert_int_equal(jx_int(tokens, "out", -1), cases[i].out);
        assert_int_equal(jx_int(j, "retries", -1), cases[i].retries);
        assert_int_equal(jx_int(j, "errors", -1), cases[i].errors);
        assert_string_equal(jx_str(j, "state", ""), cases[i].state);
        pulse_release(&p);
    }
}

static void standard_error_tells_of_tries(void **state)
{
    static const char line[] =
        "Attempt 2 failed with status 429. Retrying with backoff... _ApiError: {}";
    struct pulse p;
    (void)state;
    pulse_init(&p);
    assert_false(pulse_error_line(&p, "claude", line, strlen(line), NOW_MS));
    assert_false(pulse_error_line(&p, "gemini", "Attempt to", 10, NOW_MS));
    assert_true(pulse_error_line(&p, "gemini", line, strlen(line), NOW_MS));
    assert_int_equal(p.state, PULSE_LIMITED);
    pulse_release(&p);
}

static void news_are_told_once_and_bounded(void **state)
{
    static const char retry[] = CLAUDE_RETRY("529", "overloaded", "5000");
    struct pulse p;
    (void)state;
    pulse_init(&p);
    assert_null(pulse_take_news(&p));
    for (int i = 0; i < 2 * PULSE_NEWS_MAX; i++)
        assert_true(pulse_line(&p, "claude", retry, strlen(retry), NOW_MS));
    AUTO_JSON json_t *news = pulse_take_news(&p);
    assert_int_equal(json_array_size(news), PULSE_NEWS_MAX);
    assert_string_equal(jx_str(json_array_get(news, 0), "kind", ""), "retry");
    assert_int_equal(jx_int(json_array_get(news, 0), "until_ms", 0), NOW_MS + 5000);
    assert_null(pulse_take_news(&p));
    assert_int_equal(p.retries, 2 * PULSE_NEWS_MAX);
    pulse_release(&p);
}

static void starts_are_summed(void **state)
{
    AUTO_JSON json_t *one = json_pack("{s:{s:i,s:i,s:i,s:i}, s:f, s:i, s:i, s:s}", "tokens", "in",
                                      1, "cached", 2, "cache_written", 3, "out", 4, "cost_usd", 0.5,
                                      "retries", 1, "errors", 0, "state", "limited");
    AUTO_JSON json_t *two =
        json_pack("{s:{s:i,s:i,s:i,s:i}, s:i, s:i, s:s}", "tokens", "in", 10, "cached", 20,
                  "cache_written", 30, "out", 40, "retries", 0, "errors", 5, "state", "working");
    AUTO_JSON json_t *sum = pulse_json_sum(one, two);
    AUTO_JSON json_t *same = pulse_json_sum(NULL, two);
    AUTO_BUF struct buf use = BUF_INIT, troubles = BUF_INIT;
    (void)state;
    assert_true(json_equal(same, two));
    assert_string_equal(jx_str(sum, "state", ""), "working");
    assert_true(pulse_add_use(&use, sum));
    assert_string_equal(use.ptr, "11 in, 22 cached, 33 cache written, 44 out; $0.5000");
    assert_true(pulse_add_troubles(&troubles, sum));
    assert_string_equal(troubles.ptr, "tried again 1 time, 5 errors: ");
}

static void standing_is_told_in_words(void **state)
{
    static const struct {
        const char *state;
        int64_t until_ms;
        const char *words, *word;
    } rows[] = {
        {"limited", 86400000 + 3600000 * 14 + 300000, "rate limited until 14:05", "limited"},
        {"limited", 2 * 86400000 + 60000, "rate limited until 1970-01-03 00:01", "limited"},
        {"limited", 0, "rate limited", "limited"},
        {"limited", 86400000 - 1, "retrying", "retrying"},
        {"retrying", 86400000 + 5000, "retrying", "retrying"},
        {"waiting", 0, "waiting for input", "input"},
    };
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_JSON json_t *pulse = json_pack("{s:s, s:I}", "state", rows[i].state, "until_ms",
                                            (json_int_t)rows[i].until_ms);
        AUTO_BUF struct buf words = BUF_INIT;
        assert_true(pulse_words(&words, pulse, 86400000));
        assert_string_equal(words.ptr, rows[i].words);
        assert_string_equal(pulse_word(pulse, 86400000), rows[i].word);
    }
    AUTO_BUF struct buf nothing = BUF_INIT;
    assert_false(pulse_words(&nothing, NULL, 0));
    assert_false(pulse_add_use(&nothing, NULL));
    assert_false(pulse_add_troubles(&nothing, NULL));
}

/* An agent may say anything; what came of it was a number that no JSON holds, and no server
 * survived its record. */
static void numbers_stay_numbers(void **state)
{
    static const char line[] =
        "{\"type\":\"result\",\"model_usage_since_last_result\":{\"a\":{"
        "\"inputTokens\":9223372036854775807,\"outputTokens\":-9223372036854775807,"
        "\"costUSD\":1e308},\"b\":{\"inputTokens\":9223372036854775807,\"costUSD\":1e308}}}";
    static const char limit[] =
        "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\","
        "\"resetsAt\":9223372036854775807}}";
    struct pulse p;
    (void)state;
    pulse_init(&p);
    for (int i = 0; i < 3; i++)
        assert_true(pulse_line(&p, "claude", line, sizeof(line) - 1, 1000));
    assert_true(pulse_line(&p, "claude", limit, sizeof(limit) - 1, 1000));
    AUTO_JSON json_t *one = pulse_json(&p);
    assert_true(jx_int(jx_obj(one, "tokens"), "in", 0) == PULSE_NUMBER_MAX);
    assert_true(jx_int(jx_obj(one, "tokens"), "out", -1) == 0);
    assert_true(json_number_value(json_object_get(one, "cost_usd")) <= PULSE_COST_MAX);
    AUTO_BUF struct buf words = BUF_INIT;
    assert_true(pulse_words(&words, one, 1000));
    /* As a store may have kept it. */
    AUTO_JSON json_t *old = json_pack("{s:{s:I}, s:f, s:I}", "tokens", "in", (json_int_t)INT64_MAX,
                                      "cost_usd", 1.7e308, "retries", (json_int_t)INT64_MAX);
    AUTO_JSON json_t *sum = pulse_json_sum(old, old);
    assert_true(json_is_number(json_object_get(sum, "cost_usd")));
    assert_true(jx_int(jx_obj(sum, "tokens"), "in", 0) == PULSE_NUMBER_MAX);
    assert_true(jx_int(sum, "retries", 0) == PULSE_NUMBER_MAX);
    pulse_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_to_numbers_and_a_state),
        cmocka_unit_test(standard_error_tells_of_tries),
        cmocka_unit_test(news_are_told_once_and_bounded),
        cmocka_unit_test(starts_are_summed),
        cmocka_unit_test(standing_is_told_in_words),
        cmocka_unit_test(numbers_stay_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
