#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

struct scr_diff {
    struct screen base;
    char id[32];
    char tip[65]; /* what is shown; "" while nothing is */
    char note[512];
    struct view text;
};

static struct style line_style(const char *line, size_t len)
{
    if (len >= 4 && (memcmp(line, "+++ ", 4) == 0 || memcmp(line, "--- ", 4) == 0 ||
                     memcmp(line, "diff", 4) == 0))
        return style_attr(CELL_BOLD);
    if (len >= 2 && memcmp(line, "@@", 2) == 0)
        return style_color(CELL_BOLD, INK_CYAN);
    if (len >= 1 && line[0] == '+')
        return style_color(0, INK_GREEN);
    if (len >= 1 && line[0] == '-')
        return style_color(0, INK_RED);
    return STYLE_PLAIN;
}

/* Ask for the diff of what is harvested so far. */
static void start(struct scr_diff *self, struct desk *d)
{
    const struct model_attempt *a = model_attempt(&d->model, self->id);
    if (!a)
        return;
    if (!a->tip[0] || !a->base[0]) {
        fixed_setf(self->note, sizeof(self->note),
                   "Nothing is harvested yet: r brings the commits home and shows them.");
        return;
    }
    fixed_set(self->tip, sizeof(self->tip), a->tip);
    fixed_setf(self->note, sizeof(self->note), "Reading the diff ...");
    d->host->diff(d->host_arg, self->id, a->repo, a->base, a->tip);
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    struct scr_diff *self = (struct scr_diff *)s;
    const struct model_attempt *a = model_attempt(&d->model, self->id);
    AUTO_BUF struct buf title = BUF_INIT, place = BUF_INIT;
    view_layout(&self->text, p->rows - 1, p->cols - 1);
    view_place(&place, &self->text);
    buf_addf(&title, "Diff of %s", self->id);
    if (a) {
        buf_addf(&title, "  %s@", a->base_ref);
        paint_oid(&title, a->base);
        buf_adds(&title, "..");
        paint_oid(&title, self->tip);
        if (self->tip[0] && strcmp(a->tip, self->tip) != 0)
            buf_adds(&title, "  (there is more by now: r)");
    }
    paint_bar(p, 0, title.ptr, place.ptr);
    if (self->note[0])
        paint_line(p, 1, 1, p->cols - 1, STYLE_PLAIN, self->note);
    else
        view_draw(&self->text, p->cv, p->top + 1, 1, p->rows - 1, p->cols - 1);
}

static void harvest(struct scr_diff *self, struct desk *d)
{
    json_t *request = json_object(), *ids = json_array();
    json_array_append_new(ids, json_string(self->id));
    jx_set(request, "ids", ids);
    fixed_setf(self->note, sizeof(self->note), "Bringing the commits home ...");
    d->host->request(d->host_arg, ASK_HARVEST, self->id, "attempt.harvest", request);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_diff *self = (struct scr_diff *)s;
    bool is_char = key->code == K_CHAR;
    if (key->code == K_TAB) {
        char id[sizeof(self->id)];
        memcpy(id, self->id, sizeof(id));
        desk_pop(d);
        (void)desk_attempt_key(d, &(struct key){.code = K_CHAR, .ch = 't'}, id);
    } else if (is_char && key->ch == 'v') {
        desk_pop(d);
    } else if (is_char && key->ch == 'r') {
        harvest(self, d);
    } else if (!view_key(&self->text, key)) {
        (void)desk_attempt_key(d, key, self->id);
    }
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    struct scr_diff *self = (struct scr_diff *)s;
    view_release(&self->text);
    free(self);
}

static const struct help_line help[] = {
    {"Up Down, Space, b", "scroll; Page Up, Page Down, Home and End as well"},
    {"Left Right", "long lines"},
    {"r", "bring the newest commits home and show them"},
    {"o t s", "output, live terminal, stop; Tab goes on to the terminal"},
    {NULL, NULL},
};

const struct screen_ops scr_diff_ops = {
    .name = "Diff",
    .hints = " ? help  Up Down Space b scroll  Left Right long lines  r renew  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .free = release,
};

void scr_diff_open(struct desk *d, const struct model_attempt *a)
{
    struct scr_diff *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_diff_ops;
    self->text = (struct view)VIEW_INIT;
    self->text.style = line_style;
    fixed_set(self->id, sizeof(self->id), a->id);
    desk_push(d, &self->base);
    start(self, d);
}

void scr_diff_on_text(struct desk *d, const char *attempt, const struct buf *text,
                      const struct err *err)
{
    struct scr_diff *self = (struct scr_diff *)desk_find(d, &scr_diff_ops);
    if (!self || strcmp(self->id, attempt) != 0)
        return;
    self->note[0] = '\0';
    if (err)
        fixed_set(self->note, sizeof(self->note), err->text);
    else if (text->len == 0)
        fixed_setf(self->note, sizeof(self->note), "No differences from the base.");
    else
        view_set(&self->text, text->ptr, text->len);
}

void scr_diff_on_harvest(struct desk *d, const char *attempt, const struct err *err)
{
    struct scr_diff *self = (struct scr_diff *)desk_find(d, &scr_diff_ops);
    if (!self || strcmp(self->id, attempt) != 0)
        return;
    if (err)
        fixed_set(self->note, sizeof(self->note), err->text);
    else
        start(self, d);
}
