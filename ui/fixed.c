#include "ui/fixed.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Take back the beginning of a UTF-8 character whose rest was cut off. */
static void mend_end(char *text, size_t len)
{
    size_t lead = len;
    while (lead > 0 && len - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
        lead--;
    if (lead == 0)
        return;
    unsigned char first = (unsigned char)text[lead - 1];
    size_t need = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    if (need > len - lead)
        text[lead - 1] = '\0';
}

void fixed_set(char *ret, size_t size, const char *text)
{
    size_t len = strnlen(text, size - 1);
    memcpy(ret, text, len);
    ret[len] = '\0';
    if (text[len] != '\0')
        mend_end(ret, len);
}

void fixed_setf(char *ret, size_t size, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(ret, size, fmt, args);
    va_end(args);
    if (len >= 0 && (size_t)len >= size)
        mend_end(ret, size - 1);
}
