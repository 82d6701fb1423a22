/*
 * Whatever the bytes: what is sanitised is valid UTF-8 without control characters, sanitising it
 * again changes nothing, and clipping keeps to its columns. The first byte sets the flags.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clipping(const struct buf *clean, int max_columns)
{
    AUTO_BUF struct buf clipped = BUF_INIT;
    text_add_clipped(&clipped, clean->ptr, max_columns);
    if (text_width(clipped.ptr, clipped.len) > max_columns ||
        !text_is_utf8(clipped.ptr, clipped.len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    unsigned flags = data[0] & 7;
    AUTO_BUF struct buf clean = BUF_INIT, again = BUF_INIT;
    text_sanitise(&clean, (const char *)data + 1, size - 1, flags);
    if (!text_is_utf8(clean.ptr, clean.len) || memchr(clean.ptr, 0, clean.len))
        abort();
    for (size_t i = 0; i < clean.len; i++) {
        unsigned char c = (unsigned char)clean.ptr[i];
        bool is_kept = c == '\n' && flags & TEXT_KEEP_NEWLINE;
        if ((c < 0x20 && !is_kept) || c == 0x7f)
            abort();
    }
    text_sanitise(&again, clean.ptr, clean.len, flags & ~(unsigned)TEXT_EXACT);
    if (again.len != clean.len || memcmp(again.ptr, clean.ptr, clean.len) != 0)
        abort();
    for (int columns = 0; columns < 6; columns++)
        check_clipping(&clean, columns);
    return 0;
}
