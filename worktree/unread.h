/*
 * unread: what of an attempt's files no harvest reads. Reading a pipe waits for ever, a device is
 * somebody else's, and a sparse file costs its maker nothing and whoever reads it hours.
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
};
#define UNREAD_INIT                              \
    {                                            \
        .special = STRV_INIT, .large = STRV_INIT \
    }
#define AUTO_UNREAD __attribute__((cleanup(unread_release)))
void unread_release(struct unread *u);

/* What the agent wrote in its tree: an overlay's upper, or all the files. Folders
 * that cannot be entered are passed over, as git does. ERR_LIMIT: more files than anybody makes. */
bool unread_find(struct unread *ret, const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* ERR_FAILED: the private git folder holds such a thing where git reads, with its path. */
bool unread_check_gitdir(const struct wt_attempt *a, struct err *err) WARN_UNUSED;

#endif
