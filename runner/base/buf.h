/*
 * buf: a growable byte string. `ptr` is never NULL after init and always NUL-terminated at `len`
 * (the content may hold NUL bytes). BUF_INIT needs no call of buf_init.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include "runner/base/err.h"

struct buf {
    char *ptr;
    size_t len;
    size_t cap; /* 0 while ptr points at the shared empty string */
};

extern char buf_empty_[1];
#define BUF_INIT                              \
    {                                         \
        .ptr = buf_empty_, .len = 0, .cap = 0 \
    }
#define AUTO_BUF __attribute__((cleanup(buf_release)))

void buf_init(struct buf *b);
void buf_release(struct buf *b); /* frees and re-initialises */
void buf_clear(struct buf *b);   /* len = 0, keeps memory */
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_adds(struct buf *b, const char *s);
void buf_addch(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Remove len bytes at the front (len <= b->len). */
void buf_consume(struct buf *b, size_t len);
/* Remove trailing white space. */
void buf_truncate(struct buf *b, size_t len); /* to at most len bytes */
void buf_rtrim(struct buf *b);
/* Hand the string over; the caller frees it. The buffer is re-initialised. */
char *buf_steal(struct buf *b);

#endif
