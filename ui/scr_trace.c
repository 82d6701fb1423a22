#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/trace_lines.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

enum { TIME_OF_DAY = 11 /* behind "2026-11-30 " */, MARK_AT = 9 /* bytes before a line's mark */ };

struct scr_trace {
    struct screen base;
    char id[32];
    char seen[96]; /* how the attempt stood when the trace was asked for */
    bool is_loaded, is_asked;
    struct view text;
    char error[256];
};

/* What tells that there is more to see. */
static void stand(char *out, size_t size, const struct desk *d, const char *id)
{
    const struct model_attempt *a = model_attempt(&d->model, id);
    const struct model_call *call = model_first_call(&d->model, id);
    if (a)
        snprintf(out, size, "%s %s %.16s %s", a->state, a->outcome, a->tip, call ? call->id : "");
    else
        fixed_set(out, size, "gone");
}

static void ask(struct scr_trace *self, struct desk *d)
{
    json_t *request = json_object(), *ids = json_array();
    json_array_append_new(ids, json_string(self->id));
    jx_set(request, "ids", ids);
    self->is_asked = true;
    stand(self->seen, sizeof(self->seen), d, self->id);
    d->host->request(d->host_arg, ASK_TRACE, self->id, "attempt.trace", request);
}

static const char *mark_of(enum trace_mood mood)
{
    return mood == TRACE_BAD ? "!" : mood == TRACE_WAITS ? "?" : " ";
}

static void add_line(void *arg, const struct trace_line *line)
{
    struct buf *out = arg;
    AUTO_BUF struct buf time = BUF_INIT;
    if (line->at_ms > 0)
        clock_add_local(&time, line->at_ms);
    buf_addf(out, "%8s %s%s%s", time.len > TIME_OF_DAY ? time.ptr + TIME_OF_DAY : "",
             mark_of(line->mood), line->tree, line->subject);
    buf_addf(out, "%s%s", *line->outcome ? " " : "", line->outcome);
    buf_addf(out, "%s%s\n", *line->detail ? " " : "", line->detail);
}

/* By the mark alone: what follows is a box's. */
static struct style style_of(const char *line, size_t len)
{
    if (len > MARK_AT && line[MARK_AT] == '!')
        return style_color(0, INK_RED);
    if (len > MARK_AT && line[MARK_AT] == '?')
        return style_color(CELL_BOLD, INK_YELLOW);
    return STYLE_PLAIN;
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_trace *self = (struct scr_trace *)s;
    AUTO_BUF struct buf title = BUF_INIT, place = BUF_INIT;
    view_layout(&self->text, p->rows - 1, p->cols - 2);
    view_place(&place, &self->text);
    buf_addf(&title, "Trace of %s", self->id);
    paint_bar(p, 0, title.ptr, place.ptr);
    if (self->error[0])
        paint_line(p, 1, 1, p->cols - 1, style_color(CELL_BOLD, INK_RED), self->error);
    else if (!self->is_loaded)
        paint_line(p, 1, 1, p->cols - 1, STYLE_PLAIN, "Asking ...");
    else
        view_draw(&self->text, p->cv, p->top + 1, 1, p->rows - 1, p->cols - 2);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_trace *self = (struct scr_trace *)s;
    const struct model_attempt *a = model_attempt(&d->model, self->id);
    if (key->code == K_CHAR && key->ch == 'w')
        desk_pop(d);
    else if (key->code == K_CHAR && key->ch == 'r')
        ask(self, d);
    else if (key->code == K_TAB && a)
        scr_output_open(d, a);
    else if (!view_key(&self->text, key))
        (void)desk_attempt_key(d, key, self->id);
}

static void changed(struct screen *s, struct desk *d)
{
    struct scr_trace *self = (struct scr_trace *)s;
    char now[sizeof(self->seen)];
    stand(now, sizeof(now), d, self->id);
    if (!self->is_asked && strcmp(now, self->seen) != 0)
        ask(self, d);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    struct scr_trace *self = (struct scr_trace *)s;
    view_release(&self->text);
    free(self);
}

static const struct help_line help[] = {
    {"Up Down, Space, b", "scroll; Page Up, Page Down, Home and End as well"},
    {"Left Right", "long lines"},
    {"r", "ask again; it is done by itself when the attempt's state, work or first call changes"},
    {"o v t", "output, diff, live terminal"},
    {"! ?", "marks: denied or refused; waits for you"},
    {"", "each call, program and connection stands below whoever asked for it"},
    {NULL, NULL},
};

const struct screen_ops scr_trace_ops = {
    .name = "Trace",
    .hints = " ? help  Up Down Space b scroll  r again  o output  v diff  g queue  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .changed = changed,
    .free = release,
};

void scr_trace_open(struct desk *d, const char *attempt)
{
    struct scr_trace *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_trace_ops;
    self->text = (struct view)VIEW_INIT;
    self->text.style = style_of;
    fixed_set(self->id, sizeof(self->id), attempt);
    desk_push(d, &self->base);
    ask(self, d);
}

void scr_trace_on_answer(struct desk *d, const char *attempt, const json_t *result,
                         const struct err *err)
{
    struct scr_trace *self = (struct scr_trace *)desk_find(d, &scr_trace_ops);
    AUTO_BUF struct buf out = BUF_INIT;
    if (!self || strcmp(self->id, attempt) != 0)
        return;
    self->is_asked = false;
    self->error[0] = '\0';
    if (!result) {
        fixed_set(self->error, sizeof(self->error), err->text);
        return;
    }
    trace_lines(jx_obj(result, "trace"), add_line, &out);
    if (jx_bool(result, "cut", false))
        buf_adds(&out, "\nOnly the newest calls and sums are here; headgate gate log has all.\n");
    view_set(&self->text, out.ptr, out.len);
    self->is_loaded = true;
}
