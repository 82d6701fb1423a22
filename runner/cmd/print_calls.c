#include "runner/cmd/print_calls.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/broker_line.h"
#include "runner/base/clock.h"
#include "runner/base/gist.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { BLOCK_INDENT = 6, CALL_INDENT = 2, COLUMNS_ELSEWHERE = 160 };

/* One line; below the worktree paths are relative to it. */
static void add_what(struct buf *out, const json_t *call)
{
    const json_t *args = json_object_get(call, "args");
    AUTO_BUF struct buf gist = BUF_INIT;
    AUTO_BUF struct buf brief = BUF_INIT;
    if (json_object_size(args) == 0)
        return;
    bool is_text = gist_add(&gist, args);
    (void)is_text; /* in a list a backslash is one */
    text_add_relative(&brief, gist.ptr, gist.len, jx_str(call, "worktree", ""));
    text_sanitise(out, brief.ptr, brief.len, 0);
}

void print_call_line(struct buf *out, const json_t *call)
{
    if (strcmp(jx_str(call, "source", ""), "broker") == 0) {
        AUTO_BUF struct buf line = BUF_INIT;
        broker_line(&line, json_object_get(call, "args"));
        text_sanitise(out, line.ptr, line.len, 0);
        return;
    }
    AUTO_FREE char *tool = text_clean(jx_str(call, "tool", "?"));
    AUTO_BUF struct buf what = BUF_INIT;
    add_what(&what, call);
    buf_addf(out, "%s%s%s", tool, what.len ? ": " : "", what.ptr);
}

static enum print_style state_style(const char *state)
{
    if (strcmp(state, "pending") == 0)
        return PRINT_YELLOW;
    if (strcmp(state, "approved") == 0 || strcmp(state, "consumed") == 0)
        return PRINT_GREEN;
    return PRINT_RED;
}

/* The wire says "consumed" of an approval that was used; a reader wants to know that it was
 * approved. */
static const char *state_word(const char *state)
{
    return strcmp(state, "consumed") == 0 ? "approved" : state;
}

static void duration_cell(struct print_table *t, int64_t from_ms, int64_t to_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (from_ms > 0 && to_ms > 0)
        clock_add_duration(&text, to_ms - from_ms);
    print_table_cell(t, PRINT_PLAIN, text.ptr);
}

/* A call that waits, and those that wait for the same, make one row. */
static bool is_equal(const json_t *a, const json_t *b)
{
    const char *action = jx_str(a, "action", "");
    return *action && strcmp(action, jx_str(b, "action", "")) == 0 &&
           strcmp(jx_str(a, "state", ""), "pending") == 0 &&
           strcmp(jx_str(b, "state", ""), "pending") == 0;
}

static bool has_row_before(const json_t *calls, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_equal(json_array_get(calls, i), json_array_get(calls, at)))
            return true;
    return false;
}

static size_t count_equal(const json_t *calls, size_t at)
{
    size_t n = 0;
    for (size_t i = at + 1; i < json_array_size(calls); i++)
        n += is_equal(json_array_get(calls, at), json_array_get(calls, i));
    return n;
}

static void add_call_row(struct print_table *t, const struct print *p, const json_t *call,
                         size_t equal)
{
    const char *state = jx_str(call, "state", "?"), *why = jx_str(call, "why", "");
    const char *reason = jx_str(call, "reason", "");
    bool is_pending = strcmp(state, "pending") == 0;
    AUTO_FREE char *more = equal ? xasprintf(" +%zu", equal) : xstrdup("");
    AUTO_FREE char *id = xasprintf("%s%s", jx_str(call, "id", "?"), more);
    AUTO_FREE char *reasons = xasprintf("%s%s%s", why, *why && *reason ? ": " : "", reason);
    print_table_cell(t, PRINT_BOLD, id);
    print_table_cell(t, PRINT_PLAIN, jx_str(call, "attempt", "?"));
    print_table_cell(t, state_style(state), state_word(state));
    print_table_cell(t, PRINT_PLAIN, jx_str(call, "ladder", ""));
    duration_cell(t, jx_int(call, "asked_ms", 0), p->now_ms);
    duration_cell(t, is_pending ? p->now_ms : 0, jx_int(call, "deadline_ms", 0));
    print_table_cell(t, PRINT_PLAIN, reasons);
}

static void add_equal(struct buf *out, const json_t *calls, size_t at)
{
    const json_t *call = json_array_get(calls, at);
    const char *separator = "  the same: ";
    for (size_t i = at + 1; i < json_array_size(calls); i++) {
        const json_t *other = json_array_get(calls, i);
        if (!is_equal(call, other))
            continue;
        AUTO_FREE char *line =
            xasprintf("%s (%s)", jx_str(other, "id", "?"), jx_str(other, "attempt", "?"));
        AUTO_FREE char *clean = text_clean(line);
        buf_addf(out, "%s%s", separator, clean);
        separator = ", ";
    }
    buf_addch(out, '\n');
}

/* The table's lines, each but the first with what its call is below it. */
static void add_with_calls(struct buf *out, const struct print *p, const char *table,
                           const json_t *calls)
{
    size_t i;
    const json_t *call;
    size_t len = strcspn(table, "\n");
    buf_addf(out, "%.*s\n", (int)len, table);
    json_array_foreach(calls, i, call)
    {
        if (has_row_before(calls, i))
            continue;
        AUTO_BUF struct buf line = BUF_INIT;
        table += len + 1;
        len = strcspn(table, "\n");
        print_call_line(&line, call);
        buf_addf(out, "%.*s\n  ", (int)len, table);
        text_add_brief(out, line.ptr, p->columns - CALL_INDENT);
        buf_addch(out, '\n');
        if (count_equal(calls, i))
            add_equal(out, calls, i);
    }
}

