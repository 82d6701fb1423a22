/*
 * basetree_delta: a base from another one.
 *
 * The base checkout of a commit that is near one that is there already holds only the files that
 * differ, and whiteouts for those that are gone; an overlay puts it over the whole one. One that is
 * to be cloned or taken snapshots of is a clone or a snapshot of the other, in which the files that
 * differ are written anew. Its index is the other's, with the entries that differ stamped anew. So
 * uncommitted work, or the next commit of a day, costs what it changes and not what the repository
 * holds.
 */
#ifndef WORKTREE_BASETREE_DELTA_H
#define WORKTREE_BASETREE_DELTA_H

#include "worktree/basetree.h"

#define BASETREE_UNDER "under" /* in a base: the key of the whole one that it lies over */

/* Fill `path` (which does not exist) from a whole base of the same settings and kind, whose key
 * ends in `suffix`. *ret_made false: there is none that is near enough, and path is as it was.
 * paths: of the index, each ended by a NUL. */
bool basetree_delta_make(bool *ret_made, const char *path, const char *suffix,
                         const struct basetree_want *want, struct buf *paths,
                         struct err *err) WARN_UNUSED;

#endif
