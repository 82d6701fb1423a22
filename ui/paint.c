#include "ui/paint.h"

#include <inttypes.h>
#include <string.h>

#include "runner/base/text.h"
#include "ui/screens.h"

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, HOUR_MS = 60 * MINUTE_MS, OID_DIGITS = 10 };
#define DAY_MS ((int64_t)24 * HOUR_MS)

void paint_line(struct paint *p, int row, int col, int cols, struct style style, const char *text)
{
    if (row >= 0 && row < p->rows)
        canvas_clip(p->cv, p->top + row, col, cols, style, text);
}

void paint_bar(struct paint *p, int row, const char *title, const char *note)
{
    if (row < 0 || row >= p->rows)
        return;
    struct style style = style_attr(CELL_REVERSE);
    canvas_restyle(p->cv, p->top + row, 0, p->cols, style);
    int note_cols = (int)strlen(note);
    canvas_clip(p->cv, p->top + row, 1, p->cols - note_cols - 3, style, title);
    canvas_clip(p->cv, p->top + row, p->cols - note_cols - 1, note_cols, style, note);
}

void paint_span(struct buf *out, int64_t span_ms)
{
    if (span_ms < 0)
        span_ms = 0;
    if (span_ms < MINUTE_MS)
        buf_addf(out, "%" PRId64 "s", span_ms / SECOND_MS);
    else if (span_ms < HOUR_MS)
        buf_addf(out, "%" PRId64 "m", span_ms / MINUTE_MS);
    else if (span_ms < DAY_MS)
        buf_addf(out, "%" PRId64 "h%02" PRId64 "m", span_ms / HOUR_MS,
                 span_ms % HOUR_MS / MINUTE_MS);
    else
        buf_addf(out, "%" PRId64 "d%02" PRId64 "h", span_ms / DAY_MS, span_ms % DAY_MS / HOUR_MS);
}

/* How long one text of paint_span stays the same. */
static int64_t span_step(int64_t span_ms)
{
    return span_ms < MINUTE_MS ? SECOND_MS : span_ms < DAY_MS ? MINUTE_MS : HOUR_MS;
}

static void note_change(struct paint *p, int64_t at_ms)
{
    if (at_ms < p->next_ms)
        p->next_ms = at_ms;
}

void paint_since(struct buf *out, struct paint *p, int64_t at_ms)
{
    int64_t span = p->now_ms > at_ms ? p->now_ms - at_ms : 0, step = span_step(span);
    paint_span(out, span);
    note_change(p, p->now_ms + step - span % step);
}

void paint_deadline(struct buf *out, struct paint *p, int64_t at_ms)
{
    int64_t span = at_ms - p->now_ms;
    if (at_ms == 0)
        return;
    if (span <= 0) {
        buf_adds(out, ", expires now");
        return;
    }
    buf_adds(out, ", expires in ");
    paint_span(out, span);
    note_change(p, p->now_ms + span % span_step(span) + 1);
}

size_t paint_list_top(size_t top, size_t selected, size_t n, int rows)
{
    size_t height = rows > 0 ? (size_t)rows : 1;
    if (selected < top)
        top = selected;
    if (selected >= top + height)
        top = selected - height + 1;
    if (top + height > n)
        top = n > height ? n - height : 0;
    return top;
}

void paint_folder(struct buf *out, const struct model_call *call)
{
    size_t from = out->len;
    text_add_relative(out, call->cwd, strlen(call->cwd), call->worktree);
    if (out->len == from)
        buf_adds(out, "(not told)");
    else if (strcmp(out->ptr + from, ".") == 0)
        buf_adds(out, "  (the worktree)");
}

void paint_because(struct buf *out, const struct model_call *call)
{
    const char *why = call->why, *reason = call->reason;
    buf_addf(out, "%s%s%s", why, *why && *reason ? ": " : "", reason);
    if (!*why && !*reason)
        buf_adds(out, "(not told)");
}

