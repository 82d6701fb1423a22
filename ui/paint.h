/*
 * paint: what the screens draw with: the frame, lists, times. Pure.
 */
#ifndef UI_PAINT_H
#define UI_PAINT_H

#include "ui/desk.h"

enum { PAINT_MIN_ROWS = 24, PAINT_MIN_COLS = 80 };

/* Header, status and hints around the body. */
void paint_frame(const struct desk *d, struct paint *p);
/* The sentence that is shown when the terminal is too small. */
void paint_too_small(struct paint *p);

/* One clipped line in the body; row counts from the body's top. */
void paint_line(struct paint *p, int row, int col, int cols, struct style style, const char *text);
/* A full-width bar with a title on the left and a note on the right. */
void paint_bar(struct paint *p, int row, const char *title, const char *note);
/* Append the coarse time since at_ms ("12s", "5m", "2h05m", "3d04h") and note when it changes. */
void paint_since(struct buf *out, struct paint *p, int64_t at_ms);
/* ", expires in 5m", ", expires now", or nothing when there is no deadline (0). */
void paint_deadline(struct buf *out, struct paint *p, int64_t at_ms);
/* The same for a span that stands still. */
void paint_span(struct buf *out, int64_t span_ms);
/* The first line in sight of a list, so that the selected one is in sight. */
size_t paint_list_top(size_t top, size_t selected, size_t n, int rows);
/* The folder that a call is asked in: relative to the attempt's worktree where it lies in it. */
void paint_folder(struct buf *out, const struct model_call *call);
/* Why a call is asked, in one line: "floor: git push would publish something ...". */
void paint_because(struct buf *out, const struct model_call *call);
/* "claude" or "claude > reviewer (depth 2)": who asks. */
void paint_asker(struct buf *out, const struct model_call *call);
/* A commit's short name. */
void paint_oid(struct buf *out, const char *oid);

#endif
