#include "runner/cmd/print_doctor.h"

#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/print_attempts.h"

static void print_facts(struct buf *out, const struct print *p, const json_t *facts)
{
    const json_t *fact;
    size_t i;
    json_array_foreach(facts, i, fact)
    {
        const char *advice = jx_str(fact, "advice", "");
        buf_adds(out, "  ");
        print_text(out, p, PRINT_BOLD, jx_str(fact, "name", "?"));
        buf_adds(out, ": ");
        print_text(out, p, *advice ? PRINT_YELLOW : PRINT_PLAIN, jx_str(fact, "value", "?"));
        if (*advice) {
            buf_adds(out, "; ");
            print_text(out, p, PRINT_PLAIN, advice);
        }
        buf_addch(out, '\n');
    }
}

static void print_engines(struct buf *out, const struct print *p, const json_t *engines)
{
    const json_t *engine;
    size_t i;
    json_array_foreach(engines, i, engine)
    {
        bool works = jx_bool(engine, "works", false), is_taken = jx_bool(engine, "taken", false);
        const char *why = jx_str(engine, "why", "");
        const char *trade = works ? jx_str(engine, "trade", "") : "";
        buf_adds(out, "  ");
        print_text(out, p, PRINT_BOLD, jx_str(engine, "name", "?"));
        buf_addf(out, ": %s%s",
                 is_taken ? "taken"
                 : works  ? "works"
                          : "does not work",
                 *why ? "; " : "");
        print_text(out, p, PRINT_PLAIN, why);
        buf_adds(out, *trade ? "; " : "");
        print_text(out, p, PRINT_PLAIN, trade);
        buf_addch(out, '\n');
    }
}

void print_doctor(struct buf *out, const struct print *p, const json_t *report)
{
    const json_t *layers = jx_arr(report, "layers");
    print_text(out, p, PRINT_BOLD, jx_str(report, "platform", "?"));
    buf_adds(out, "; layers of a box: ");
    print_layers_line(out, layers);
    buf_addch(out, '\n');
    print_layers(out, p, layers, true);
    buf_adds(out, "ladder without --ladder: ");
    print_text(out, p, PRINT_BOLD, jx_str(report, "ladder", "?"));
    buf_adds(out, ", ");
    print_text(out, p, PRINT_PLAIN, jx_str(report, "ladder_why", ""));
    buf_adds(out, "\nengines of worktrees, of which the first that works is taken:\n");
    print_engines(out, p, jx_arr(report, "engines"));
    buf_adds(out, "this host:\n");
    print_facts(out, p, jx_arr(report, "facts"));
}

void print_escapes(struct buf *out, const struct print *p, const json_t *report)
{
    static const char *const headers[] = {"ID", "ATTEMPT", "HELD BY", "RESULT", "TRIES", "CONTROL"};
    AUTO_PRINT_TABLE struct print_table table = PRINT_TABLE_INIT;
    int64_t contained = 0, proven = 0, degraded = 0, untried = 0, all = 0;
    const json_t *a;
    size_t i;
    print_table_init(&table, headers, ARRAY_LEN(headers));
    json_array_foreach(jx_arr(report, "attempts"), i, a)
    {
        const char *kind = jx_str(a, "result", "?");
        bool is_held = strcmp(kind, "contained") == 0;
        bool is_degraded = strcmp(kind, "degraded") == 0, is_untried = strcmp(kind, "untried") == 0;
        AUTO_FREE char *result = xasprintf("%s: %s", kind, jx_str(a, "got", "?"));
        all++;
        degraded += is_degraded;
        untried += is_untried;
        contained += is_held;
        proven += is_held && jx_bool(a, "proven", false);
        print_table_cell(&table, PRINT_BOLD, jx_str(a, "id", "?"));
        print_table_cell(&table, PRINT_PLAIN, jx_str(a, "what", ""));
        print_table_cell(&table, PRINT_PLAIN, jx_str(a, "layer", ""));
        print_table_cell(&table,
                         is_held                     ? PRINT_GREEN
                         : is_degraded || is_untried ? PRINT_YELLOW
                                                     : PRINT_RED,
                         result);
        print_table_int(&table, jx_int(a, "tries", 1));
        print_table_cell(&table, PRINT_DIM, jx_str(a, "control", ""));
    }
    print_table_add(out, p, &table);
    print_count(out, all, "attempt", "attempts");
    buf_addf(out,
             "; %lld contained, of these %lld proven: the same comes through without what "
             "holds it\n",
             (long long)contained, (long long)proven);
    if (degraded)
        buf_addf(out,
                 "%lld came through a layer that is degraded here, as `headgate doctor` says too\n",
                 (long long)degraded);
    if (untried)
        buf_addf(out, "%lld cannot be tried here, for the reason in their row\n",
                 (long long)untried);
}
