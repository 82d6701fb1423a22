#include "ui/ansi.h"

#include <string.h>

/* Whether a held sequence may still become, or is, an SGR sequence with this byte at place n. */
static bool fits(size_t n, char c)
{
    if (n == 0)
        return c == '\x1b';
    if (n == 1)
        return c == '[';
    return (c >= '0' && c <= '9') || c == ';' || c == ':' || c == 'm';
}

void ansi_strip(struct ansi *a, struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (a->n < sizeof(a->held) && fits(a->n, c)) {
            a->held[a->n++] = c;
            if (a->n > 2 && c == 'm')
                a->n = 0;
            continue;
        }
        buf_add(out, a->held, a->n);
        a->n = 0;
        if (fits(0, c))
            a->held[a->n++] = c;
        else
            buf_addch(out, c);
    }
}
