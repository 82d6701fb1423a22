/*
 * quarantine: objects from a box are checked where the repository does not see them, and only then
 * moved in.
 *
 * What comes from a box, or is made by a merge, becomes a pack, however small, which git keeps
 * (gitrepository-layout(5), .keep) until its refs are set: a prune of the person's, or a gc with
 * --prune=now, that began before would take loose objects, and a pack that it saw, from under refs
 * that it did not see. Their own git brings packs together when they are more than
 * gc.autoPackLimit (50): at their next commit, fetch or merge, a merge of ours into what is checked
 * out being one. Until then each costs every command of git about 60 us.
 *
 * The folder is <common>/objects/tmp_objdir-headgate-<16 hex>: on the same file system, so moving
 * is renaming, and under a name that git's own prune knows as a leftover.
 */
#ifndef WORKTREE_QUARANTINE_H
#define WORKTREE_QUARANTINE_H

#include "worktree/worktree.h"

/* Allocated: the folder for what `key` (an attempt's folder, a branch) names. */
char *quarantine_path(const char *common_dir, const char *key);
/* Make it anew, empty. */
bool quarantine_make(const char *path, struct err *err) WARN_UNUSED;
/* False: a prune of the person's took it meanwhile, or what was in it. git makes folders again when
 * it needs them, and then says anything of what it misses. */
bool quarantine_is_whole(const char *path);
/* Environment in which git writes new objects to the quarantine and reads the repository's as well.
 */
void quarantine_add_env(struct strv *env, const char *path, const char *common_dir);
/* Check the pack (from pack_fd's offset on) object by object and link by link, then that every tip
 * is whole. tips: one object name a line. */
bool quarantine_fill(const char *path, const struct wt_attempt *a, int pack_fd,
                     const struct buf *tips, struct err *err) WARN_UNUSED;
/* The refs are set, or will not be: packs that were moved in are as others. */
void quarantine_let_go(const char *path);
/* Bring what these revisions (lines as rev-list has them) need into one such pack, wherever it lies
 * now. */
bool quarantine_seal(const char *path, const char *common_dir, const struct buf *revs,
                     struct err *err) WARN_UNUSED;
/* Move the packs into the repository's objects; what is there already stays. May be run again. */
bool quarantine_migrate(const char *path, const char *common_dir, struct err *err) WARN_UNUSED;

#endif
