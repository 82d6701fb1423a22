/*
 * checkout: the files of a commit in an empty folder, and an index that is valid for them as it is.
 *
 * The person's own filters run (git-crypt), but for LFS (lfs.h); hooks and fsmonitor do not. Their
 * sparse checkout is followed.
 */
#ifndef WORKTREE_CHECKOUT_H
#define WORKTREE_CHECKOUT_H

#include "worktree/gitcfg.h"
#include "worktree/worktree.h"

struct checkout {
    const struct wt_repo *repo;
    const struct gitcfg *cfg;
    const char *oid;
    const char *tree;  /* an empty folder */
    const char *index; /* written; must not exist */
    uid_t uid;         /* owner of the files; (uid_t)-1: the caller */
    gid_t gid;
};

/* Blocks for as long as the files take. ret_paths (or NULL): each path, ended by a NUL. On failure
 * the folder may hold a part. */
bool checkout_files(const struct checkout *c, struct buf *ret_paths, struct err *err) WARN_UNUSED;

/* Settings with which git writes an index that others can be given as it is. */
void checkout_add_index_config(struct strv *config);

#endif
