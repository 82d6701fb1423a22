/*
 * canvas: a grid of cells that the screens draw into. It knows no terminal, so a drawing is a pure
 * function of its inputs and can be compared with a file.
 *
 * Invariants
 * 1. Every text that is put passes text_sanitise here, whoever calls: no screen can forget it.
 * Sanitising is idempotent, so a caller that needs another form (TEXT_EXACT, tabs as spaces) does
 * that first.
 * 2. A cell holds one printable code point with at most CELL_MARKS combining ones, or "" for the
 * right half of a wide cell.
 * 3. A wide cell is never cut in half: what overwrites one half blanks the other, and one that does
 * not fit is left out. Positions outside the grid are ignored.
 */
#ifndef UI_CANVAS_H
#define UI_CANVAS_H

#include <stdint.h>
#include "runner/base/buf.h"

enum cell_attr {
    CELL_BOLD = 1,
    CELL_REVERSE = 2,
    CELL_UNDERLINE = 4,
    CELL_DIM = 8,
    CELL_ITALIC = 16
};
enum { CELL_MARKS = 3, CELL_TEXT_SIZE = 4 * (1 + CELL_MARKS) + 1, COLOR_NONE = -1 };

struct style {
    uint8_t attr;
    int16_t fg, bg; /* 0..255 of xterm's palette, or COLOR_NONE */
};

struct cell {
    char text[CELL_TEXT_SIZE];
    uint8_t width; /* 1, 2, or 0 for the right half of a wide cell */
    struct style style;
};

struct canvas {
    int rows, cols;
    struct cell *cells;
    bool cursor_visible;
    int cursor_row, cursor_col;
};

#define CANVAS_INIT                         \
    {                                       \
        .rows = 0, .cols = 0, .cells = NULL \
    }
#define AUTO_CANVAS __attribute__((cleanup(canvas_release)))

/* The colours that Headgate itself uses; each carries an attribute too or says nothing that the
 * text does not. */
enum { INK_RED = 1, INK_GREEN = 2, INK_YELLOW = 3, INK_CYAN = 6 };
#define STYLE_PLAIN ((struct style){.attr = 0, .fg = COLOR_NONE, .bg = COLOR_NONE})
struct style style_attr(unsigned attr);
struct style style_color(unsigned attr, int fg);

void canvas_release(struct canvas *cv);
/* Set the size and blank every cell; the cursor is hidden. */
void canvas_reset(struct canvas *cv, int rows, int cols);
/* Borrowed; NULL outside the grid. */
const struct cell *canvas_cell(const struct canvas *cv, int row, int col);
bool cell_equal(const struct cell *a, const struct cell *b);
/* Put one cell as it is, for a terminal's own cells: the text must hold invariant 2. */
void canvas_put_cell(struct canvas *cv, int row, int col, const struct cell *cell);
/* Put text, cut to max_cols; returns the columns used. Cut text ends in an ellipsis with _clip, and
 * just ends with _text. */
int canvas_text(struct canvas *cv, int row, int col, int max_cols, struct style style,
                const char *text, size_t len);
int canvas_clip(struct canvas *cv, int row, int col, int max_cols, struct style style,
                const char *text);
/* Style all cells of a part of a row, keeping their text. */
void canvas_restyle(struct canvas *cv, int row, int col, int cols, struct style style);
void canvas_cursor(struct canvas *cv, int row, int col);
/* The whole drawing as text: the rows without trailing blanks, then "--" and one line for each
 * styled stretch
 * ("ROW COL+COLS STYLE"), then the cursor. For golden files. */
void canvas_dump(struct buf *out, const struct canvas *cv);

#endif
