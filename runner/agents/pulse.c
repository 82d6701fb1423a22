#include "runner/agents/pulse.h"

#include <stdio.h>
#include <string.h>

#include "runner/agents/pulse_kinds.h"
#include "runner/base/mem.h"

void pulse_init(struct pulse *p)
{
    *p = (struct pulse){.news = json_array()};
}

void pulse_release(struct pulse *p)
{
    json_decref(p->news);
    *p = (struct pulse){.news = NULL};
}

/* ---- what the readers of an agent's words say ---- */

/* As much of the text's first line as there is room for, not cut inside a UTF-8 character. */
static void set_text(char *out, size_t size, const char *text)
{
    size_t len = strcspn(text, "\r\n");
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    }
    memcpy(out, text, len);
    out[len] = '\0';
}

static void add_news(struct pulse *p, const char *kind, const char *text, int64_t until_ms)
{
    if (json_array_size(p->news) >= PULSE_NEWS_MAX)
        return; /* the numbers count them all the same */
    json_t *item = json_object();
    jx_set_str(item, "kind", kind);
    jx_set_str(item, "text", text);
    if (until_ms)
        jx_set_int(item, "until_ms", until_ms);
    json_array_append_new(p->news, item);
}

bool pulse_works(struct pulse *p)
{
    bool was_else = p->state != PULSE_WORKING;
    p->state = PULSE_WORKING;
    p->until_ms = 0;
    p->why[0] = '\0';
    return was_else;
}

bool pulse_retries(struct pulse *p, bool is_limit, int64_t until_ms, const char *why)
{
    p->state = is_limit ? PULSE_LIMITED : PULSE_RETRYING;
    p->until_ms = until_ms ? until_ms : is_limit ? p->limit_ms : 0;
    p->retries++;
    set_text(p->why, sizeof p->why, why);
    add_news(p, is_limit ? "limit" : "retry", p->why, p->until_ms);
    return true;
}

bool pulse_is_limited(struct pulse *p, int64_t until_ms, const char *why)
{
    bool is_known = p->state == PULSE_LIMITED && p->until_ms == until_ms;
    p->state = PULSE_LIMITED;
    p->until_ms = until_ms;
    set_text(p->why, sizeof p->why, why);
    if (!is_known)
        add_news(p, "limit", p->why, until_ms);
    return !is_known;
}

static bool pulse_waits(struct pulse *p, const char *why)
{
    if (p->state == PULSE_WAITING)
        return false;
    p->state = PULSE_WAITING;
    p->until_ms = 0;
    set_text(p->why, sizeof p->why, why);
    add_news(p, "waiting", p->why, 0);
    return true;
}

/* What is told of a limit stays: it says when going on makes sense. */
bool pulse_failed(struct pulse *p, const char *error)
{
    p->errors++;
    set_text(p->error, sizeof p->error, *error ? error : "an error without words");
    add_news(p, "error", p->error, 0);
    if (p->state == PULSE_RETRYING)
        pulse_works(p);
    return true;
}

bool pulse_terminal(struct pulse *p, bool is_still)
{
    return is_still ? pulse_waits(p, "its terminal is still") : pulse_works(p);
}

bool pulse_rests(struct pulse *p, const char *why)
{
    return pulse_waits(p, *why ? why : "its turn is over");
}

bool pulse_hears(struct pulse *p, int64_t message)
{
    if (message <= p->heard)
        return false;
    p->heard = message;
    return true;
}

/* UUIDs of version 8 (RFC 9562), whose content is ours to choose. */
#define MESSAGE_ID "68656164-6761-8465-8000-"
#define TASK_ID "68656164-6761-8465-8001-"
enum { NODE_BITS = 48 };

void pulse_message_id(char *out, int64_t message)
{
    snprintf(out, PULSE_ID_BYTES, MESSAGE_ID "%012llx",
             (unsigned long long)message & ((1ULL << NODE_BITS) - 1));
}

void pulse_task_id(char *out, uint64_t number)
{
    snprintf(out, PULSE_ID_BYTES, TASK_ID "%012llx",
             (unsigned long long)number & ((1ULL << NODE_BITS) - 1));
}

int64_t pulse_message_of(const char *id)
{
    unsigned long long number;
    char end;
    return sscanf(id, MESSAGE_ID "%12llx%c", &number, &end) == 1 ? (int64_t)number : 0;
}

/* ---- numbers ---- */

static int64_t bounded(int64_t n)
{
    return n < 0 ? 0 : n > PULSE_NUMBER_MAX ? PULSE_NUMBER_MAX : n;
}

static double bounded_cost(double usd)
{
    return usd > 0 ? usd < PULSE_COST_MAX ? usd : PULSE_COST_MAX : 0;
}

int64_t pulse_number(const json_t *told, const char *key)
{
    return bounded(jx_int(told, key, 0));
}

double pulse_cost(const json_t *told)
{
    return bounded_cost(json_number_value(told));
}

