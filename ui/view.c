#include "ui/view.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { STEP_COLUMNS = 8, MAX_LEFT = 4096, LINE_DRAW_BYTES = 64 * 1024, WRAP_INDENT = 2 };

void view_release(struct view *v)
{
    buf_release(&v->text);
    free(v->rows);
    v->rows = NULL;
    v->n_rows = v->cap_rows = 0;
}

static void add_row(struct view *v, size_t start, size_t len, bool is_continued)
{
    if (v->n_rows == v->cap_rows) {
        v->cap_rows = v->cap_rows ? v->cap_rows * 2 : 64;
        v->rows = xreallocarray(v->rows, v->cap_rows, sizeof(*v->rows));
    }
    v->rows[v->n_rows++] =
        (struct view_row){.start = start, .len = len, .is_continued = is_continued};
}

/* The rows of one line of a wrapping view. */
static void wrap_line(struct view *v, size_t start, size_t len)
{
    size_t at = 0;
    do {
        int room = v->width - (at > 0 ? WRAP_INDENT : 0);
        /* What cannot take more columns than this many bytes need not be looked at: a long line
         * stays linear. */
        size_t look = len - at, bound = (size_t)room * CELL_TEXT_SIZE + 64;
        size_t n = text_fit(v->text.ptr + start + at, look < bound ? look : bound, room);
        if (n == 0)
            n = len - at; /* narrower than one character: the canvas cuts it */
        add_row(v, start + at, n, at > 0);
        at += n;
    } while (at < len);
}

static void make_rows(struct view *v, size_t from)
{
    for (size_t at = from; at < v->text.len;) {
        const char *end = memchr(v->text.ptr + at, '\n', v->text.len - at);
        size_t len = end ? (size_t)(end - (v->text.ptr + at)) : v->text.len - at;
        if (v->wraps && v->width > WRAP_INDENT)
            wrap_line(v, at, len);
        else
            add_row(v, at, len, false);
        at += len + 1;
    }
}

static size_t last_top(const struct view *v)
{
    size_t height = v->height > 0 ? (size_t)v->height : 1;
    return v->n_rows > height ? v->n_rows - height : 0;
}

void view_set(struct view *v, const char *text, size_t len)
{
    buf_clear(&v->text);
    buf_add(&v->text, text, len);
    v->n_rows = 0;
    make_rows(v, 0);
}

void view_clear(struct view *v)
{
    view_set(v, "", 0);
    v->top = 0;
    v->left = 0;
}

/* Drop whole lines at the front until the text fits; the window stays on what it showed. */
static void drop_front(struct view *v, size_t max_bytes)
{
    size_t cut = v->text.len - max_bytes, dropped = 0;
    while (dropped < v->n_rows && v->rows[dropped].start < cut)
        dropped++;
    size_t bytes = dropped < v->n_rows ? v->rows[dropped].start : v->text.len;
    buf_consume(&v->text, bytes);
    v->top = v->top > dropped ? v->top - dropped : 0;
    v->n_rows = 0;
    make_rows(v, 0);
}

void view_append(struct view *v, const char *text, size_t len, size_t max_bytes)
{
    bool at_end = v->top >= last_top(v);
    /* The last line may go on: its rows are made again from its beginning. */
    size_t from = v->text.len;
    if (v->text.len > 0 && v->text.ptr[v->text.len - 1] != '\n') {
        while (v->n_rows > 0 && v->rows[v->n_rows - 1].is_continued)
            v->n_rows--;
        from = v->n_rows > 0 ? v->rows[--v->n_rows].start : 0;
    }
    buf_add(&v->text, text, len);
    if (v->text.len > max_bytes + max_bytes / 4)
        drop_front(v, max_bytes);
    else
        make_rows(v, from);
    if (v->follows && at_end)
        v->top = last_top(v);
}

void view_layout(struct view *v, int rows, int cols)
{
    bool at_end = v->follows && v->top >= last_top(v);
    v->height = rows;
    if (v->wraps && v->width != cols) {
        size_t start = v->top < v->n_rows ? v->rows[v->top].start : 0;
        v->width = cols;
        v->n_rows = 0;
        make_rows(v, 0);
        for (v->top = 0; v->top + 1 < v->n_rows && v->rows[v->top + 1].start <= start;)
            v->top++;
    }
    v->width = cols;
    if (at_end || v->top > last_top(v))
        v->top = last_top(v);
}

static void draw_row(const struct view *v, struct canvas *cv, int row, int col, int cols,
                     const struct view_row *r)
{
    const char *line = v->text.ptr + r->start;
    struct style style = v->style ? v->style(line, r->len) : STYLE_PLAIN;
    int indent = r->is_continued ? WRAP_INDENT : 0;
    if (r->is_continued)
        canvas_text(cv, row, col, 1, style_attr(CELL_DIM), "+", 1);
    if (v->wraps) {
        canvas_text(cv, row, col + indent, cols - indent, style, line, r->len);
        return;
    }
    AUTO_BUF struct buf clean = BUF_INIT;
    size_t len = r->len < LINE_DRAW_BYTES ? r->len : LINE_DRAW_BYTES;
    if (len > 0 && line[len - 1] == '\r')
        len--; /* a pty ends its lines with CR LF */
    text_sanitise(&clean, line, len, TEXT_KEEP_TAB);
    size_t skip = text_fit(clean.ptr, clean.len, v->left);
    canvas_clip(cv, row, col, cols, style, clean.ptr + skip);
}

void view_draw(const struct view *v, struct canvas *cv, int row, int col, int rows, int cols)
{
    for (int i = 0; i < rows && v->top + (size_t)i < v->n_rows; i++)
        draw_row(v, cv, row + i, col, cols, &v->rows[v->top + (size_t)i]);
}

void view_place(struct buf *out, const struct view *v)
{
    if (last_top(v) == 0 && v->top == 0)
        return;
    size_t end = v->top + (size_t)v->height;
    buf_addf(out, "%zu-%zu of %zu", v->top + 1, end < v->n_rows ? end : v->n_rows, v->n_rows);
}

static void scroll(struct view *v, int64_t by)
{
    int64_t to = (int64_t)v->top + by, last = (int64_t)last_top(v);
    v->top = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static void shift(struct view *v, int by)
{
    int to = v->left + by;
    v->left = to < 0 ? 0 : to > MAX_LEFT ? MAX_LEFT : to;
}

bool view_key(struct view *v, const struct key *key)
{
    int page = v->height > 1 ? v->height - 1 : 1;
    bool is_char = key->code == K_CHAR;
    if (key->code == K_UP || (is_char && key->ch == 'k'))
        scroll(v, -1);
    else if (key->code == K_DOWN || (is_char && key->ch == 'j'))
        scroll(v, 1);
    else if (key->code == K_PAGE_UP || (is_char && key->ch == 'b'))
        scroll(v, -page);
    else if (key->code == K_PAGE_DOWN || (is_char && (key->ch == ' ' || key->ch == 'f')))
        scroll(v, page);
    else if (key->code == K_HOME)
        v->top = 0;
    else if (key->code == K_END)
        v->top = last_top(v);
    else if (key->code == K_LEFT && !v->wraps)
        shift(v, -STEP_COLUMNS);
    else if (key->code == K_RIGHT && !v->wraps)
        shift(v, STEP_COLUMNS);
    else
        return false;
    return true;
}
