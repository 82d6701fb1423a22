/*
 * key_fuzz: the bytes of a terminal into keys. However they are cut, the same keys come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ui/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_KEYS = 4096 };

static size_t read_all(struct key keys[MAX_KEYS], const uint8_t *data, size_t size, size_t piece)
{
    struct key_reader r = {.n = 0};
    size_t n_keys = 0;
    for (size_t from = 0; from < size; from += piece) {
        size_t n = size - from < piece ? size - from : piece;
        for (size_t at = 0, used; at < n; at += used)
            if (key_next(&keys[n_keys], &r, data + from + at, n - at, &used))
                n_keys++;
    }
    return n_keys;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct key whole[MAX_KEYS], pieces[MAX_KEYS];
    if (size >= MAX_KEYS)
        return 0;
    size_t n = read_all(whole, data, size, size + 1), m = read_all(pieces, data, size, 3);
    if (n != m)
        abort();
    for (size_t i = 0; i < n; i++)
        if (whole[i].code != pieces[i].code || whole[i].ch != pieces[i].ch ||
            whole[i].is_pasted != pieces[i].is_pasted)
            abort();
    return 0;
}
