/*
 * fixed: text into arrays of a fixed size, cut on purpose where it is too long.
 */
#ifndef UI_FIXED_H
#define UI_FIXED_H

#include <stddef.h>
#include "runner/base/err.h"

/* Always NUL-terminated; a character is never cut in half. size > 0. */
void fixed_set(char *ret, size_t size, const char *text);
void fixed_setf(char *ret, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
