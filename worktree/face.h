/*
 * face: what the host sees of an attempt: an entry in `git worktree list`, locked, and the folder
 * it names.
 *
 * The entry's HEAD is detached at the base, so that the attempt's branch may be checked out
 * anywhere. With the overlay engine the folder holds no files of the commit (the box mounts them
 * there, in its own namespace only): every entry of its index is skip-worktree, so `git status`
 * there is clean and `git commit -a` commits nothing. A note tells a person where the files are.
 *
 * The entry is written by hand in one rename: `git worktree add` takes locks that forty at a time
 * lose, and a half-made entry without its lock file could be pruned at once. Where refs are not
 * plain files, git makes it.
 */
#ifndef WORKTREE_FACE_H
#define WORKTREE_FACE_H

#include "worktree/gitcfg.h"
#include "worktree/worktree.h"

struct face {
    const char *common_dir;
    const char *id;   /* "3.2" */
    const char *dir;  /* the attempt's folder */
    const char *tree; /* dir/tree, an existing folder */
    const char *base;
    const char *base_name;
    const char *branch;
    const char *index; /* hard-linked or copied as the entry's index */
    bool has_note;     /* write the note: overlay only */
    bool made_by_git;  /* refs are not plain files */
};

bool face_make(const struct face *f, struct err *err) WARN_UNUSED;
/* Remove every entry that names this tree, and what an unfinished face_make left. The folder itself
 * stays. */
bool face_remove(const char *common_dir, const char *dir, struct err *err) WARN_UNUSED;

#endif
