#include "ui/utf8.h"

size_t utf8_put(char ret[4], uint32_t ch)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (ch < 0x80) {
        ret[0] = (char)ch;
        return 1;
    }
    size_t n = ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, ch >>= 6)
        ret[i] = (char)(0x80 | (ch & 0x3f));
    ret[0] = (char)(lead[n] | ch);
    return n;
}
