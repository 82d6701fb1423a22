#include "runner/keep/ring.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/mem.h"

void ring_add(struct ring *r, const char *bytes, size_t len)
{
    if (!r->data)
        r->data = xmalloc(RING_BYTES);
    if (len > RING_BYTES) {
        bytes += len - RING_BYTES;
        len = RING_BYTES;
    }
    size_t first = RING_BYTES - r->next < len ? RING_BYTES - r->next : len;
    memcpy(r->data + r->next, bytes, first);
    memcpy(r->data, bytes + first, len - first);
    r->is_full = r->is_full || r->next + len >= RING_BYTES;
    r->next = (r->next + len) % RING_BYTES;
}

void ring_copy(struct buf *out, const struct ring *r)
{
    if (r->is_full)
        buf_add(out, r->data + r->next, RING_BYTES - r->next);
    if (r->data)
        buf_add(out, r->data, r->next);
}

void ring_release(struct ring *r)
{
    free(r->data);
    *r = (struct ring){0};
}
