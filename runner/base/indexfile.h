/*
 * indexfile: git's index in memory, read from its beginning to its end (gitformat-index(5),
 * versions 2 and 3): entries, then extensions, then a digest.
 *
 * Nothing is copied or allocated, and nothing beyond the bytes is read, whatever they hold. How
 * long names of objects are is not in the file: it is told, or tried, for the length that each
 * entry has of its own path shows a wrong one. Whether the digest is right is not looked at.
 */
#ifndef BASE_INDEXFILE_H
#define BASE_INDEXFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INDEXFILE_SHA1_BYTES = 20, INDEXFILE_SHA256_BYTES = 32, INDEXFILE_STAT_BYTES = 40 };

struct indexfile {
    const char *ptr;
    size_t at;     /* what is read next */
    size_t end;    /* where the digest begins */
    uint32_t left; /* entries that are still to come */
    size_t digest_len;
};

struct indexfile_entry {
    size_t at;        /* INDEXFILE_STAT_BYTES of stat data, then the object's name */
    const char *path; /* ended by a NUL */
    size_t path_len;
    bool is_submodule;
    bool is_absent; /* left out by a sparse checkout */
};

struct indexfile_extension {
    const char *name;    /* four bytes */
    const char *content; /* size bytes */
    size_t size;
};

/* False: this is no index of a version that is known here. */
bool indexfile_begin(struct indexfile *ret, const char *ptr, size_t len, size_t digest_len);
/* The next entry. False: all were read, or, with some left, what follows is none. */
bool indexfile_entry(struct indexfile_entry *ret, struct indexfile *f);
/* Behind the entries: the next extension. False: all were read, or it is cut short. */
bool indexfile_extension(struct indexfile_extension *ret, struct indexfile *f);
/* Everything was read and was understood. */
bool indexfile_is_done(const struct indexfile *f);

#endif
