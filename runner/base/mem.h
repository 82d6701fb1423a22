/*
 * mem: allocation that cannot fail, and automatic clean-up.
 *
 * Running out of memory aborts with one line on standard error. A size that comes from outside is
 * bounded first (limits.h). AUTO_* variables are cleaned at the end of their scope; hand-over is
 * explicit with steal_*.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <stdio.h>
#include "runner/base/err.h"

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
/* Resize to count elements of size bytes; the product is checked. */
void *xreallocarray(void *ptr, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
void *xmemdup(const void *src, size_t len);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
char *xvasprintf(const char *fmt, va_list args) PRINTF_LIKE(1, 0);

/* Free a secret and leave NULL; its bytes are overwritten before. */
void free_secret(char **text);

void auto_free_(void *pp);
void auto_fd_(int *fd);
void auto_dir_(DIR **dir);
void auto_file_(FILE **file);

#define AUTO_FREE __attribute__((cleanup(auto_free_)))
/* Closes when >= 0. Initialise with -1. */
#define AUTO_FD __attribute__((cleanup(auto_fd_)))
#define AUTO_DIR __attribute__((cleanup(auto_dir_)))
#define AUTO_FILE __attribute__((cleanup(auto_file_)))

/* Take the value out of an AUTO_FD variable, leaving -1. */
int steal_fd(int *fd);
/* Take the pointer out of an AUTO_FREE variable, leaving NULL. */
#define steal_ptr(pp)                      \
    __extension__({                        \
        __typeof__(*(pp)) stolen_ = *(pp); \
        *(pp) = NULL;                      \
        stolen_;                           \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
