/*
 * Whatever the bytes and however they are cut: the lines that come out are those of the input, and
 * nothing longer than the bound comes out. The first byte sets the bound, the second the cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Take every whole line; *at is how much of the stream they made up. False at the bound. */
static bool take_lines(struct frame *f, const uint8_t *stream, size_t *at, size_t max_bytes)
{
    AUTO_BUF struct buf line = BUF_INIT;
    struct err err = ERR_INIT;
    bool have;
    while (frame_next(f, &line, &have, &err)) {
        if (!have)
            return true;
        if (line.len > max_bytes || memchr(line.ptr, '\n', line.len) ||
            memcmp(stream + *at, line.ptr, line.len) != 0 || stream[*at + line.len] != '\n')
            abort();
        *at += line.len + 1;
    }
    if (err.code != ERR_LIMIT)
        abort();
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t max_bytes = data[0], piece = (size_t)data[1] + 1, at = 0, fed = 0;
    const uint8_t *stream = data + 2;
    size -= 2;
    struct frame f;
    frame_init(&f, max_bytes);
    bool ok = true;
    while (ok && fed < size) {
        size_t len = size - fed < piece ? size - fed : piece;
        frame_feed(&f, stream + fed, len);
        fed += len;
        ok = take_lines(&f, stream, &at, max_bytes);
    }
    if (ok && memchr(stream + at, '\n', size - at))
        abort(); /* a line stayed behind */
    frame_release(&f);
    return 0;
}
