/*
 * include: ignored files of the person's checkout that an attempt gets a copy of: what
 * worktree.include names
 * (.env files, local settings), and the generated part of a hooks folder inside the tree (husky's).
 *
 * Only files that git ignores, so that nothing tracked is ever replaced; only regular files and
 * symlinks that stay in the tree; no symlink is followed on either side. A file that looks like a
 * secret only when a pattern means it. What was copied is on record, for a snapshot never holds it.
 */
#ifndef WORKTREE_INCLUDE_H
#define WORKTREE_INCLUDE_H

#include "worktree/worktree.h"

/* In the attempt's folder: paths, each ended by a NUL. */
#define INCLUDE_RECORD "seeded"
#define INCLUDE_HELD_BACK "unseeded" /* those that look like secrets */

struct include {
    const struct wt_repo *repo;
    const struct strv *patterns; /* NULL: none */
    const char *hooks_in_tree;   /* "" for none */
    const char *dir;             /* the attempt's folder */
    const char *into;            /* upper layer or tree */
    const char *lower, *lower2;  /* NULL: none */
    const struct buf *linked;    /* links that were made (share.h), for the record */
};

/* Go down to the folder of path, making what is missing when make is set; no link is followed. -1
 * when something else than a folder is in the way, with errno ENOENT when it is only missing. */
int include_walk_to_parent(int root, const char *path, bool make);
/* True when a commit's files (-1: none) have nothing at path and only folders above it. */
bool include_is_free_below(int lower, const char *path);
bool include_seed(const struct include *inc, struct err *err) WARN_UNUSED;
/* A sentence on what was held back, by the attempt's folder; allocated, NULL: nothing. */
char *include_note(const char *dir);

#endif
