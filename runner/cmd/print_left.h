/*
 * print_left: the checkouts that a merge left as they are, and the words that lead back.
 */
#ifndef CMD_PRINT_LEFT_H
#define CMD_PRINT_LEFT_H

#include "runner/base/jx.h"
#include "worktree/worktree.h"

/* One clause each, after a semicolon; nothing where there is none. */
void print_left(struct buf *out, const struct wt_merge *m, bool dry_run);
/* The same for programs: [{"path","there","doing","next"}], `next` a command for a POSIX shell. */
json_t *print_left_json(const struct wt_merge *m);

#endif
