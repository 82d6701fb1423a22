#include "runner/base/frame.h"

#include <string.h>

void frame_init(struct frame *f, size_t max_bytes)
{
    *f = (struct frame){.pending = BUF_INIT, .max_bytes = max_bytes};
}

void frame_release(struct frame *f)
{
    buf_release(&f->pending);
    f->start = 0;
    f->scanned = 0;
}

void frame_feed(struct frame *f, const void *data, size_t len)
{
    /* Lines already taken go once per feed, not once per line. */
    buf_consume(&f->pending, f->start);
    f->start = 0;
    buf_add(&f->pending, data, len);
}

bool frame_next(struct frame *f, struct buf *line, bool *ret_have, struct err *err)
{
    const char *first = f->pending.ptr + f->start;
    size_t left = f->pending.len - f->start;
    const char *newline =
        left > f->scanned ? memchr(first + f->scanned, '\n', left - f->scanned) : NULL;
    size_t len = newline ? (size_t)(newline - first) : left;
    if (len > f->max_bytes)
        return err_set(err, ERR_LIMIT, "a message is longer than %zu bytes", f->max_bytes);
    buf_clear(line);
    *ret_have = newline != NULL;
    if (!newline) {
        f->scanned = left;
        return true;
    }
    buf_add(line, first, len);
    f->start += len + 1;
    f->scanned = 0;
    return true;
}