void print_calls(struct buf *out, const struct print *p, const json_t *calls)
{
    static const char *const headers[] = {"CALL",  "ATTEMPT", "STATE", "RUNG",
                                          "ASKED", "LEFT",    "WHY"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    AUTO_BUF struct buf table = BUF_INIT;
    struct print bounded = *p;
    size_t i;
    const json_t *call;
    if (json_array_size(calls) == 0) {
        buf_adds(out, "nothing waits\n");
        return;
    }
    if (bounded.columns == 0) /* a file gets no line without end either */
        bounded.columns = COLUMNS_ELSEWHERE;
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(calls, i, call)
    {
        if (!has_row_before(calls, i))
            add_call_row(&t, p, call, count_equal(calls, i));
    }
    print_table_add(&table, &bounded, &t);
    add_with_calls(out, &bounded, table.ptr, calls);
}

static void exact_block(struct buf *out, const char *text, size_t len)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, text, len, TEXT_EXACT | TEXT_KEEP_NEWLINE);
    for (const char *line = clean.ptr;; line++) {
        size_t n = strcspn(line, "\n");
        buf_addf(out, "%*s%.*s\n", BLOCK_INDENT, "", (int)n, line);
        line += n;
        if (!*line)
            return;
    }
}

static void add_args(struct buf *out, const struct print *p, const json_t *args)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)args, key, value)
    {
        AUTO_FREE char *name = text_clean(key);
        AUTO_FREE char *label = xasprintf("%s:", name);
        buf_adds(out, "    ");
        print_text(out, p, PRINT_CYAN, label);
        buf_addch(out, '\n');
        if (json_is_string(value)) {
            exact_block(out, json_string_value(value), json_string_length(value));
            continue;
        }
        AUTO_BUF struct buf json = BUF_INIT;
        jx_dump(&json, value);
        exact_block(out, json.ptr, json.len);
    }
}

static void add_subagent(struct buf *out, const struct print *p, const json_t *call)
{
    const json_t *sub = jx_obj(call, "subagent");
    const char *id = jx_str(sub, "id", "");
    if (!*id)
        return;
    AUTO_FREE char *text =
        xasprintf("%s %s, depth %d", jx_str(sub, "type", ""), id, (int)jx_int(sub, "depth", 1));
    print_field(out, p, "subagent", text);
}

static void add_time(struct buf *out, const struct print *p, const char *label, int64_t at_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (at_ms <= 0)
        return;
    clock_add_local(&text, at_ms);
    print_field(out, p, label, text.ptr);
}

void print_call(struct buf *out, const struct print *p, const json_t *call)
{
    const char *state = jx_str(call, "state", "?");
    print_text(out, p, PRINT_BOLD, jx_str(call, "id", "?"));
    buf_addch(out, ' ');
    print_text(out, p, state_style(state), state_word(state));
    buf_addch(out, '\n');
    print_field(out, p, "attempt", jx_str(call, "attempt", NULL));
    print_field(out, p, "agent", jx_str(call, "agent", NULL));
    add_subagent(out, p, call);
    print_field(out, p, "rung", jx_str(call, "ladder", NULL));
    print_field(out, p, "tool", jx_str(call, "tool", NULL));
    print_field(out, p, "folder", jx_str(call, "cwd", NULL));
    add_time(out, p, "asked", jx_int(call, "asked_ms", 0));
    add_time(out, p, "deadline", jx_int(call, "deadline_ms", 0));
    add_time(out, p, "decided", jx_int(call, "decided_ms", 0));
    if (strcmp(state, "pending") != 0) {
        print_field(out, p, "asked for", jx_str(call, "ask_why", NULL));
        print_field(out, p, "because", jx_str(call, "ask_reason", NULL));
    }
    print_field(out, p, "by", jx_str(call, "decided_by", NULL));
    print_field(out, p, "why", jx_str(call, "why", NULL));
    print_field(out, p, "reason", jx_str(call, "reason", NULL));
    print_field(out, p, "digest", jx_str(call, "digest", NULL));
    if (jx_int(call, "dropped_ms", 0) > 0) {
        add_time(out, p, "arguments", jx_int(call, "dropped_ms", 0));
        buf_adds(out, "              dropped then by 'headgate clean'; the digest is of them\n");
        return;
    }
    buf_adds(out, "  arguments:\n");
    add_args(out, p, json_object_get(call, "args"));
    if (strcmp(state, "pending") != 0)
        return;
    AUTO_FREE char *id = text_clean(jx_str(call, "id", "?"));
    buf_addf(out, "\nheadgate gate approve %s\nheadgate gate deny %s --reason TEXT\n", id, id);
}

void print_call_decided(struct buf *out, const struct print *p, const json_t *call)
{
    const char *state = jx_str(call, "state", "?");
    AUTO_BUF struct buf line = BUF_INIT;
    print_text(out, p, PRINT_BOLD, jx_str(call, "id", "?"));
    buf_addch(out, ' ');
    print_text(out, p, state_style(state), state_word(state));
    print_call_line(&line, call);
    AUTO_FREE char *attempt = text_clean(jx_str(call, "attempt", "?"));
    buf_addf(out, ": %s %s\n", attempt, line.ptr);
}
