#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/agents/pulse_words.h"
#include "runner/base/mem.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"

enum {
    HEAD_ROWS = 2, /* the run, the column names */
    COL_ID = 1,
    COL_STATE = 9,
    COL_AGENT = 20,
    COL_CALLS = 30,
    COL_AGE = 36,
    COL_TEXT = 44,
    WIDE_COLS = 110, /* from here on the task has a column of its own */
    TASK_COLS = 36,
};

struct scr_attempts {
    struct screen base;
    size_t top;
};

static size_t selected_index(const struct desk *d)
{
    const struct model_attempt *a = desk_attempt(d);
    return a ? (size_t)(a - d->model.attempts) : 0;
}

static const char *state_text(const struct model_attempt *a, size_t waiting, int64_t now_ms)
{
    const char *told = pulse_word(a->pulse, now_ms);
    if (!model_attempt_is_open(a))
        return a->outcome[0] ? a->outcome : a->state;
    if (waiting > 0)
        return "waiting";
    return told && strcmp(a->state, "running") == 0 ? told : a->state;
}

/* How its agent stands, in words, when it runs and does not simply work. */
static bool add_standing(struct buf *out, const struct model_attempt *a, int64_t now_ms)
{
    return strcmp(a->state, "running") == 0 && pulse_words(out, a->pulse, now_ms);
}

static struct style state_style(const struct model_attempt *a, size_t waiting)
{
    if (waiting > 0)
        return style_color(CELL_BOLD, INK_YELLOW);
    if (model_attempt_is_open(a))
        return STYLE_PLAIN;
    return strcmp(a->outcome, "ok") == 0 ? style_color(0, INK_GREEN) : style_color(0, INK_RED);
}

static size_t count_waiting(const struct model *m, const char *attempt)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_calls; i++)
        n += strcmp(m->calls[i].attempt, attempt) == 0;
    return n;
}

static void add_age(struct buf *out, struct paint *p, const struct model_attempt *a)
{
    int64_t from = a->started_ms ? a->started_ms : a->created_ms;
    if (!from)
        return;
    if (model_attempt_is_open(a))
        paint_since(out, p, from);
    else
        paint_span(out, a->ended_ms - from);
}

static const char *task_text(const struct model_attempt *a)
{
    return a->title[0] ? a->title : a->task;
}

static void draw_attempt(const struct desk *d, struct paint *p, int row,
                         const struct model_attempt *a, bool is_selected)
{
    AUTO_BUF struct buf text = BUF_INIT;
    size_t waiting = count_waiting(&d->model, a->id);
    paint_line(p, row, COL_ID, COL_STATE - COL_ID - 1, STYLE_PLAIN, a->id);
    paint_line(p, row, COL_STATE, COL_AGENT - COL_STATE - 1, state_style(a, waiting),
               state_text(a, waiting, p->now_ms));
    paint_line(p, row, COL_AGENT, COL_CALLS - COL_AGENT - 1, STYLE_PLAIN, a->agent);
    if (waiting > 0)
        buf_addf(&text, "%4zu", waiting);
    paint_line(p, row, COL_CALLS, COL_AGE - COL_CALLS - 1, style_color(CELL_BOLD, INK_YELLOW),
               text.ptr);
    buf_clear(&text);
    add_age(&text, p, a);
    paint_line(p, row, COL_AGE, COL_TEXT - COL_AGE - 1, STYLE_PLAIN, text.ptr);
    int col = COL_TEXT;
    if (p->cols >= WIDE_COLS) {
        paint_line(p, row, col, TASK_COLS - 1, STYLE_PLAIN, task_text(a));
        col += TASK_COLS;
    }
    bool is_clash = !model_attempt_is_open(a) && a->conflicts[0];
    AUTO_FREE char *clash = xasprintf("conflicts with %s", a->conflicts);
    AUTO_BUF struct buf standing = BUF_INIT;
    const char *line = a->error[0]                             ? a->error
                       : is_clash                              ? clash
                       : add_standing(&standing, a, p->now_ms) ? standing.ptr
                       : a->last_line[0]                       ? a->last_line
                       : p->cols < WIDE_COLS                   ? task_text(a)
                                                               : "";
    paint_line(p, row, col, p->cols - col,
               a->error[0] || is_clash ? style_color(0, INK_RED) : STYLE_PLAIN, line);
    if (is_selected)
        canvas_restyle(p->cv, p->top + row, 0, p->cols, style_attr(CELL_REVERSE));
}

static void draw_run(const struct desk *d, struct paint *p)
{
    const struct model_attempt *a = desk_attempt(d);
    const struct model_run *run = a ? model_run(&d->model, a->run) : NULL;
    if (!run)
        return;
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text, " Run %" PRId64 "  %s  %s@", run->id, run->repo, run->base_ref);
    paint_oid(&text, run->base);
    buf_addf(&text, "  %s", run->agent);
    const char *rung = a->ladder[0] ? a->ladder : run->ladder;
    if (rung[0])
        buf_addf(&text, "  rung %s", rung);
    if (run->layers[0])
        buf_addf(&text, "  layers: %s", run->layers);
    paint_line(p, 0, 0, p->cols, style_attr(CELL_BOLD), text.ptr);
}

