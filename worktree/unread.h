/*
 * unread: what of an attempt's files no harvest reads. Reading a pipe waits for ever, a device is
 * somebody else's, and a sparse file costs its maker nothing and whoever reads it hours. A folder
 * that its owner may not enter is closed to git as well, and a repository inside the worktree is
 * one commit to the repository around it.
 *
 * Looked for from the host, which follows no link and opens nothing but folders.
 */
#ifndef WORKTREE_UNREAD_H
#define WORKTREE_UNREAD_H

#include "runner/base/strv.h"
#include "worktree/worktree.h"

struct unread {
    struct strv special; /* pipes, sockets, devices: paths below the top of the tree */
    struct strv large;   /* too large alone, or together with those before */
    struct strv closed;  /* folders that cannot be entered, or are too deep to be walked */
    struct strv nested;  /* outermost folders with a .git, but for the attempt's submodules */
};
#define UNREAD_INIT                                                                        \
    {                                                                                      \
        .special = STRV_INIT, .large = STRV_INIT, .closed = STRV_INIT, .nested = STRV_INIT \
    }
#define AUTO_UNREAD __attribute__((cleanup(unread_release)))
void unread_release(struct unread *u);

/* What the agent wrote in its tree: an overlay's upper, or all the files. Its submodules are looked
 * through as attempts of their own. ERR_LIMIT: more files than anybody makes. */
bool unread_find(struct unread *ret, const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* ERR_FAILED: the private git folder holds such a thing where git reads, with its path. */
bool unread_check_gitdir(const struct wt_attempt *a, struct err *err) WARN_UNUSED;

#endif
