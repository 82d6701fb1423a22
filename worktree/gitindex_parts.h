/*
 * gitindex_parts: what the two parts of gitindex share: an index file in memory.
 */
#ifndef WORKTREE_GITINDEX_PARTS_H
#define WORKTREE_GITINDEX_PARTS_H

#include "runner/base/buf.h"
#include "runner/base/indexfile.h"

/* Read an index in format version 2 or 3; *ret reads index, from its first entry on. */
bool gitindex_load(struct buf *index, struct indexfile *ret, const char *index_file,
                   const char *object_format, struct err *err) WARN_UNUSED;
/* Go on to where the entries end and the extensions begin. */
bool gitindex_skip_entries(struct indexfile *f, struct err *err) WARN_UNUSED;
/* The last digest_len bytes become the digest of all before. */
void gitindex_put_digest(struct buf *index, size_t digest_len);

#endif
