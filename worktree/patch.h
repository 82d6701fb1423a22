/*
 * patch: the text of a diff as files and hunks, as views into it. Pure.
 *
 * Reads what wt_diff gives (renames found, binary files as patches or as a sentence). A file's
 * number of hunks and the numbers of lines are what the text claims and its lines bear out.
 */
#ifndef WORKTREE_PATCH_H
#define WORKTREE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include "runner/base/err.h"

struct patch_hunk {
    const char *at; /* its "@@" line */
    size_t len;
    long old_start, old_lines, new_start, new_lines;
};

struct patch_file {
    const char *at;              /* its "diff --git" line */
    size_t len, head_len;        /* all of it; what comes before the first hunk */
    char *path, *old_path;       /* equal but for a rename or a copy */
    char status;                 /* A, D, M, R, C, or T when only the mode changed, or the type */
    unsigned old_mode, new_mode; /* 0: not told (the same on both sides), or absent */
    bool is_binary;
    bool is_retyped; /* a file, a link or a submodule became another of them: the text removes the
                        one and adds the other, and only both together make sense */
    struct patch_hunk *v;
    size_t n;
};

struct patch {
    struct patch_file *v;
    size_t n;
};
#define PATCH_INIT \
    {              \
        .v = NULL  \
    }
#define AUTO_PATCH __attribute__((cleanup(patch_release)))
void patch_release(struct patch *p);
/* text is borrowed by the result. ERR_FORMAT when it is no diff of git's. */
bool patch_parse(struct patch *ret, const char *text, size_t len, struct err *err) WARN_UNUSED;
/* The file of that name, new or old; NULL when there is none. */
const struct patch_file *patch_find(const struct patch *p, const char *path);

#endif
