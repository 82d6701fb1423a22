#include <stdlib.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "ui/decide.h"
#include "ui/edit.h"
#include "ui/paint.h"
#include "ui/screens.h"

struct scr_deny {
    struct screen base;
    struct decide_set set; /* as it was when the person looked */
    char *what;
    struct edit reason;
};

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_deny *self = (struct scr_deny *)s;
    AUTO_BUF struct buf line = BUF_INIT;
    buf_addf(&line, "Deny %s", self->set.ids.v[0]);
    if (self->set.ids.n > 1)
        buf_addf(&line, " and %zu equal calls", self->set.ids.n - 1);
    paint_bar(p, 1, line.ptr, "");
    paint_line(p, 2, 1, p->cols - 1, STYLE_PLAIN, self->what);
    buf_clear(&line);
    buf_adds(&line, "asked in");
    for (size_t i = 0; i < self->set.attempts.n; i++)
        buf_addf(&line, " %s", self->set.attempts.v[i]);
    paint_line(p, 3, 1, p->cols - 1, STYLE_PLAIN, line.ptr);
    paint_line(p, 5, 1, p->cols - 1, STYLE_PLAIN,
               "Reason, in words for the agent (they are the result of its call):");
    edit_draw(&self->reason, p->cv, p->top + 6, 1, p->cols - 2);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_deny *self = (struct scr_deny *)s;
    if (!key->is_pasted && key->code == K_ESC) {
        desk_pop(d);
    } else if (!key->is_pasted && key->code == K_ENTER) {
        decide_send(d, &self->set, false, self->reason.text.ptr);
        desk_pop(d);
    } else {
        (void)edit_key(&self->reason, key);
    }
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    struct scr_deny *self = (struct scr_deny *)s;
    decide_set_release(&self->set);
    edit_release(&self->reason);
    free(self->what);
    free(self);
}

static const struct help_line help[] = {{NULL, NULL}};

const struct screen_ops scr_deny_ops = {
    .name = "Deny",
    .hints = " Enter deny  Esc back  Ctrl-U clear  Ctrl-W delete word",
    .help = help,
    .takes_text = true,
    .draw = draw,
    .key = on_key,
    .free = release,
};

void scr_deny_open(struct desk *d, struct decide_set *set, const char *what)
{
    struct scr_deny *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_deny_ops;
    self->set = *set;
    *set = (struct decide_set)DECIDE_SET_INIT;
    self->what = xstrdup(what);
    edit_init(&self->reason, LIMIT_REASON_BYTES);
    desk_push(d, &self->base);
}
