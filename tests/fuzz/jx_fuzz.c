/*
 * Whatever the bytes: what parses has one canonical text, which parses to itself again; and any
 * bytes become a JSON string that survives being written and read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/jx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_canonical(const json_t *value)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf first = BUF_INIT, second = BUF_INIT, line = BUF_INIT;
    AUTO_JSON json_t *back = NULL;
    jx_canonical(&first, value);
    if (!jx_parse(&back, first.ptr, first.len, &err))
        abort();
    jx_canonical(&second, back);
    if (first.len != second.len || memcmp(first.ptr, second.ptr, first.len) != 0)
        abort();
    jx_dump(&line, value);
    if (memchr(line.ptr, '\n', line.len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *value = NULL;
    AUTO_JSON json_t *bytes = jx_bytes((const char *)data, size);
    check_canonical(bytes);
    if (jx_parse(&value, (const char *)data, size, &err))
        check_canonical(value);
    return 0;
}
