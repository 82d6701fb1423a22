#include "ui/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"

static const struct cell blank = {.text = " ", .width = 1, .style = {0, COLOR_NONE, COLOR_NONE}};

struct style style_attr(unsigned attr)
{
    return style_color(attr, COLOR_NONE);
}

struct style style_color(unsigned attr, int fg)
{
    return (struct style){.attr = (uint8_t)attr, .fg = (int16_t)fg, .bg = COLOR_NONE};
}

void canvas_release(struct canvas *cv)
{
    free(cv->cells);
    *cv = (struct canvas)CANVAS_INIT;
}

void canvas_reset(struct canvas *cv, int rows, int cols)
{
    size_t count = (size_t)rows * (size_t)cols;
    if (rows != cv->rows || cols != cv->cols)
        cv->cells = xreallocarray(cv->cells, count + 1, sizeof(*cv->cells));
    cv->rows = rows;
    cv->cols = cols;
    cv->cursor_visible = false;
    for (size_t i = 0; i < count; i++)
        cv->cells[i] = blank;
}

static struct cell *cell_at(struct canvas *cv, int row, int col)
{
    if (row < 0 || col < 0 || row >= cv->rows || col >= cv->cols)
        return NULL;
    return &cv->cells[(size_t)row * (size_t)cv->cols + (size_t)col];
}

const struct cell *canvas_cell(const struct canvas *cv, int row, int col)
{
    if (row < 0 || col < 0 || row >= cv->rows || col >= cv->cols)
        return NULL;
    return &cv->cells[(size_t)row * (size_t)cv->cols + (size_t)col];
}

static bool style_equal(struct style a, struct style b)
{
    return a.attr == b.attr && a.fg == b.fg && a.bg == b.bg;
}

bool cell_equal(const struct cell *a, const struct cell *b)
{
    return a->width == b->width && style_equal(a->style, b->style) && strcmp(a->text, b->text) == 0;
}

/* Blank what would be left of a wide cell when (row, col) is overwritten. */
static void break_wide(struct canvas *cv, int row, int col)
{
    struct cell *at = cell_at(cv, row, col), *left = cell_at(cv, row, col - 1);
    struct cell *right = cell_at(cv, row, col + 1);
    if (at && at->width == 0 && left && left->width == 2)
        *left = blank;
    if (at && at->width == 2 && right)
        *right = blank;
}

void canvas_put_cell(struct canvas *cv, int row, int col, const struct cell *cell)
{
    struct cell *at = cell_at(cv, row, col);
    if (!at || cell->width == 0)
        return;
    break_wide(cv, row, col);
    if (cell->width == 1) {
        *at = *cell;
        return;
    }
    struct cell *right = cell_at(cv, row, col + 1);
    if (!right) {
        *at = blank;
        return;
    }
    break_wide(cv, row, col + 1);
    *at = *cell;
    *right = (struct cell){.text = "", .width = 0, .style = cell->style};
}

/* Bytes of the code point at s; sanitised text is valid UTF-8. */
static size_t code_len(const char *s, size_t left)
{
    unsigned char first = (unsigned char)*s;
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return n < left ? n : left;
}

/* Add a combining code point to a cell, or drop it when the cell is full: terminals draw a few at
 * best. */
static void add_mark(struct cell *cell, const char *mark, size_t len)
{
    size_t used = strlen(cell->text);
    if (used + len < sizeof(cell->text)) {
        memcpy(cell->text + used, mark, len);
        cell->text[used + len] = '\0';
    }
}

static int put_clean(struct canvas *cv, int row, int col, int max_cols, struct style style,
                     const char *text, size_t len)
{
    int used = 0, last = -1;
    for (size_t at = 0, n; at < len; at += n) {
        n = code_len(text + at, len - at);
        int width = n == 1 ? 1 : text_width(text + at, n);
        struct cell *before = last >= 0 ? cell_at(cv, row, last) : NULL;
        if (width <= 0) {
            if (before)
                add_mark(before, text + at, n);
            continue;
        }
        if (used + width > max_cols)
            break;
        struct cell cell = {.width = (uint8_t)(width > 1 ? 2 : 1), .style = style};
        memcpy(cell.text, text + at, n);
        canvas_put_cell(cv, row, col + used, &cell);
        last = col + used;
        used += width;
    }
    return used;
}

