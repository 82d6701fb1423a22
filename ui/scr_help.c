#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

struct scr_help {
    struct screen base;
    const struct screen_ops *of;
    struct view text;
};

static const struct help_line everywhere[] = {
    {"q, Esc", "back; on the attempts q leaves, and all goes on"},
    {"g", "the queue"},
    {"?", "this help"},
    {"Ctrl-Z", "suspend the dashboard; fg brings it back"},
    {NULL, NULL},
};

static const struct help_line words[] = {
    {"Attempt", "one try at one task, RUN.N; its branch: headgate/RUN/N"},
    {"Call", "what an agent asks of the gate, until it is decided"},
    {"Card", "equal calls (tool, arguments, folder) of some attempts"},
    {"waiting", "its calls wait for a decision"},
    {NULL, NULL},
};

static void add_lines(struct buf *out, const char *title, const struct help_line *lines)
{
    if (!lines[0].text)
        return;
    buf_addf(out, "%s\n", title);
    for (; lines->text; lines++)
        buf_addf(out, "  %-18s %s\n", lines->keys, lines->text);
    buf_addch(out, '\n');
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_help *self = (struct scr_help *)s;
    AUTO_BUF struct buf place = BUF_INIT;
    view_layout(&self->text, p->rows - 1, p->cols - 2);
    view_place(&place, &self->text);
    paint_bar(p, 0, "Help", place.ptr);
    view_draw(&self->text, p->cv, p->top + 1, 1, p->rows - 1, p->cols - 2);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_help *self = (struct scr_help *)s;
    if (!view_key(&self->text, key))
        desk_pop(d);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    view_release(&((struct scr_help *)s)->text);
    free(s);
}

static const struct help_line help[] = {{NULL, NULL}};

const struct screen_ops scr_help_ops = {
    .name = "Help",
    .hints = " Up Down scroll  any other key: back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .free = release,
};

void scr_help_open(struct desk *d)
{
    struct scr_help *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_help_ops;
    self->of = d->top->ops;
    self->text = (struct view)VIEW_INIT;
    self->text.wraps = true;
    AUTO_BUF struct buf text = BUF_INIT, title = BUF_INIT;
    buf_addf(&title, "Here (%s)", self->of->name);
    add_lines(&text, title.ptr, self->of->help);
    add_lines(&text, "Everywhere", everywhere);
    add_lines(&text, "Words", words);
    view_set(&self->text, text.ptr, text.len);
    desk_push(d, &self->base);
}