void pulse_use_add(struct pulse_use *sum, const struct pulse_use *more, int sign)
{
    sum->in = bounded(sum->in + sign * more->in);
    sum->cached = bounded(sum->cached + sign * more->cached);
    sum->cache_written = bounded(sum->cache_written + sign * more->cache_written);
    sum->out = bounded(sum->out + sign * more->out);
    sum->cost_usd = bounded_cost(sum->cost_usd + sign * more->cost_usd);
    sum->has_cost = sum->has_cost || more->has_cost;
}

bool pulse_settles(struct pulse *p, const struct pulse_use *use)
{
    pulse_use_add(&p->settled, use, 1);
    p->recent = p->message = (struct pulse_use){0};
    p->message_id[0] = '\0';
    return true;
}

static bool is_same_use(const struct pulse_use *a, const struct pulse_use *b)
{
    return a->in == b->in && a->cached == b->cached && a->cache_written == b->cache_written &&
           a->out == b->out;
}

bool pulse_counts(struct pulse *p, const char *message_id, const struct pulse_use *use)
{
    char id[PULSE_ID_BYTES];
    set_text(id, sizeof id, message_id);
    bool is_again = id[0] && strcmp(id, p->message_id) == 0;
    if (is_again && is_same_use(use, &p->message))
        return false;
    if (is_again)
        pulse_use_add(&p->recent, &p->message, -1);
    pulse_use_add(&p->recent, use, 1);
    p->message = *use;
    memcpy(p->message_id, id, sizeof id);
    return true;
}

/* ---- as JSON ---- */

static const char *const state_names[] = {[PULSE_WORKING] = "working",
                                          [PULSE_RETRYING] = "retrying",
                                          [PULSE_LIMITED] = "limited",
                                          [PULSE_WAITING] = "waiting"};

static json_t *use_json(const struct pulse_use *use)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "in", (json_int_t)use->in, "cached",
                     (json_int_t)use->cached, "cache_written", (json_int_t)use->cache_written,
                     "out", (json_int_t)use->out);
}

json_t *pulse_json(const struct pulse *p)
{
    struct pulse_use use = p->settled;
    pulse_use_add(&use, &p->recent, 1);
    json_t *j = json_object();
    jx_set(j, "tokens", use_json(&use));
    if (use.has_cost)
        jx_set(j, "cost_usd", json_real(use.cost_usd));
    jx_set_int(j, "retries", p->retries);
    jx_set_int(j, "errors", p->errors);
    jx_set_str(j, "error", p->error[0] ? p->error : NULL);
    jx_set_str(j, "state", state_names[p->state]);
    jx_set_int(j, "until_ms", p->until_ms);
    jx_set_str(j, "why", p->why[0] ? p->why : NULL);
    return j;
}

json_t *pulse_take_news(struct pulse *p)
{
    if (json_array_size(p->news) == 0)
        return NULL;
    json_t *news = p->news;
    p->news = json_array();
    return news;
}

json_t *pulse_json_sum(const json_t *earlier, const json_t *later)
{
    static const char *const tokens[] = {"in", "cached", "cache_written", "out"};
    static const char *const counts[] = {"retries", "errors"};
    json_t *sum = json_deep_copy(later);
    json_t *use = jx_obj(sum, "tokens");
    const json_t *before = jx_obj(earlier, "tokens");
    const json_t *costs[] = {json_object_get(earlier, "cost_usd"),
                             json_object_get(later, "cost_usd")};
    for (size_t i = 0; use && i < ARRAY_LEN(tokens); i++)
        jx_set_int(use, tokens[i],
                   bounded(pulse_number(use, tokens[i]) + pulse_number(before, tokens[i])));
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        jx_set_int(sum, counts[i],
                   bounded(pulse_number(sum, counts[i]) + pulse_number(earlier, counts[i])));
    if (costs[0] || costs[1])
        jx_set(sum, "cost_usd",
               json_real(bounded_cost(pulse_cost(costs[0]) + pulse_cost(costs[1]))));
    return sum;
}

/* ---- lines ---- */

static const struct {
    const char *output_kind;
    bool (*told)(struct pulse *p, const json_t *msg, int64_t now_ms);
    bool (*muttered)(struct pulse *p, const char *line,
                     int64_t now_ms); /* on standard error; NULL: nothing of interest */
} kinds[] = {
    {"claude", pulse_claude, NULL},
    {"codex", pulse_codex, NULL},
    {"gemini", pulse_gemini, pulse_gemini_mutter},
    {"opencode", pulse_opencode, NULL},
};

bool pulse_line(struct pulse *p, const char *output_kind, const char *line, size_t len,
                int64_t now_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].output_kind, output_kind) != 0)
            continue;
        AUTO_JSON json_t *msg = NULL;
        struct err ignored;
        return len > 0 && line[0] == '{' && jx_parse(&msg, line, len, &ignored) &&
               kinds[i].told(p, msg, now_ms);
    }
    return false;
}

bool pulse_error_line(struct pulse *p, const char *output_kind, const char *line, size_t len,
                      int64_t now_ms)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!kinds[i].muttered || strcmp(kinds[i].output_kind, output_kind) != 0)
            continue;
        AUTO_BUF struct buf text = BUF_INIT;
        buf_add(&text, line, len);
        return kinds[i].muttered(p, text.ptr ? text.ptr : "", now_ms);
    }
    return false;
}