static bool is_printable_ascii(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

int canvas_text(struct canvas *cv, int row, int col, int max_cols, struct style style,
                const char *text, size_t len)
{
    if (row < 0 || row >= cv->rows || max_cols <= 0)
        return 0;
    if (max_cols > cv->cols - col)
        max_cols = cv->cols - col;
    if (is_printable_ascii(text, len))
        return put_clean(cv, row, col, max_cols, style, text, len);
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, text, len, 0);
    return put_clean(cv, row, col, max_cols, style, clean.ptr, clean.len);
}

/* More bytes of a text than this cannot fit: four columns' worth of bytes and marks for each
 * column. */
static size_t clip_bound(const char *text, int max_cols)
{
    return strnlen(text, (size_t)max_cols * CELL_TEXT_SIZE + 64);
}

int canvas_clip(struct canvas *cv, int row, int col, int max_cols, struct style style,
                const char *text)
{
    if (max_cols > cv->cols - col)
        max_cols = cv->cols - col;
    if (max_cols <= 0)
        return 0;
    AUTO_BUF struct buf clean = BUF_INIT, clipped = BUF_INIT;
    text_sanitise(&clean, text, clip_bound(text, max_cols), 0);
    text_add_clipped(&clipped, clean.ptr, max_cols);
    return put_clean(cv, row, col, max_cols, style, clipped.ptr, clipped.len);
}

void canvas_restyle(struct canvas *cv, int row, int col, int cols, struct style style)
{
    for (int i = 0; i < cols; i++) {
        struct cell *cell = cell_at(cv, row, col + i);
        if (cell)
            cell->style = style;
    }
}

void canvas_cursor(struct canvas *cv, int row, int col)
{
    cv->cursor_visible = row >= 0 && col >= 0 && row < cv->rows && col < cv->cols;
    cv->cursor_row = row;
    cv->cursor_col = col;
}

static void dump_style(struct buf *out, struct style style)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{CELL_BOLD, " bold"},
                 {CELL_REVERSE, " reverse"},
                 {CELL_UNDERLINE, " underline"},
                 {CELL_DIM, " dim"},
                 {CELL_ITALIC, " italic"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (style.attr & names[i].bit)
            buf_adds(out, names[i].name);
    if (style.fg != COLOR_NONE)
        buf_addf(out, " fg%d", style.fg);
    if (style.bg != COLOR_NONE)
        buf_addf(out, " bg%d", style.bg);
}

static void dump_row_styles(struct buf *out, const struct canvas *cv, int row)
{
    const struct cell *line = &cv->cells[(size_t)row * (size_t)cv->cols];
    for (int col = 0, end; col < cv->cols; col = end) {
        struct style style = line[col].style;
        for (end = col + 1; end < cv->cols && style_equal(line[end].style, style);)
            end++;
        if (style_equal(style, STYLE_PLAIN))
            continue;
        buf_addf(out, "%d %d+%d", row, col, end - col);
        dump_style(out, style);
        buf_addch(out, '\n');
    }
}

void canvas_dump(struct buf *out, const struct canvas *cv)
{
    for (int row = 0; row < cv->rows; row++) {
        size_t line = out->len;
        for (int col = 0; col < cv->cols; col++)
            buf_adds(out, cv->cells[(size_t)row * (size_t)cv->cols + (size_t)col].text);
        while (out->len > line && out->ptr[out->len - 1] == ' ')
            out->len--;
        buf_addch(out, '\n');
    }
    buf_adds(out, "--\n");
    for (int row = 0; row < cv->rows; row++)
        dump_row_styles(out, cv, row);
    if (cv->cursor_visible)
        buf_addf(out, "cursor %d %d\n", cv->cursor_row, cv->cursor_col);
}
