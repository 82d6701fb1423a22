#include "runner/cmd/print_gate.h"

#include <inttypes.h>
#include <string.h>

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

static void add_counts(struct buf *out, const struct print *p, const json_t *object, int indent)
{
    enum { NAME_COLUMNS = 14, STEP = 2 };
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_is_array(value)) /* said in sentences */
            continue;
        AUTO_FREE char *name = xasprintf("%-*s", NAME_COLUMNS, key);
        buf_addf(out, "%*s", indent, "");
        if (json_is_object(value)) {
            print_text(out, p, PRINT_BOLD, key);
            buf_addch(out, '\n');
            add_counts(out, p, value, indent + STEP);
            continue;
        }
        AUTO_BUF struct buf text = BUF_INIT;
        jx_dump(&text, value);
        print_text(out, p, PRINT_PLAIN, name);
        buf_addch(out, ' ');
        print_text(out, p, PRINT_PLAIN, text.ptr);
        buf_addch(out, '\n');
    }
}

void print_gate_stats(struct buf *out, const struct print *p, const json_t *stats)
{
    size_t i;
    const json_t *proposal;
    add_counts(out, p, stats, 0);
    json_array_foreach(jx_arr(stats, "proposals"), i, proposal)
    {
        AUTO_FREE char *like = text_clean(jx_str(proposal, "like", "?"));
        size_t k;
        const json_t *rule;
        buf_addf(out, "approved each time (%d), like %s; could be a rule:\n",
                 (int)jx_int(proposal, "approved", 0), like);
        json_array_foreach(jx_arr(proposal, "rules"), k, rule)
        {
            print_block(out, json_string_value(rule), 2);
        }
    }
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
    const char *tail = jx_str(result, "tail", "");
    if (!*tail)
        return;
    buf_adds(out, "last hash: ");
    print_text(out, p, PRINT_PLAIN, tail);
    buf_adds(out,
             "\nA cut end or a log rewritten as a whole shows only against a hash that was kept "
             "elsewhere.\n");
}
