/*
 * edit: one line of typed text, UTF-8. Pure.
 */
#ifndef UI_EDIT_H
#define UI_EDIT_H

#include "ui/canvas.h"
#include "ui/key.h"

struct edit {
    struct buf text;
    size_t at; /* byte offset of the cursor, at a character's start */
    size_t max_bytes;
};

void edit_init(struct edit *e, size_t max_bytes);
void edit_release(struct edit *e);
/* True when the key was one of editing. Line breaks in a paste become spaces. */
bool edit_key(struct edit *e, const struct key *key);
/* Draw the part around the cursor, and the cursor. */
void edit_draw(const struct edit *e, struct canvas *cv, int row, int col, int cols);

#endif
