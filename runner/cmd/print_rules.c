#include "runner/cmd/print_rules.h"

#include <inttypes.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/print_calls.h"

enum { PREVIEWED_CALLS = 5 };

static void time_cell(struct print_table *t, int64_t at_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (at_ms > 0)
        clock_add_local(&text, at_ms);
    print_table_cell(t, PRINT_DIM, text.ptr);
}

static void add_origin(struct buf *out, const json_t *rule)
{
    int64_t from = jx_int(rule, "from_call", 0);
    print_who(out, jx_str(rule, "by", ""));
    if (from > 0)
        buf_addf(out, " from c%" PRId64, from);
}

void print_rules(struct buf *out, const struct print *p, const json_t *rules)
{
    static const char *const headers[] = {"ID", "MADE", "BY", "USED", "LAST USED", "RULE"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    const json_t *rule;
    if (json_array_size(rules) == 0) {
        buf_adds(out, "no rules; add one: headgate gate rule add allow command git status\n");
        return;
    }
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(rules, i, rule)
    {
        AUTO_FREE char *id = xasprintf("r%" PRId64, jx_int(rule, "id", 0));
        AUTO_BUF struct buf origin = BUF_INIT;
        add_origin(&origin, rule);
        print_table_cell(&t, PRINT_BOLD, id);
        time_cell(&t, jx_int(rule, "made_ms", 0));
        print_table_cell(&t, PRINT_PLAIN, origin.ptr);
        print_table_int(&t, jx_int(rule, "count", 0));
        time_cell(&t, jx_int(rule, "last_used_ms", 0));
        print_table_cell(&t, PRINT_PLAIN, jx_str(rule, "text", "?"));
    }
    print_table_add(out, p, &t);
}

static enum print_style verdict_style(const char *verdict)
{
    if (strcmp(verdict, "allow") == 0)
        return PRINT_GREEN;
    return strcmp(verdict, "deny") == 0 ? PRINT_RED : PRINT_YELLOW;
}

static void add_rule(struct buf *out, const struct print *p, const json_t *rule, bool decides)
{
    AUTO_FREE char *why = text_clean(jx_str(rule, "why", ""));
    buf_addf(out, "  r%" PRId64 " ", jx_int(rule, "rule", 0));
    print_text(out, p, decides ? PRINT_BOLD : PRINT_PLAIN, jx_str(rule, "text", "?"));
    buf_addf(out, ": %s%s\n",
             decides                          ? "decides: "
             : jx_bool(rule, "speaks", false) ? "comes behind: "
                                              : "",
             why);
}

void print_judged(struct buf *out, const struct print *p, const json_t *judged)
{
    const char *verdict = jx_str(judged, "verdict", "?");
    int64_t decider = jx_int(judged, "rule", 0);
    AUTO_FREE char *reason = text_clean(jx_str(judged, "reason", ""));
    size_t i;
    const json_t *rule;
    print_text(out, p, verdict_style(verdict), verdict);
    buf_addf(out, " (%s", jx_str(judged, "why", "?"));
    if (decider > 0)
        buf_addf(out, " %" PRId64, decider);
    buf_addf(out, ")%s%s\n", *reason ? ": " : "", reason);
    json_array_foreach(jx_arr(judged, "rules"), i, rule)
    {
        add_rule(out, p, rule, jx_int(rule, "rule", -1) == decider);
    }
}

void print_explained(struct buf *out, const struct print *p, const json_t *result)
{
    const json_t *call = jx_obj(result, "call");
    AUTO_BUF struct buf line = BUF_INIT;
    size_t i;
    const json_t *rule;
    print_call_decided(out, p, call);
    print_field(out, p, "asked for", jx_str(call, "ask_why", NULL));
    print_field(out, p, "because", jx_str(call, "ask_reason", NULL));
    print_field(out, p, "by", jx_str(call, "decided_by", NULL));
    print_field(out, p, "why", jx_str(call, "why", NULL));
    print_field(out, p, "reason", jx_str(call, "reason", NULL));
    buf_adds(out, "With the rules of now: ");
    print_judged(out, p, jx_obj(result, "now"));
    json_array_foreach(jx_arr(result, "elsewhere"), i, rule)
    {
        AUTO_FREE char *text = text_clean(jx_str(rule, "text", "?"));
        buf_addf(out, "  r%" PRId64 " %s: holds elsewhere\n", jx_int(rule, "id", 0), text);
    }
}

static void add_preview(struct buf *out, const json_t *proposal, int64_t of)
{
    const json_t *calls = jx_arr(proposal, "calls");
    size_t n = json_array_size(calls), i;
    const json_t *call;
    if (n == 0) {
        buf_addf(out, "     none of the last %" PRId64 " calls\n", of);
        return;
    }
    buf_addf(out, "     would have let pass %zu of the last %" PRId64 " calls", n, of);
    int64_t denied = jx_int(proposal, "denied", 0);
    if (denied > 0)
        buf_addf(out, ", %" PRId64 " of them DENIED then", denied);
    buf_adds(out, ":\n");
    json_array_foreach(calls, i, call)
    {
        if (i == PREVIEWED_CALLS) {
            buf_addf(out, "       and %zu more\n", n - i);
            break;
        }
        AUTO_BUF struct buf line = BUF_INIT;
        AUTO_FREE char *state = text_clean(jx_str(call, "state", "?"));
        AUTO_FREE char *id = text_clean(jx_str(call, "id", "?"));
        print_call_line(&line, call);
        buf_addf(out, "       %s %s %s\n", id, state, line.ptr);
    }
}

void print_proposals(struct buf *out, const struct print *p, const json_t *result)
{
    const json_t *proposals = jx_arr(result, "proposals");
    size_t i, k;
    const json_t *proposal, *text;
    AUTO_FREE char *id = text_clean(jx_str(result, "call", "?"));
    if (json_array_size(proposals) == 0) {
        AUTO_FREE char *why = text_clean(jx_str(result, "why", ""));
        buf_addf(out, "no rule can cover %s: %s\n", id, why);
        return;
    }
    json_array_foreach(proposals, i, proposal)
    {
        json_array_foreach(jx_arr(proposal, "rules"), k, text)
        {
            AUTO_FREE char *number = xasprintf("%3zu. ", i + 1);
            buf_adds(out, k == 0 ? number : "     ");
            print_text(out, p, PRINT_BOLD, json_string_value(text));
            buf_addch(out, '\n');
        }
        add_preview(out, proposal, jx_int(result, "of", 0));
    }
    buf_addf(out, "\nheadgate gate rule add --from %s --pick N\n", id);
}

void print_program_options(struct buf *out, const json_t *all)
{
    size_t i, k;
    const json_t *entry, *option;
    json_array_foreach(all, i, entry)
    {
        buf_addf(out, "%s:", jx_str(entry, "program", "?"));
        json_array_foreach(jx_arr(entry, "options"), k, option)
        {
            buf_addf(out, "%s%s", k ? ", " : " ", json_string_value(option));
        }
        buf_addch(out, '\n');
    }
}

void print_floor(struct buf *out, const struct print *p, const json_t *floor)
{
    static const char *const headers[] = {"ANSWER", "WHAT", "BECAUSE IT"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    const json_t *row;
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(floor, i, row)
    {
        const char *effect = jx_str(row, "effect", "?");
        print_table_cell(&t, verdict_style(effect), effect);
        print_table_cell(&t, PRINT_BOLD, jx_str(row, "what", "?"));
        print_table_cell(&t, PRINT_PLAIN, jx_str(row, "why", ""));
    }
    print_table_add(out, p, &t);
}
