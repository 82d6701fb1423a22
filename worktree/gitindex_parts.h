/*
 * gitindex_parts: what the two parts of gitindex share: an index file in memory.
 */
#ifndef WORKTREE_GITINDEX_PARTS_H
#define WORKTREE_GITINDEX_PARTS_H

#include "runner/base/buf.h"

/* Read an index in format version 2 or 3; *ret_digest_len: of the digest at its end. */
bool gitindex_load(struct buf *index, size_t *ret_digest_len, const char *index_file,
                   const char *object_format, struct err *err) WARN_UNUSED;
/* Where the entries end and the extensions begin. */
bool gitindex_entries_end(size_t *ret_at, const struct buf *index, size_t digest_len,
                          struct err *err) WARN_UNUSED;
/* The last digest_len bytes become the digest of all before. */
void gitindex_put_digest(struct buf *index, size_t digest_len);

#endif
