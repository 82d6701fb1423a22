/*
 * shapes: what a branch does to folders. Two branches that change no file in common can still meet
 * conflicts: one moves a folder and the other adds a file to it, or one has a file where the other
 * has a folder. Pure.
 */
#ifndef WORKTREE_SHAPES_H
#define WORKTREE_SHAPES_H

#include "runner/base/strv.h"
#include "worktree/hunks.h"

struct shape {
    bool may_rename;   /* it removes files and adds some */
    struct strv left;  /* sorted: folders that it takes files from, and puts and keeps none in */
    struct strv above; /* sorted: folders above the files that it adds */
};
#define SHAPE_INIT                            \
    {                                         \
        .left = STRV_INIT, .above = STRV_INIT \
    }
void shape_release(struct shape *s);
void shape_of(struct shape *ret, const struct hunk_set *set);
/* Whether only a merge can tell. */
bool shapes_meet(const struct shape *a, const struct hunk_set *a_set, const struct shape *b,
                 const struct hunk_set *b_set);

#endif
