/*
 * utf8: one code point as bytes.
 */
#ifndef UI_UTF8_H
#define UI_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* ch <= 0x10ffff. Returns the number of bytes, 1 to 4. */
size_t utf8_put(char ret[4], uint32_t ch);

#endif
