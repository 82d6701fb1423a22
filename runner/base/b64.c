#include "runner/base/b64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void b64_encode(struct buf *out, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    buf_reserve(out, len / 3 * 4 + 4);
    for (size_t at = 0; at < len; at += 3) {
        size_t left = len - at < 3 ? len - at : 3;
        uint32_t group = (uint32_t)bytes[at] << 16;
        group |= left > 1 ? (uint32_t)bytes[at + 1] << 8 : 0;
        group |= left > 2 ? bytes[at + 2] : 0;
        char text[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                        left > 1 ? alphabet[group >> 6 & 63] : '=',
                        left > 2 ? alphabet[group & 63] : '='};
        buf_add(out, text, sizeof(text));
    }
}

static int digit(char c)
{
    const char *found = c ? strchr(alphabet, c) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

/* The bytes of one group of four digits; 0 when it is not one. Padding only ends the last group. */
static size_t decode_group(unsigned char ret[3], const char *text, bool is_last)
{
    size_t padding = is_last && text[3] == '=' ? (text[2] == '=' ? 2 : 1) : 0;
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? digit(text[i]) : 0;
        if (value < 0)
            return 0;
        group = group << 6 | (uint32_t)value;
    }
    ret[0] = (unsigned char)(group >> 16);
    ret[1] = (unsigned char)(group >> 8);
    ret[2] = (unsigned char)group;
    return 3 - padding;
}

bool b64_decode(struct buf *out, const char *text, size_t len, struct err *err)
{
    size_t before = out->len;
    if (len % 4)
        return err_set(err, ERR_FORMAT, "base64 text has %zu digits, not a multiple of four", len);
    buf_reserve(out, len / 4 * 3);
    for (size_t at = 0; at < len; at += 4) {
        unsigned char bytes[3];
        size_t n = decode_group(bytes, text + at, at + 4 == len);
        if (n == 0) {
            out->len = before;
            out->ptr[before] = '\0';
            return err_set(err, ERR_FORMAT, "base64 text is malformed at digit %zu", at);
        }
        buf_add(out, bytes, n);
    }
    return true;
}
