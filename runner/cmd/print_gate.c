#include "runner/cmd/print_gate.h"

#include <inttypes.h>
#include <string.h>

#include "runner/agents/pulse_words.h"
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/print_calls.h"

enum { HASH_SHORT = 12 };

static void time_cell(struct print_table *t, int64_t at_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (at_ms > 0)
        clock_add_local(&text, at_ms);
    print_table_cell(t, PRINT_DIM, text.ptr);
}

/* What came of what was carried out. */
static void add_outcome(struct buf *out, const json_t *body)
{
    const char *failed = jx_str(body, "failed", NULL);
    if (failed)
        buf_addf(out, ", not done: %s", failed);
    else
        buf_addf(out, ", exit code %lld", (long long)jx_int(body, "status", 0));
}

/* What happened to a call: who, what it would do, and the words with it. */
static void add_call_row(struct buf *out, const json_t *row)
{
    enum { DOES_COLUMNS = 80 };
    const json_t *body = jx_obj(row, "body");
    const char *by = jx_str(body, "decided_by", ""), *reason = jx_str(body, "reason", "");
    const char *why = jx_str(body, "why", ""), *sub = jx_str(body, "subagent", "");
    AUTO_BUF struct buf does = BUF_INIT;
    buf_addf(out, "%s %s", jx_str(body, "call", "?"), jx_str(body, "attempt", "?"));
    if (*sub)
        buf_addf(out, " > %s", sub);
    if (*by)
        buf_addf(out, " by %s", by);
    if (*why)
        buf_addf(out, " (%s)", why);
    buf_adds(out, ": ");
    if (jx_obj(row, "does"))
        print_call_line(&does, jx_obj(row, "does"));
    text_add_brief(out, does.ptr, DOES_COLUMNS);
    if (*reason)
        buf_addf(out, " (%s)", reason);
    if (strcmp(jx_str(row, "kind", ""), "broker") == 0)
        add_outcome(out, body);
}

/* What an agent told of itself: its model's limits, failures, that it waits. */
static void add_agent_row(struct buf *out, const struct print *p, const json_t *row)
{
    const json_t *body = jx_obj(row, "body");
    buf_addf(out, "%s %s", jx_str(body, "attempt", "?"), jx_str(body, "kind", "?"));
    pulse_add_until(out, jx_int(body, "until_ms", 0), p->now_ms);
    buf_addf(out, ": %s", jx_str(body, "text", ""));
}

void print_gate_log(struct buf *out, const struct print *p, const json_t *rows)
{
    static const char *const headers[] = {"SEQ", "TIME", "HASH", "KIND", "WHAT"};
    enum { COLUMNS_ELSEWHERE = 240 };
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    struct print bounded = *p;
    size_t i;
    const json_t *row;
    if (json_array_size(rows) == 0) {
        buf_adds(out, "the log has no such rows\n");
        return;
    }
    if (bounded.columns == 0)
        bounded.columns = COLUMNS_ELSEWHERE;
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(rows, i, row)
    {
        AUTO_BUF struct buf what = BUF_INIT;
        AUTO_FREE char *hash =
            xstrndup(jx_str(row, "hash", ""), strnlen(jx_str(row, "hash", ""), HASH_SHORT));
        if (jx_str(jx_obj(row, "body"), "call", NULL))
            add_call_row(&what, row);
        else if (strcmp(jx_str(row, "kind", ""), "agent") == 0)
            add_agent_row(&what, p, row);
        else if (json_object_get(row, "body"))
            jx_dump(&what, json_object_get(row, "body"));
        print_table_int(&t, jx_int(row, "seq", 0));
        time_cell(&t, jx_int(row, "at_ms", 0));
        print_table_cell(&t, PRINT_DIM, hash);
        print_table_cell(&t, PRINT_BOLD, jx_str(row, "kind", "?"));
        print_table_cell(&t, PRINT_PLAIN, what.ptr);
    }
    print_table_add(out, &bounded, &t);
}

/* "0.4s", "3m12s": a short wait to the tenth. */
static void add_wait(struct buf *out, int64_t ms)
{
    enum { TENTHS_BELOW_MS = 10 * 1000 };
    if (ms < TENTHS_BELOW_MS)
        buf_addf(out, "%.1fs", (double)ms / 1000);
    else
        clock_add_duration(out, ms);
}

/* "asked because: ladder 9, floor 2"; nothing when there is nothing. */
static void add_counts(struct buf *out, const char *label, const json_t *counts)
{
    const char *key;
    json_t *n;
    const char *separator = ": ";
    if (json_object_size(counts) == 0)
        return;
    buf_adds(out, label);
    json_object_foreach((json_t *)(uintptr_t)counts, key, n)
    {
        AUTO_FREE char *clean = text_clean(key);
        buf_addf(out, "%s%s %" PRId64, separator, clean, (int64_t)json_integer_value(n));
        separator = ", ";
    }
    buf_addch(out, '\n');
}

