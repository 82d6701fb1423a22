/*
 * frame: newline-delimited messages out of a byte stream. Pure; the fuzzers' first target.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include "runner/base/buf.h"

struct frame {
    struct buf pending;
    size_t start;   /* where the first line not yet taken begins in pending */
    size_t scanned; /* bytes from there known to hold no newline */
    size_t max_bytes;
};

void frame_init(struct frame *f, size_t max_bytes);
void frame_release(struct frame *f);
void frame_feed(struct frame *f, const void *data, size_t len);
/* Move the next whole line (without its newline) into *line (cleared first). *ret_have says if
 * there was one. ERR_LIMIT when a line is longer than max_bytes: the stream must then be closed. */
bool frame_next(struct frame *f, struct buf *line, bool *ret_have, struct err *err) WARN_UNUSED;

#endif
