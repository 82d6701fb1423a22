/*
 * gitindex_parts: what the two parts of gitindex share: an index file in memory.
 */
#ifndef WORKTREE_GITINDEX_PARTS_H
#define WORKTREE_GITINDEX_PARTS_H

#include <sha1.h>
#include <sha2.h>

#include "runner/base/buf.h"
#include "runner/base/indexfile.h"

/* Read what was taken into memory by other means, from its first entry on. */
bool gitindex_begin(struct indexfile *ret, const char *ptr, size_t len, const char *object_format,
                    struct err *err) WARN_UNUSED;

/* Read an index in format version 2 or 3; *ret reads index, from its first entry on. */
bool gitindex_load(struct buf *index, struct indexfile *ret, const char *index_file,
                   const char *object_format, struct err *err) WARN_UNUSED;
/* Go on to where the entries end and the extensions begin. */
bool gitindex_skip_entries(struct indexfile *f, struct err *err) WARN_UNUSED;
/* The digest of an index, in parts; its length says which. */
struct gitindex_digest {
    size_t len;
    union {
        SHA1_CTX sha1;
        SHA2_CTX sha256;
    } ctx;
};
void gitindex_digest_begin(struct gitindex_digest *d, size_t digest_len);
void gitindex_digest_add(struct gitindex_digest *d, const void *data, size_t len);
/* Write it to the d->len bytes at `to`. */
void gitindex_digest_end(struct gitindex_digest *d, char *to);

#endif
