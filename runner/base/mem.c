#include "runner/base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void out_of_memory(void)
{
    static const char line[] = "headgate: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);
    (void)ignored;
    abort();
}

void *xmalloc(size_t size)
{
    void *ptr = malloc(size ? size : 1);
    if (!ptr)
        out_of_memory();
    return ptr;
}

void *xcalloc(size_t count, size_t size)
{
    void *ptr = calloc(count ? count : 1, size ? size : 1);
    if (!ptr)
        out_of_memory();
    return ptr;
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
    /* A size of 0 would free ptr and return NULL. */
    void *moved = reallocarray(ptr, count ? count : 1, size ? size : 1);
    if (!moved)
        out_of_memory();
    return moved;
}

char *xstrdup(const char *s)
{
    return xmemdup(s, strlen(s) + 1);
}

char *xstrndup(const char *s, size_t len)
{
    len = strnlen(s, len);
    char *copy = xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void *xmemdup(const void *src, size_t len)
{
    void *copy = xmalloc(len);
    if (len > 0)
        memcpy(copy, src, len);
    return copy;
}

char *xvasprintf(const char *fmt, va_list args)
{
    char *text;
    if (vasprintf(&text, fmt, args) < 0)
        out_of_memory();
    return text;
}

char *xasprintf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = xvasprintf(fmt, args);
    va_end(args);
    return text;
}

void free_secret(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void auto_free_(void *pp)
{
    free(*(void **)pp);
}

/* Clean-up runs between a failing call and the caller's look at errno, so it must not disturb it.
 */
void auto_fd_(int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
}

void auto_dir_(DIR **dir)
{
    if (!*dir)
        return;
    int saved = errno;
    closedir(*dir);
    errno = saved;
}

void auto_file_(FILE **file)
{
    if (!*file)
        return;
    int saved = errno;
    fclose(*file);
    errno = saved;
}

int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}
