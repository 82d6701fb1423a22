#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/vt.h"

enum { PREFIX = 0x1d /* Ctrl-] */ };

struct scr_live {
    struct screen base;
    struct desk *desk;
    char name[64];
    struct vt *vt;
    struct buf to_send; /* gathered over one read */
    bool has_prefix;    /* Ctrl-] was pressed */
    bool is_scrolling;
    size_t back; /* lines up in the history */
    bool has_ended;
    char note[256]; /* why it ended */
    int rows, cols; /* what the keeper was told */
};

static void on_vt_out(void *arg, const char *bytes, size_t len)
{
    struct scr_live *self = arg;
    buf_add(&self->to_send, bytes, len);
}

static void flush(struct scr_live *self)
{
    struct desk *d = self->desk;
    if (self->to_send.len > 0 && !self->has_ended)
        d->host->live_send(d->host_arg, self->to_send.ptr, self->to_send.len);
    buf_clear(&self->to_send);
}

static void fit(struct scr_live *self, int rows, int cols)
{
    struct desk *d = self->desk;
    if (self->rows == rows && self->cols == cols)
        return;
    self->rows = rows;
    self->cols = cols;
    vt_resize(self->vt, rows, cols);
    if (!self->has_ended)
        d->host->live_resize(d->host_arg, rows, cols);
}

static void draw_bottom(const struct scr_live *self, struct paint *p)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text, " %s  ", self->name);
    if (self->has_ended)
        buf_addf(&text, "%s  any key: back", self->note);
    else if (self->is_scrolling)
        buf_addf(&text, "%zu of %zu lines up  Up Down PageUp PageDown scroll  q back to the end",
                 self->back, vt_history(self->vt));
    else if (self->has_prefix)
        buf_adds(&text, "Ctrl-] then: d detach  [ scroll  Ctrl-] itself");
    else
        buf_adds(&text, "Ctrl-] d detaches  Ctrl-] [ scrolls");
    int row = p->cv->rows - 1;
    canvas_restyle(p->cv, row, 0, p->cols, style_attr(CELL_REVERSE));
    canvas_clip(p->cv, row, 0, p->cols, style_attr(CELL_REVERSE), text.ptr);
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_live *self = (struct scr_live *)s;
    int rows = p->rows - 1;
    fit(self, rows, p->cols);
    vt_draw(self->vt, p->cv, 0, 0, rows, p->cols, self->back);
    draw_bottom(self, p);
}

static void scroll(struct scr_live *self, int64_t by)
{
    int64_t to = (int64_t)self->back + by, most = (int64_t)vt_history(self->vt);
    self->back = (size_t)(to < 0 ? 0 : to > most ? most : to);
}

/* Keys come here only while scrolling and after the end. */
static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_live *self = (struct scr_live *)s;
    int page = self->rows > 1 ? self->rows - 1 : 1;
    bool is_char = key->code == K_CHAR;
    if (!self->is_scrolling)
        desk_pop(d);
    else if (key->code == K_UP || (is_char && key->ch == 'k'))
        scroll(self, 1);
    else if (key->code == K_DOWN || (is_char && key->ch == 'j'))
        scroll(self, -1);
    else if (key->code == K_PAGE_UP || (is_char && key->ch == 'b'))
        scroll(self, page);
    else if (key->code == K_PAGE_DOWN || (is_char && key->ch == ' '))
        scroll(self, -page);
    else if (key->code == K_HOME)
        scroll(self, (int64_t)vt_history(self->vt));
    else
        self->is_scrolling = false, self->back = 0;
}

/* The key behind Ctrl-]. True: the screen is closed. */
static bool prefix_key(struct scr_live *self, struct desk *d, unsigned char c)
{
    self->has_prefix = false;
    if (c == 'd') {
        flush(self);
        desk_pop(d);
        return true;
    }
    if (c == '[')
        self->is_scrolling = true;
    else if (c == PREFIX)
        buf_addch(&self->to_send, (char)PREFIX);
    return false;
}

/* What a byte or sequence means for the program: cursor keys and pastes as it asked for them, all
 * else as it is. */
static size_t pass(struct scr_live *self, const unsigned char *bytes, size_t len)
{
    struct key key;
    size_t n = 0;
    if (bytes[0] == 0x1b && key_scan(&key, bytes, len, &n) && n > 1 && vt_key(self->vt, key.code))
        return n;
    n = n > 0 ? n : 1;
    buf_add(&self->to_send, bytes, n);
    return n;
}

static size_t raw(struct screen *s, struct desk *d, const unsigned char *bytes, size_t len)
{
    struct scr_live *self = (struct scr_live *)s;
    size_t at = 0;
    while (at < len && !self->has_ended && !self->is_scrolling) {
        if (self->has_prefix) {
            if (prefix_key(self, d, bytes[at++]))
                return at;
        } else if (bytes[at] == PREFIX) {
            self->has_prefix = true;
            at++;
        } else {
            at += pass(self, bytes + at, len - at);
        }
    }
    flush(self);
    return at;
}

static void release(struct screen *s, struct desk *d)
{
    struct scr_live *self = (struct scr_live *)s;
    d->host->live_close(d->host_arg);
    vt_free(self->vt);
    buf_release(&self->to_send);
    free(self);
}

static const struct help_line help[] = {{NULL, NULL}};

const struct screen_ops scr_live_ops = {
    .name = "Terminal",
    .hints = "",
    .help = help,
    .is_full = true,
    .takes_text = true,
    .draw = draw,
    .key = on_key,
    .raw = raw,
    .free = release,
};

void scr_live_open(struct desk *d, const char *name, const char *keeper_socket, bool is_joined)
{
    struct scr_live *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_live_ops;
    self->desk = d;
    self->to_send = (struct buf)BUF_INIT;
    fixed_set(self->name, sizeof(self->name), name);
    self->rows = d->rows > 1 ? d->rows - 1 : 1;
    self->cols = d->cols > 0 ? d->cols : 1;
    self->vt = vt_new(self->rows, self->cols, is_joined, on_vt_out, self);
    desk_push(d, &self->base);
    d->host->live_open(d->host_arg, keeper_socket, self->rows, self->cols);
}

void scr_live_on_bytes(struct desk *d, const void *bytes, size_t len)
{
    struct scr_live *self = (struct scr_live *)desk_find(d, &scr_live_ops);
    if (!self)
        return;
    vt_feed(self->vt, bytes, len);
    if (vt_take_bell(self->vt))
        d->host->bell(d->host_arg);
    flush(self);
}

void scr_live_text(const struct desk *d, struct buf *out)
{
    struct scr_live *self = (struct scr_live *)desk_find(d, &scr_live_ops);
    if (self)
        vt_text(self->vt, out);
}

void scr_live_on_end(struct desk *d, int status, const struct err *err)
{
    struct scr_live *self = (struct scr_live *)desk_find(d, &scr_live_ops);
    if (!self || self->has_ended)
        return;
    self->has_ended = true;
    if (err)
        fixed_setf(self->note, sizeof(self->note), "%s.", err->text);
    else
        fixed_setf(self->note, sizeof(self->note), "It ended with status %d.", status);
}
