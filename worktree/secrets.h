/*
 * secrets: which ignored files look as if they held a secret, by their names, and whether a pattern
 * means such a file: `.env`, `config/.env*` and `*.pem` do, `*`, `config/` and `*.json` do not.
 * What lies in a folder of installed packages or built things is none. Pure.
 */
#ifndef WORKTREE_SECRETS_H
#define WORKTREE_SECRETS_H

#include <stdbool.h>

bool secrets_looks_like(const char *path);
/* pattern: a line in gitignore syntax. */
bool secrets_is_meant(const char *pattern);

#endif
