#include "gate/lexpath.h"

#include <string.h>
#include <strings.h>

static void drop_last(struct buf *out)
{
    while (out->len > 0 && out->ptr[out->len - 1] != '/')
        out->len--;
    if (out->len > 0)
        out->len--;
    if (out->cap > 0)
        out->ptr[out->len] = '\0';
}

/* Append the components of path to out, which holds "" or "/a/b". */
static void add_components(struct buf *out, const char *path)
{
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            drop_last(out);
        } else if (len > 0 && !(len == 1 && *path == '.')) {
            buf_addch(out, '/');
            buf_add(out, path, len);
        }
        path += len;
        path += *path == '/';
    }
}

void lexpath_resolve(struct buf *out, const char *base, const char *home, const char *path)
{
    buf_clear(out);
    bool is_home = path[0] == '~' && (path[1] == '\0' || path[1] == '/');
    if (is_home) {
        add_components(out, home);
        path++;
    } else if (path[0] != '/') {
        add_components(out, base);
    }
    add_components(out, path);
    if (out->len == 0)
        buf_addch(out, '/');
}

typedef int (*compare_fn)(const char *a, const char *b, size_t len);

static bool is_below(const char *path, const char *dir, compare_fn compare)
{
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (len == 0 || compare(path, dir, len) != 0)
        return false;
    return path[len] == '\0' || path[len] == '/' || (len == 1 && dir[0] == '/');
}

bool lexpath_is_below(const char *path, const char *dir)
{
    return is_below(path, dir, strncmp);
}

bool lexpath_is_below_any_case(const char *path, const char *dir)
{
    return is_below(path, dir, strncasecmp);
}

const char *lexpath_below(const char *path, const char *dir)
{
    const char *rest = path + strlen(dir);
    return rest + (*rest == '/');
}

/* Match pattern against path, both at the start of a component. */
static bool has_here(const char *path, const char *pattern)
{
    size_t len = strlen(pattern);
    bool is_open = len > 0 && pattern[len - 1] == '*';
    if (is_open)
        len--;
    if (strncasecmp(path, pattern, len) != 0)
        return false;
    return is_open || path[len] == '\0' || path[len] == '/';
}

bool lexpath_has(const char *path, const char *pattern)
{
    while (*path) {
        if (*path != '/' && has_here(path, pattern))
            return true;
        path += strcspn(path, "/");
        path += strspn(path, "/");
    }
    return false;
}
