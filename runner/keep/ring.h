/*
 * ring: the last bytes of a terminal, for those who attach later. Memory comes with the first byte.
 * Pure.
 */
#ifndef KEEP_RING_H
#define KEEP_RING_H

#include "runner/base/buf.h"

enum { RING_BYTES = 256 * 1024 };

struct ring {
    char *data;  /* NULL until the first byte */
    size_t next; /* where the next byte goes */
    bool is_full;
};

void ring_add(struct ring *r, const char *bytes, size_t len);
/* Append the content, oldest first. */
void ring_copy(struct buf *out, const struct ring *r);
void ring_release(struct ring *r);

#endif
