/*
 * vt: the screen of a program in a box, as libvterm keeps it: bytes in, cells out. The only file
 * that includes vterm.h, and libvterm sees only what vtfilter lets through.
 *
 * Nothing of the box's bytes gets through but printable cells: titles, clipboard and every other
 * string sequence are ignored, and a code point that the sanitiser would escape shows as U+FFFD,
 * but a space of another kind (no-break, of a CJK width) as blank cells, which is all that it is
 * there. What a terminal answers (cursor reports and the like) comes out only when is_answering:
 * several may show one program, and what is replayed was answered long ago.
 */
#ifndef UI_VT_H
#define UI_VT_H

#include <stddef.h>
#include "ui/canvas.h"
#include "ui/key.h"

enum {
    VT_HISTORY_LINES = 2000,
    VT_MIN_ROWS = 2,
    VT_MIN_COLS = 8,
    VT_MAX_ROWS = 1000,
    VT_MAX_COLS = 1000
};

struct vt;
/* Bytes for the program's input. */
typedef void (*vt_out_fn)(void *arg, const char *bytes, size_t len);

struct vt *vt_new(int rows, int cols, bool is_answering, vt_out_fn out, void *arg);
void vt_free(struct vt *vt);
void vt_feed(struct vt *vt, const void *bytes, size_t len);
/* Sizes are clamped to VT_MIN and VT_MAX. */
void vt_resize(struct vt *vt, int rows, int cols);
/* Draw the screen, or what is `back` lines up in the history, into a window, with the cursor. */
void vt_draw(const struct vt *vt, struct canvas *cv, int row, int col, int rows, int cols,
             size_t back);
size_t vt_history(const struct vt *vt); /* lines that can be scrolled back */
/* Append all that is known of the output as text: the history, then the screen to its last line
 * that is not blank; without attributes and trailing blanks. */
void vt_text(const struct vt *vt, struct buf *out);
/* True once after the program has rung the bell. */
bool vt_take_bell(struct vt *vt);
/* Send a cursor key as the program asked for it (DECCKM), or a mark of a paste if it wants them.
 * False: not such a key. The bytes come to `out`. */
bool vt_key(struct vt *vt, enum key_code code);

#endif
