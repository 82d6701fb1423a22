/*
 * gitindex: the stat data in a freshly checked-out index file, set without reading any content.
 *
 * git decides by stat data whether a file has changed, and trusts an entry only when the file is
 * older than the index ("racy git" in git's own documentation). A checkout that has just been made
 * is therefore back-dated by two seconds and its index is given the stat data that results, so that
 * a copy of the index is valid at once in every worktree that shows these files, and a change made
 * in the very first moment is seen. The same pass follows a change of owner, which would otherwise
 * make git read every file again.
 */
#ifndef WORKTREE_GITINDEX_H
#define WORKTREE_GITINDEX_H

#include "runner/base/buf.h"

/* Back-date every file of an index in format version 2 or 3 below the folder tree and rewrite the
 * index file; what a sparse checkout left out stays out. object_format: "sha1" or "sha256". The
 * paths, each ended by a NUL, are appended to ret_paths unless NULL. */
bool gitindex_stamp(const char *index_file, const char *tree, const char *object_format,
                    struct buf *ret_paths, struct err *err) WARN_UNUSED;

/* The paths of all files that the checkout holds (no submodules, nothing that it left out), each
 * ended by a NUL. */
bool gitindex_paths(struct buf *ret_paths, const char *index_file, const char *object_format,
                    struct err *err) WARN_UNUSED;

/* Those of its submodules. */
bool gitindex_submodules(struct buf *ret_paths, const char *index_file, const char *object_format,
                         struct err *err) WARN_UNUSED;

/* The same as gitindex_stamp for the entries alone that have no stat data yet; the others stay. */
bool gitindex_stamp_new(const char *index_file, const char *tree, const char *object_format,
                        struct buf *ret_paths, struct err *err) WARN_UNUSED;

/* The stat data of a copy of the files, whose times are the old ones: no file is touched. */
bool gitindex_restat(const char *index_file, const char *tree, const char *object_format,
                     struct err *err) WARN_UNUSED;

/* Note beside the index file where its entries end and the state of a digest there, for
 * gitindex_give, which then need not go through them again. Nothing for sha256. */
bool gitindex_note_digest(const char *index_file, const char *object_format,
                          struct err *err) WARN_UNUSED;

struct gitindex_gift {
    const char *tree;  /* where the worktree appears */
    const char *token; /* what core.fsmonitor is asked with: no file has changed as of it */
    const char *object_format;
};

/* Write to the file `to` the index of a base as that of one worktree: all entries known unchanged,
 * and what is known of untracked files (basetree.c) taken as that of this place. */
bool gitindex_give(const char *to, const char *from, const struct gitindex_gift *gift,
                   struct err *err) WARN_UNUSED;

#endif
