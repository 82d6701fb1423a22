#include "runner/cmd/print_diff.h"

#include <string.h>

#include "runner/base/text.h"

/* Longer runs of lines, and lines that are new for the most part, are not compared word by word. */
enum { RUN_MAX = 50, MARKED_PERCENT_MAX = 70 };

struct line {
    const char *at; /* with its sign */
    size_t len;
};

/* Removed lines and those that follow in their place. */
struct run {
    struct line old_lines[RUN_MAX], new_lines[RUN_MAX];
    size_t n_old, n_new;
};

static enum print_style line_style(const char *line, size_t len, bool in_hunk)
{
    static const char *const heads[] = {"diff ",    "index ",   "--- ",    "+++ ",
                                        "new file", "deleted ", "rename ", "similarity ",
                                        "old mode", "new mode"};
    if (len >= 2 && memcmp(line, "@@", 2) == 0)
        return PRINT_CYAN;
    if (in_hunk && len && line[0] == '+')
        return PRINT_GREEN;
    if (in_hunk && len && line[0] == '-')
        return PRINT_RED;
    for (size_t i = 0; !in_hunk && i < sizeof(heads) / sizeof(heads[0]); i++)
        if (len >= strlen(heads[i]) && memcmp(line, heads[i], strlen(heads[i])) == 0)
            return PRINT_BOLD;
    return PRINT_PLAIN;
}

static void add_piece(struct buf *out, const struct print *p, enum print_style style,
                      const char *text, size_t len)
{
    AUTO_BUF struct buf clean = BUF_INIT;
    text_sanitise(&clean, text, len, TEXT_KEEP_TAB);
    print_clean(out, p, style, clean.ptr);
}

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* What both begin with and end with, in whole characters. */
static void find_common(const struct line *a, const struct line *b, size_t *ret_front,
                        size_t *ret_back)
{
    size_t shorter = a->len < b->len ? a->len : b->len, front = 1, back = 0;
    while (front < shorter && a->at[front] == b->at[front])
        front++;
    while (front > 1 && front < a->len && is_inside_character(a->at[front]))
        front--;
    while (back < shorter - front && a->at[a->len - 1 - back] == b->at[b->len - 1 - back])
        back++;
    while (back > 0 && is_inside_character(a->at[a->len - back]))
        back--;
    *ret_front = front;
    *ret_back = back;
}

static void add_marked(struct buf *out, const struct print *p, const struct line *line,
                       const struct line *other, bool is_old)
{
    size_t front, back;
    enum print_style plain = is_old ? PRINT_RED : PRINT_GREEN;
    find_common(line, other, &front, &back);
    size_t middle = line->len - front - back;
    size_t longer = line->len > other->len ? line->len : other->len;
    size_t changed = longer - front - back;
    if (!p->color || changed * 100 > longer * MARKED_PERCENT_MAX) {
        add_piece(out, p, plain, line->at, line->len);
    } else {
        add_piece(out, p, plain, line->at, front);
        add_piece(out, p, is_old ? PRINT_RED_MARK : PRINT_GREEN_MARK, line->at + front, middle);
        add_piece(out, p, plain, line->at + front + middle, back);
    }
    buf_addch(out, '\n');
}

/* One for one, the words that differ are marked; else the lines stand as they are. */
static void flush(struct buf *out, const struct print *p, struct run *run)
{
    bool is_paired = run->n_old == run->n_new;
    for (size_t i = 0; i < run->n_old; i++) {
        const struct line *other = is_paired ? &run->new_lines[i] : &run->old_lines[i];
        if (is_paired) {
            add_marked(out, p, &run->old_lines[i], other, true);
        } else {
            add_piece(out, p, PRINT_RED, other->at, other->len);
            buf_addch(out, '\n');
        }
    }
    for (size_t i = 0; i < run->n_new; i++) {
        const struct line *line = &run->new_lines[i];
        if (is_paired) {
            add_marked(out, p, line, &run->old_lines[i], false);
        } else {
            add_piece(out, p, PRINT_GREEN, line->at, line->len);
            buf_addch(out, '\n');
        }
    }
    run->n_old = run->n_new = 0;
}

/* True when the line is part of a run now. */
static bool collect(struct run *run, const struct line *line, enum print_style style)
{
    if (style == PRINT_RED && run->n_new == 0 && run->n_old < RUN_MAX) {
        run->old_lines[run->n_old++] = *line;
        return true;
    }
    if (style == PRINT_GREEN && run->n_old > 0 && run->n_new < RUN_MAX) {
        run->new_lines[run->n_new++] = *line;
        return true;
    }
    return false;
}

void print_diff(struct buf *out, const struct print *p, const char *patch, size_t len)
{
    const char *end = patch + len;
    struct run run = {.n_old = 0};
    int hunk = 0;
    while (patch < end) {
        const char *newline = memchr(patch, '\n', (size_t)(end - patch));
        struct line line = {patch, (size_t)((newline ? newline : end) - patch)};
        if (line.len >= 5 && memcmp(patch, "diff ", 5) == 0)
            hunk = 0;
        patch += line.len + 1;
        enum print_style style = line_style(line.at, line.len, hunk > 0);
        if (collect(&run, &line, style))
            continue;
        flush(out, p, &run);
        if (collect(&run, &line, style))
            continue;
        add_piece(out, p, style, line.at, line.len);
        if (style == PRINT_CYAN)
            buf_addf(out, " [%d]", ++hunk); /* for `take` */
        buf_addch(out, '\n');
    }
    flush(out, p, &run);
}
