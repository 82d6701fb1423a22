/*
 * argtext: the exact arguments of a call as lines for a person. Pure.
 *
 * Exact means: two different values never give the same lines. A string follows a bar, a line break
 * inside it begins a new line with a bar of its own, and everything else about it is escaped
 * reversibly (TEXT_EXACT); any other value follows an equals sign as JSON.
 *
 *     command | git add -A
 *             | git commit -m x
 *     timeout = 5000
 */
#ifndef UI_ARGTEXT_H
#define UI_ARGTEXT_H

#include <jansson.h>
#include "runner/base/buf.h"

/* For a line whose place is not known: about what a wide screen holds. */
enum { ARGTEXT_COLUMNS = 160 };

/* Append the lines of the arguments, sanitised, each ended by a newline. */
void argtext(struct buf *out, const json_t *args);
/* Append one line of at most so many columns that says what a call would do (runner/base/gist.h; of
 * source broker, runner/base/broker_line.h).
 * Paths below the worktree ("": not known) are relative to it. Sanitised,
 * and where it is not complete it says so in its middle: its end is always seen (text_add_brief).
 */
void argtext_brief(struct buf *out, const char *source, const json_t *args, const char *worktree,
                   int columns);

#endif
