/*
 * strv: a growable, NULL-terminated vector of owned strings. `v` may be NULL while n == 0; use
 * strv_array() where a NULL-terminated array is needed in every case.
 */
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include <stddef.h>
#include <stdbool.h>
#include "runner/base/err.h"

struct strv {
    char **v;
    size_t n;
    size_t cap;
};

#define STRV_INIT                   \
    {                               \
        .v = NULL, .n = 0, .cap = 0 \
    }
#define AUTO_STRV __attribute__((cleanup(strv_release)))

void strv_release(struct strv *s);
void strv_push(struct strv *s, const char *text); /* copies */
void strv_push_n(struct strv *s, const char *text, size_t len);
void strv_pushf(struct strv *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strv_push_all(struct strv *s, char *const *array); /* copies a NULL-terminated array */
/* Split at a separator; empty parts are kept when keep_empty. */
void strv_split(struct strv *s, const char *text, char sep, bool keep_empty);
bool strv_has(const struct strv *s, const char *text);
char *const *strv_array(const struct strv *s); /* borrowed, never NULL */
/* The value of NAME in a vector of NAME=VALUE strings, borrowed, or NULL. */
const char *strv_env_get(const struct strv *env, const char *name);
/* Set NAME=VALUE, replacing an earlier one. NULL value removes it. */
void strv_env_set(struct strv *env, const char *name, const char *value);

#endif