static void draw_columns(struct paint *p)
{
    struct style style = style_attr(CELL_UNDERLINE);
    canvas_restyle(p->cv, p->top + 1, 0, p->cols, style);
    paint_line(p, 1, COL_ID, 8, style, "ATTEMPT");
    paint_line(p, 1, COL_STATE, 8, style, "STATE");
    paint_line(p, 1, COL_AGENT, 8, style, "AGENT");
    paint_line(p, 1, COL_CALLS, 5, style, "CALLS");
    paint_line(p, 1, COL_AGE, 4, style, "AGE");
    bool is_wide = p->cols >= WIDE_COLS;
    paint_line(p, 1, COL_TEXT, TASK_COLS, style, is_wide ? "TASK" : "LAST LINE");
    if (is_wide)
        paint_line(p, 1, COL_TEXT + TASK_COLS, TASK_COLS, style, "LAST LINE");
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    struct scr_attempts *self = (struct scr_attempts *)s;
    if (d->model.n_attempts == 0) {
        if (d->link == LINK_UP)
            paint_line(
                p, 1, 1, p->cols - 1, STYLE_PLAIN,
                "No attempts yet. In a repository: headgate run -n 4 \"what is to be done\"");
        return;
    }
    size_t selected = selected_index(d);
    int rows = p->rows - HEAD_ROWS;
    self->top = paint_list_top(self->top, selected, d->model.n_attempts, rows);
    draw_run(d, p);
    draw_columns(p);
    for (int i = 0; i < rows && self->top + (size_t)i < d->model.n_attempts; i++) {
        size_t at = self->top + (size_t)i;
        draw_attempt(d, p, HEAD_ROWS + i, &d->model.attempts[at], at == selected);
    }
}

static void move(struct desk *d, int64_t by)
{
    if (d->model.n_attempts == 0)
        return;
    int64_t to = (int64_t)selected_index(d) + by, last = (int64_t)d->model.n_attempts - 1;
    to = to < 0 ? 0 : to > last ? last : to;
    fixed_set(d->attempt, sizeof(d->attempt), d->model.attempts[to].id);
}

static bool move_key(struct desk *d, const struct key *key)
{
    int page = d->rows > 8 ? d->rows - 6 : 1;
    bool is_char = key->code == K_CHAR;
    if (key->code == K_UP || (is_char && key->ch == 'k'))
        move(d, -1);
    else if (key->code == K_DOWN || (is_char && key->ch == 'j'))
        move(d, 1);
    else if (key->code == K_PAGE_UP)
        move(d, -page);
    else if (key->code == K_PAGE_DOWN)
        move(d, page);
    else if (key->code == K_HOME)
        move(d, -(int64_t)d->model.n_attempts);
    else if (key->code == K_END)
        move(d, (int64_t)d->model.n_attempts);
    else
        return false;
    return true;
}

/* From here nothing is decided: the call's exact arguments are shown first. */
static void open_call(struct desk *d, const struct model_attempt *a)
{
    const struct model_call *call = model_first_call(&d->model, a->id);
    if (call)
        scr_call_open(d, call, true);
    else
        desk_say(d, "%s waits for nothing", a->id);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    (void)s;
    const struct model_attempt *a = desk_attempt(d);
    if (key->code == K_TAB || key->code == K_BACKTAB)
        scr_queue_open(d);
    else if (!a || move_key(d, key) || desk_attempt_key(d, key, a->id))
        return;
    else if (key->code == K_ENTER)
        scr_attempt_open(d, a->id);
    else if (key->code == K_CHAR && (key->ch == 'a' || key->ch == 'd'))
        open_call(d, a);
}

static void changed(struct screen *s, struct desk *d)
{
    (void)s;
    const struct model_attempt *a = desk_attempt(d);
    if (a)
        fixed_set(d->attempt, sizeof(d->attempt), a->id);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    free(s);
}

static const struct help_line help[] = {
    {"Up Down, j k", "select; also Home, End, Page Up, Page Down"},
    {"Enter", "task, branch, layers, waiting calls, review list"},
    {"a, d", "show the call that it waits for, to approve or deny"},
    {"o", "its output"},
    {"v", "its diff against the base"},
    {"w", "what it did, as a tree"},
    {"t", "its live terminal"},
    {"s s", "stop it with all its processes (pressed twice)"},
    {"Tab, g", "the queue of all waiting calls"},
    {NULL, NULL},
};

const struct screen_ops scr_attempts_ops = {
    .name = "Attempts",
    .hints = " ? help  Enter open  a call  o output  v diff  w trace  t term  g queue  q quit",
    .help = help,
    .draw = draw,
    .key = on_key,
    .changed = changed,
    .free = release,
};

void scr_attempts_open(struct desk *d)
{
    struct scr_attempts *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_attempts_ops;
    desk_push(d, &self->base);
}