static void add_shares(struct print_table *t, const char *what, const json_t *shares)
{
    const char *key;
    json_t *share;
    json_object_foreach((json_t *)(uintptr_t)shares, key, share)
    {
        AUTO_FREE char *of_100 =
            xasprintf("%.1f", json_number_value(json_object_get(share, "asks_per_100")));
        print_table_cell(t, PRINT_DIM, what);
        print_table_cell(t, PRINT_BOLD, key);
        print_table_int(t, jx_int(share, "calls", 0));
        print_table_int(t, jx_int(share, "asked", 0));
        print_table_cell(t, PRINT_PLAIN, of_100);
    }
}

static void add_summary(struct buf *out, const json_t *stats)
{
    int64_t decided = jx_int(stats, "by_person", 0);
    buf_addf(out, "%" PRId64 " calls, %" PRId64 " asked: %.1f of 100\n",
             jx_int(stats, "calls_total", 0), jx_int(stats, "asked_total", 0),
             json_number_value(json_object_get(stats, "asks_per_100")));
    if (decided == 0)
        return;
    buf_addf(out, "people decided %" PRId64 ": half within ", decided);
    add_wait(out, jx_int(stats, "wait_p50_ms", 0));
    buf_adds(out, ", 9 of 10 within ");
    add_wait(out, jx_int(stats, "wait_p90_ms", 0));
    buf_adds(out, ", the longest ");
    add_wait(out, jx_int(stats, "wait_max_ms", 0));
    buf_addch(out, '\n');
}

static void add_proposals(struct buf *out, const json_t *proposals)
{
    size_t i, k;
    const json_t *proposal, *rule;
    json_array_foreach(proposals, i, proposal)
    {
        AUTO_FREE char *like = text_clean(jx_str(proposal, "like", "?"));
        buf_addf(out, "approved each time (%d), like %s; could be a rule:\n",
                 (int)jx_int(proposal, "approved", 0), like);
        json_array_foreach(jx_arr(proposal, "rules"), k, rule)
        {
            print_block(out, json_string_value(rule), 2);
        }
    }
}

void print_gate_stats(struct buf *out, const struct print *p, const json_t *stats)
{
    static const char *const headers[] = {"OF", "NAME", "CALLS", "ASKED", "OF 100"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    const json_t *never = jx_obj(stats, "never_matched");
    const char *key;
    json_t *ignored;
    add_summary(out, stats);
    add_counts(out, "states", jx_obj(stats, "calls"));
    add_counts(out, "decided by", jx_obj(stats, "why"));
    add_counts(out, "asked because of", jx_obj(stats, "asked_because"));
    add_counts(out, "rules used", jx_obj(stats, "by_rule"));
    print_table_init(&t, headers, ARRAY_LEN(headers));
    add_shares(&t, "agent", jx_obj(stats, "by_agent"));
    add_shares(&t, "tool", jx_obj(stats, "by_tool"));
    print_table_add(out, p, &t);
    if (json_object_size(never) > 0)
        buf_adds(out, "rules that never matched:\n");
    json_object_foreach((json_t *)(uintptr_t)never, key, ignored)
    {
        print_block(out, key, 2);
    }
    add_proposals(out, jx_arr(stats, "proposals"));
}

/* What cannot be proved any more. */
static void add_dropped(struct buf *out, const json_t *dropped)
{
    int64_t last_ms = jx_int(dropped, "last_ms", 0);
    if (!dropped)
        return;
    print_count(out, jx_int(dropped, "calls", 0), "call has", "calls have");
    buf_adds(out, " no arguments any more, as rows of the log say: 'headgate clean' dropped them");
    if (last_ms > 0) {
        buf_adds(out, ", last at ");
        clock_add_local(out, last_ms);
    }
    buf_adds(out, "; what they asked shows only against a log that was exported before\n");
}

void print_gate_verify(struct buf *out, const struct print *p, const json_t *result)
{
    const json_t *bad = jx_obj(result, "bad");
    int64_t rows = jx_int(result, "rows", 0);
    if (!jx_bool(result, "ok", false)) {
        AUTO_FREE char *where = xasprintf("row %" PRId64 ": ", jx_int(bad, "seq", 0));
        print_text(out, p, PRINT_RED, "the log is broken");
        buf_addf(out, " at %s", where);
        print_text(out, p, PRINT_PLAIN, jx_str(bad, "why", "its hash does not fit"));
        buf_addch(out, '\n');
        return;
    }
    print_text(out, p, PRINT_GREEN, "whole");
    buf_adds(out, ": ");
    print_count(out, rows, "row", "rows");
    buf_adds(out, ", each follows from the one before\n");
    add_dropped(out, jx_obj(result, "dropped"));
    const char *tail = jx_str(result, "tail", "");
    if (!*tail)
        return;
    buf_adds(out, "last hash: ");
    print_text(out, p, PRINT_PLAIN, tail);
    buf_adds(out,
             "\nA cut end or a log rewritten as a whole shows only against a hash that was kept "
             "elsewhere.\n");
}
