#include <stdlib.h>
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/base/mem.h"
#include "ui/ansi.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

enum { KEPT_BYTES = 1024 * 1024, MESSAGE_BYTES_MAX = 1024 * 1024 };

struct scr_output {
    struct screen base;
    char id[32];
    char agent[32];
    struct agent_output output;
    struct buf message; /* JSON of the agent's whose end is to come */
    bool is_in_line;    /* what comes continues a line that is no message */
    struct ansi ansi;
    struct view text;
    char error[256];
};

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_output *self = (struct scr_output *)s;
    AUTO_BUF struct buf title = BUF_INIT, place = BUF_INIT;
    view_layout(&self->text, p->rows - 1, p->cols - 1);
    view_place(&place, &self->text);
    buf_addf(&title, "Output of %s", self->id);
    paint_bar(p, 0, title.ptr, place.ptr);
    if (self->error[0])
        paint_line(p, 1, 1, p->cols - 1, style_color(CELL_BOLD, INK_RED), self->error);
    else if (self->text.n_rows == 0)
        paint_line(p, 1, 1, p->cols - 1, STYLE_PLAIN, "No output yet.");
    view_draw(&self->text, p->cv, p->top + 1, 1, p->rows - 1, p->cols - 1);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_output *self = (struct scr_output *)s;
    if (key->code == K_TAB) {
        char id[sizeof(self->id)];
        memcpy(id, self->id, sizeof(id));
        desk_pop(d);
        const struct model_attempt *a = model_attempt(&d->model, id);
        if (a)
            scr_diff_open(d, a);
    } else if (key->code == K_CHAR && key->ch == 'o') {
        desk_pop(d);
    } else if (!view_key(&self->text, key)) {
        (void)desk_attempt_key(d, key, self->id);
    }
}

static void release(struct screen *s, struct desk *d)
{
    struct scr_output *self = (struct scr_output *)s;
    d->host->tail(d->host_arg, NULL);
    view_release(&self->text);
    buf_release(&self->message);
    free(self);
}

static const struct help_line help[] = {
    {"Up Down, Space, b", "scroll; at the end the view follows what comes"},
    {"Left Right", "long lines"},
    {"v t s", "diff, live terminal, stop; Tab goes on to the diff"},
    {"", "the last 1 MiB is here; all of it: headgate logs ATTEMPT"},
    {NULL, NULL},
};

const struct screen_ops scr_output_ops = {
    .name = "Output",
    .hints = " ? help  Up Down Space b scroll  Left Right long lines  Tab diff  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .free = release,
};

void scr_output_open(struct desk *d, const struct model_attempt *a)
{
    if (!a->log[0]) {
        desk_say(d, "%s has no output yet", a->id);
        return;
    }
    struct scr_output *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_output_ops;
    self->text = (struct view)VIEW_INIT;
    self->text.follows = true;
    self->message = (struct buf)BUF_INIT;
    fixed_set(self->id, sizeof(self->id), a->id);
    fixed_set(self->agent, sizeof(self->agent), a->agent);
    self->output.kind = self->agent;
    desk_push(d, &self->base);
    d->host->tail(d->host_arg, a->log);
}

/* A message in what a person wants to see of it, as `headgate logs` has it. */
static void add_message(struct scr_output *self, struct buf *out)
{
    AUTO_BUF struct buf shown = BUF_INIT;
    if (agent_output_line(&shown, &self->output, self->message.ptr, self->message.len))
        buf_rtrim(&shown);
    buf_add(out, shown.ptr, shown.len);
    if (shown.len > 0)
        buf_addch(out, '\n');
    buf_clear(&self->message);
}

/* Headless agents speak JSON, one message a line; what else they print is their errors. */
static void add_output(struct scr_output *self, struct buf *out, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline ? (size_t)(newline - bytes) + 1 : len;
        bool is_message = self->message.len > 0 || (!self->is_in_line && *bytes == '{');
        buf_add(is_message ? &self->message : out, bytes, n);
        self->is_in_line = !is_message && !newline;
        if (is_message && newline) {
            add_message(self, out);
        } else if (self->message.len > MESSAGE_BYTES_MAX) {
            buf_add(out, self->message.ptr, self->message.len);
            buf_clear(&self->message);
            self->is_in_line = true;
        }
        bytes += n;
        len -= n;
    }
}

void scr_output_on_bytes(struct desk *d, const char *bytes, size_t len, const struct err *err)
{
    struct scr_output *self = (struct scr_output *)desk_find(d, &scr_output_ops);
    if (!self)
        return;
    if (err) {
        fixed_set(self->error, sizeof(self->error), err->text);
        return;
    }
    self->error[0] = '\0';
    AUTO_BUF struct buf said = BUF_INIT, plain = BUF_INIT;
    add_output(self, &said, bytes, len);
    ansi_strip(&self->ansi, &plain, said.ptr, said.len);
    view_append(&self->text, plain.ptr, plain.len, KEPT_BYTES);
}
