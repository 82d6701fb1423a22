/*
 * view: a long text in a window: scrolling, wrapping, following its end. Pure.
 *
 * The text is kept as it came, with the places of its lines; only the lines in sight are sanitised
 * and drawn, so the length of the text does not matter. A wrapping view needs the width of every
 * line: its text must be sanitised by the caller (view_set on the output of argtext, for example),
 * and a wrapped line goes on behind a '+'.
 */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include "ui/canvas.h"
#include "ui/key.h"

struct view_row {
    size_t start, len;
    bool is_continued; /* not the beginning of its line */
};

/* The style of a line, by its content (colours of a diff); NULL in a view: plain. */
typedef struct style (*view_style_fn)(const char *line, size_t len);

struct view {
    struct buf text;
    struct view_row *rows;
    size_t n_rows, cap_rows;
    size_t top; /* the first row in sight */
    int left;   /* columns scrolled to the right; not with wraps */
    bool wraps;
    bool follows; /* stick to the end while the end is in sight */
    view_style_fn style;
    int width;  /* for which the rows were made */
    int height; /* of the last drawing, for page keys */
};

#define VIEW_INIT        \
    {                    \
        .text = BUF_INIT \
    }
void view_release(struct view *v);
/* Replace the text; the place is kept where it still exists. */
void view_set(struct view *v, const char *text, size_t len);
/* Add at the end; above max_bytes whole lines are dropped at the front. */
void view_append(struct view *v, const char *text, size_t len, size_t max_bytes);
void view_clear(struct view *v);
/* Give the window its size: makes the rows of a wrapping view and keeps `top` in range. Call it
 * before view_draw. */
void view_layout(struct view *v, int rows, int cols);
/* Draw into a window of the size of the last layout. */
void view_draw(const struct view *v, struct canvas *cv, int row, int col, int rows, int cols);
/* "12-30 of 412", or "" when all is in sight. */
void view_place(struct buf *out, const struct view *v);
/* True when the key was one of scrolling. */
bool view_key(struct view *v, const struct key *key);

#endif
