/* unquote: names as git writes them in a diff. */
#ifndef WORKTREE_UNQUOTE_H
#define WORKTREE_UNQUOTE_H

#include <stddef.h>

/* A plain name, or one in double quotes with C escapes. Allocated. */
char *unquote_path(const char *text, size_t len);

#endif
