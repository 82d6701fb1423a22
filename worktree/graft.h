/*
 * graft: new commits for a merge, made from objects alone; no worktree and no index has a part in
 * it.
 *
 * Everything is written to a quarantine first, so that conflicts and a dry run leave nothing
 * behind.
 */
#ifndef WORKTREE_GRAFT_H
#define WORKTREE_GRAFT_H

#include "runner/base/buf.h"
#include "runner/base/strv.h"

struct graft {
    const char *common_dir;
    const struct strv *env;      /* quarantine_add_env */
    bool is_signed;              /* the person signs commits */
    const char *leave_out;       /* a commit that is not carried over, NULL: none */
    const struct strv *trailers; /* for every commit that is made, NULL: none */
    char target[65], tip[65];
};

/* Merge two commits' trees. When conflicts (paths) are appended, *ret_tree has git's markers in it.
 */
bool graft_merge_trees(char ret_tree[65], struct strv *conflicts, const struct graft *g,
                       const char *ours, const char *theirs, struct err *err) WARN_UNUSED;
/* The same as if base were what both have in common. */
bool graft_merge_on(char ret_tree[65], struct strv *conflicts, const struct graft *g,
                    const char *base, const char *ours, const char *theirs,
                    struct err *err) WARN_UNUSED;
/* All of the tip's work on the target, as one tree. is_ahead: the tip has all that the target has.
 */
bool graft_squash(char ret_tree[65], struct strv *conflicts, const struct graft *g, bool is_ahead,
                  struct err *err) WARN_UNUSED;
/* Whether the tip's own part has merges, which graft_rebase would leave out. */
bool graft_has_merges(bool *ret, const struct graft *g, struct err *err) WARN_UNUSED;
/* A commit; parent2 NULL: none. author: GIT_AUTHOR_... settings, NULL: the person. */
bool graft_commit(char ret_oid[65], const struct graft *g, const char *tree, const char *parent,
                  const char *parent2, const char *message, const struct strv *author,
                  struct err *err) WARN_UNUSED;
/* The author of all commits that only the tip has, as GIT_AUTHOR_... settings with the last one's
 * date; nothing when there are several. */
bool graft_only_author(struct strv *author, const struct graft *g, struct err *err) WARN_UNUSED;
/* The tip's own commits on top of the target, one by one, with their authors and messages: as `git
 * rebase` does it, without merges, without those that the target has already. *ret_oid is the
 * target when none is left. */
bool graft_rebase(char ret_oid[65], struct strv *conflicts, const struct graft *g,
                  struct err *err) WARN_UNUSED;
/* The tree of a commit. */
bool graft_tree_of(char ret_tree[65], const struct graft *g, const char *commit,
                   struct err *err) WARN_UNUSED;

#endif
