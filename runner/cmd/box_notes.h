/*
 * box_notes: what `headgate box` tells a person beside the command's own output, one line each on
 * standard error.
 */
#ifndef CMD_BOX_NOTES_H
#define CMD_BOX_NOTES_H

#include "runner/attempt/account.h"
#include "sandbox/box.h"

/* Started by root, the box is another account, and a folder of root's own is read-only for it. */
void box_note_unwritable(const struct box_spec *spec, const struct account *account);
/* The current folder is a linked worktree or a submodule whose git folder no bind shows: git does
 * not work inside. */
void box_note_linked(const struct box_spec *spec);
/* What was absent could be made, and no list to review follows a box alone. writable: folders of
 * the host; known: what was there, or was named. */
void box_note_made(const struct strv *writable, const struct strv *known);

#endif
