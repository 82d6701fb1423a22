/*
 * share: ignored files and folders of the person's checkout that an attempt sees read-only, at
 * their own place: the worktree has a link to them (worktree.share: node_modules, build caches).
 *
 * Only what is there and git ignores; no link leads to it. The links are ignored in the attempt and
 * on record as seeded, so that no snapshot holds one. Whoever makes the box shows what is on the
 * record.
 */
#ifndef WORKTREE_SHARE_H
#define WORKTREE_SHARE_H

#include "worktree/worktree.h"

struct share {
    const struct wt_repo *repo;
    const struct strv *paths;   /* below the top of the checkout; NULL: none */
    const char *dir;            /* the attempt's folder */
    const char *into;           /* upper layer or tree */
    const char *gitdir;         /* the attempt's own */
    const char *lower, *lower2; /* the commit's files, NULL: none */
};

/* *linked: the links that were made, each ended by a NUL, for include_seed's record. ERR_USAGE: a
 * path that leaves the checkout, or leads through a link. */
bool share_seed(struct buf *linked, const struct share *s, struct err *err) WARN_UNUSED;

#endif
