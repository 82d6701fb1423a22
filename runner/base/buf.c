#include "runner/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

char buf_empty_[1] = "";

void buf_init(struct buf *b)
{
    *b = (struct buf)BUF_INIT;
}

void buf_release(struct buf *b)
{
    if (b->cap > 0)
        free(b->ptr);
    buf_init(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->cap > 0)
        b->ptr[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more)
{
    if (more < b->cap - b->len) /* one byte stays for the final NUL */
        return;
    if (b->cap == 0 && more == 0)
        return;
    if (more > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
        abort();
    size_t need = b->len + more + 1;
    size_t cap = b->cap + b->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    bool was_empty = b->cap == 0;
    b->ptr = xreallocarray(was_empty ? NULL : b->ptr, cap, 1);
    b->cap = cap;
    if (was_empty)
        b->ptr[0] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    buf_reserve(b, len);
    memcpy(b->ptr + b->len, data, len);
    b->len += len;
    b->ptr[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addch(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        abort();
    if (len > 0) {
        buf_reserve(b, (size_t)len);
        vsnprintf(b->ptr + b->len, (size_t)len + 1, fmt, again);
        b->len += (size_t)len;
    }
    va_end(again);
}

void buf_consume(struct buf *b, size_t len)
{
    if (len > b->len)
        abort();
    if (len == 0)
        return;
    b->len -= len;
    memmove(b->ptr, b->ptr + len, b->len + 1);
}

void buf_truncate(struct buf *b, size_t len)
{
    if (len >= b->len)
        return;
    b->len = len;
    b->ptr[len] = '\0';
}

void buf_rtrim(struct buf *b)
{
    size_t len = b->len;
    while (len > 0 && memchr(" \t\r\n\v\f", b->ptr[len - 1], 6))
        len--;
    if (len == b->len)
        return;
    b->len = len;
    b->ptr[len] = '\0';
}

char *buf_steal(struct buf *b)
{
    char *text = b->cap > 0 ? b->ptr : xstrdup("");
    buf_init(b);
    return text;
}
