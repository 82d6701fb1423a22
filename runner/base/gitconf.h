/*
 * gitconf: read git-config syntax (git-config(1), SYNTAX), as git 2.39 reads a file without its
 * includes.
 *
 * Starting git(1) for it cost three milliseconds of every command. That this reads the same is
 * tested against git itself, with texts made at random (tests/fuzz/gitconf_diff.c). White space
 * within a value stays as it is, which git does since 2.45; before, a tab became a space.
 */
#ifndef BASE_GITCONF_H
#define BASE_GITCONF_H

#include <stddef.h>
#include "runner/base/err.h"

/* One setting: the key with section and name in lower case, the subsection as it is written. value
 * NULL: the name stands alone, which means true. False ends the reading, with err filled. */
typedef bool (*gitconf_visit_fn)(const char *key, const char *value, void *arg, struct err *err);

/* ERR_FORMAT names the line that cannot be read; what stands before it has been visited. Bytes that
 * hold a NUL are not read. */
bool gitconf_each(const char *bytes, size_t len, gitconf_visit_fn visit, void *arg,
                  struct err *err) WARN_UNUSED;

#endif