void paint_asker(struct buf *out, const struct model_call *call)
{
    buf_adds(out, call->agent[0] ? call->agent : call->source);
    if (call->sub_id[0] || call->sub_type[0])
        buf_addf(out, " > %s (depth %" PRId64 ")",
                 call->sub_type[0] ? call->sub_type : call->sub_id, call->sub_depth);
}

void paint_oid(struct buf *out, const char *oid)
{
    buf_add(out, oid, strnlen(oid, OID_DIGITS));
}

static void count_attempts(const struct desk *d, size_t *ret_running, size_t *ret_queued)
{
    *ret_running = *ret_queued = 0;
    for (size_t i = 0; i < d->model.n_attempts; i++) {
        const struct model_attempt *a = &d->model.attempts[i];
        if (strcmp(a->state, "queued") == 0)
            ++*ret_queued;
        else if (model_attempt_is_open(a))
            ++*ret_running;
    }
}

static void add_tab(struct buf *out, const struct desk *d, const struct screen_ops *ops,
                    const char *name, size_t n)
{
    bool is_top = d->top && d->top->ops == ops;
    buf_addf(out, is_top ? "[%s %zu]" : " %s %zu ", name, n);
}

static void paint_header(const struct desk *d, struct paint *p)
{
    struct style style = style_attr(CELL_REVERSE | CELL_BOLD);
    AUTO_BUF struct buf left = BUF_INIT, right = BUF_INIT;
    size_t running, queued;
    count_attempts(d, &running, &queued);
    buf_adds(&left, " Headgate  ");
    add_tab(&left, d, &scr_attempts_ops, "Attempts", d->model.n_attempts);
    buf_addch(&left, ' ');
    add_tab(&left, d, &scr_queue_ops, "Queue", d->model.n_calls);
    if (d->top && d->top->ops != &scr_attempts_ops && d->top->ops != &scr_queue_ops)
        buf_addf(&left, "  [%s]", d->top->ops->name);
    buf_addf(&right, "%zu running, %zu queued ", running, queued);
    canvas_restyle(p->cv, 0, 0, p->cols, style);
    canvas_clip(p->cv, 0, 0, p->cols, style, left.ptr);
    if (left.len + right.len + 1 < (size_t)p->cols)
        canvas_clip(p->cv, 0, p->cols - (int)right.len, (int)right.len, style, right.ptr);
}

/* The server's absence goes before everything else: what is shown may be old. */
static void paint_status(const struct desk *d, struct paint *p, int row)
{
    struct style alarm = style_color(CELL_BOLD | CELL_REVERSE, INK_RED);
    const char *text = d->status;
    struct style style = d->status_is_bad ? style_color(CELL_BOLD, INK_RED) : style_attr(CELL_BOLD);
    if (d->link == LINK_GONE) {
        text = "Server gone, reconnecting. Agents go on; any headgate command starts a new one.";
        style = alarm;
    } else if (d->link == LINK_CONNECTING) {
        text = "Connecting to the server ...";
    } else if (text[0] == '\0' && d->model.left_out > 0) {
        text = "There are more attempts or calls than are shown here: see headgate ls and headgate "
               "gate ls.";
    }
    canvas_clip(p->cv, row, 0, p->cols, style, text);
}

void paint_frame(const struct desk *d, struct paint *p)
{
    int rows = p->cv->rows;
    paint_header(d, p);
    paint_status(d, p, rows - 2);
    canvas_restyle(p->cv, rows - 1, 0, p->cols, style_attr(CELL_DIM));
    canvas_clip(p->cv, rows - 1, 0, p->cols, style_attr(CELL_DIM), d->top->ops->hints);
}

void paint_too_small(struct paint *p)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text, "Too small: %dx%d", p->cv->cols, p->cv->rows);
    canvas_clip(p->cv, 0, 0, p->cols, style_attr(CELL_BOLD), text.ptr);
    buf_clear(&text);
    buf_addf(&text, "Needs %dx%d; q: back", PAINT_MIN_COLS, PAINT_MIN_ROWS);
    canvas_clip(p->cv, 1, 0, p->cols, STYLE_PLAIN, text.ptr);
}
