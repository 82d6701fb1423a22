/*
 * lfs: files of Git LFS in a fresh checkout, from the person's own store and never from a network.
 *
 * A checkout runs without the LFS filter, so that it holds pointers. Where git-lfs is installed, a
 * pointer whose object is in the store is replaced by its content: the agent's git, which has the
 * filter as well, then finds it as git-lfs would have left it. Everything else stays a pointer.
 */
#ifndef WORKTREE_LFS_H
#define WORKTREE_LFS_H

#include "worktree/checkout.h"

/* Fill in what the store has, before the index is stamped. paths: of the checkout, each ended by a
 * NUL. */
bool lfs_fill(const struct checkout *c, const struct buf *paths, struct err *err) WARN_UNUSED;
/* Parse a pointer file. The object's name (64 hexadecimal digits) and its size. Pure. */
bool lfs_parse_pointer(char ret_oid[65], int64_t *ret_size, const char *text, size_t len);
/* Copy objects from a store that an agent wrote (ab/cd/OID below the open folder) into the
 * person's, those whose content is what their name says; bounded in number. from -1: there is none.
 */
bool lfs_bring_home(int from, const char *common_dir, struct err *err) WARN_UNUSED;
/* Allocated: the person's store of objects. */
char *lfs_store(const struct gitcfg *cfg, const char *common_dir);

#endif
