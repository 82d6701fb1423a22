#include "runner/cmd/print_trace.h"

#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/base/trace_lines.h"

enum { TIME_OF_DAY = 11 /* behind "2026-11-30 " */, TIME_COLUMNS = 8, DETAIL_MIN = 20 };

struct printing {
    struct buf *out;
    const struct print *p;
};

static enum print_style style_of(enum trace_mood mood)
{
    switch (mood) {
    case TRACE_HEAD:
        return PRINT_CYAN;
    case TRACE_GOOD:
        return PRINT_GREEN;
    case TRACE_BAD:
        return PRINT_RED;
    case TRACE_WAITS:
        return PRINT_YELLOW;
    case TRACE_PLAIN:
        break;
    }
    return PRINT_PLAIN;
}

static void add_line(void *arg, const struct trace_line *line)
{
    const struct printing *to = arg;
    AUTO_BUF struct buf time = BUF_INIT, detail = BUF_INIT;
    if (line->at_ms > 0)
        clock_add_local(&time, line->at_ms);
    int used = TIME_COLUMNS + 3 + text_width(line->tree, strlen(line->tree)) +
               text_width(line->subject, strlen(line->subject)) +
               text_width(line->outcome, strlen(line->outcome));
    int left = to->p->columns - used;
    if (to->p->columns > 0)
        text_add_brief(&detail, line->detail, left > DETAIL_MIN ? left : DETAIL_MIN);
    else
        buf_adds(&detail, line->detail);
    print_clean(to->out, to->p, PRINT_DIM,
                time.len > TIME_OF_DAY ? time.ptr + TIME_OF_DAY : "        ");
    buf_addf(to->out, " %s", line->tree);
    print_clean(to->out, to->p, PRINT_BOLD, line->subject);
    if (*line->outcome) {
        buf_addch(to->out, ' ');
        print_clean(to->out, to->p, style_of(line->mood), line->outcome);
    }
    buf_addf(to->out, "%s%s\n", detail.len ? " " : "", detail.ptr);
}

void print_trace(struct buf *out, const struct print *p, const json_t *result)
{
    struct printing to = {out, p};
    if (jx_bool(result, "cut", false))
        buf_adds(out, "only the newest calls and sums are here; `headgate gate log` has all\n");
    trace_lines(jx_obj(result, "trace"), add_line, &to);
}
