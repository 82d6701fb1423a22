/*
 * program: make an agent's program visible in its box, wherever the person installed it.
 */
#ifndef AGENTS_PROGRAM_H
#define AGENTS_PROGRAM_H

#include "sandbox/box.h"

/* Absolute path of `program` in PATH of env, symlinks kept; allocated, NULL when there is none. A
 * program that holds a slash is taken as a path. */
char *program_find(const char *program, const struct strv *env);
/* It is no script. */
bool program_is_native(const char *path);
/* Resolve the symlinks of `path` and show the file read-only at its real path: alone, or the script
 * of a Node package with the package's folder. Allocated real path, or NULL with err. */
char *program_show(struct box_spec *spec, const char *path, struct err *err);

/* Show headgate-drive beside headgate-hook (whose path inside is given). Its allocated path inside,
 * or NULL with err. */
char *program_show_driver(struct box_spec *spec, const char *hook_inside, struct err *err);

#endif
