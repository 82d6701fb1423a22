/*
 * lexpath: paths compared as text, without looking at any file system.
 *
 * The gate judges what an agent says it will touch; whether a symlink leads elsewhere is the box's
 * business, which is the boundary. Pure.
 */
#ifndef GATE_LEXPATH_H
#define GATE_LEXPATH_H

#include "runner/base/buf.h"

/* Set *out to the absolute form of path: relative ones below base, `~` and `~/x` below home, `.`,
 * `..` and doubled slashes resolved, `..` at the root stays there. base and home are absolute. */
void lexpath_resolve(struct buf *out, const char *base, const char *home, const char *path);
/* True when path is dir or below it. Both absolute and resolved; dir "" holds nothing. */
bool lexpath_is_below(const char *path, const char *dir);
/* The same where upper and lower case of ASCII are one. */
bool lexpath_is_below_any_case(const char *path, const char *dir);
/* The part of path behind dir and its slash ("" for dir itself). path is below dir. */
const char *lexpath_below(const char *path, const char *dir);
/* Find pattern, one or more components joined by '/', as whole consecutive components of path. A
 * trailing '*' in the pattern stands for the rest of its last component. Upper and lower case of
 * ASCII are one. */
bool lexpath_has(const char *path, const char *pattern);

#endif
