#include "runner/base/real.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/buf.h"
#include "runner/base/mem.h"

enum { LINKS_MAX = 40 }; /* as in path_resolution(7) */

struct walk {
    const char *root;
    struct buf done; /* "" or "/a/b", free of links */
    struct buf left; /* what is still to be walked */
    int links;
};

static void drop_last(struct buf *done)
{
    while (done->len > 0 && done->ptr[done->len - 1] != '/')
        done->len--;
    if (done->len > 0)
        done->len--;
    if (done->cap > 0)
        done->ptr[done->len] = '\0';
}

/* Put the target of the link in front of what is left. */
static bool follow(struct walk *w, const char *whole)
{
    char target[PATH_MAX];
    ssize_t len = readlink(whole, target, sizeof(target) - 1);
    if (len <= 0 || len == (ssize_t)sizeof(target) - 1 || ++w->links > LINKS_MAX)
        return false;
    target[len] = '\0';
    if (target[0] == '/')
        buf_clear(&w->done);
    AUTO_FREE char *left = xasprintf("%s/%s", target, w->left.len ? w->left.ptr : "");
    buf_clear(&w->left);
    buf_adds(&w->left, left);
    return w->left.len < LINKS_MAX * PATH_MAX;
}

static bool step(struct walk *w, const char *name)
{
    if (strcmp(name, "") == 0 || strcmp(name, ".") == 0)
        return true;
    if (strcmp(name, "..") == 0) {
        drop_last(&w->done);
        return true;
    }
    AUTO_FREE char *whole = xasprintf("%s%s/%s", w->root, w->done.len ? w->done.ptr : "", name);
    struct stat st;
    bool exists = lstat(whole, &st) == 0;
    if (!exists && errno != ENOENT && errno != ENOTDIR)
        return false;
    if (exists && S_ISLNK(st.st_mode))
        return follow(w, whole);
    buf_addf(&w->done, "/%s", name);
    return true;
}

char *real_path(const char *root, const char *path)
{
    struct walk w = {.root = root, .done = BUF_INIT, .left = BUF_INIT};
    buf_adds(&w.left, path);
    bool ok = true;
    while (ok && w.left.len > 0) {
        size_t len = strcspn(w.left.ptr, "/");
        bool is_last = w.left.ptr[len] == '\0';
        AUTO_FREE char *name = xstrndup(w.left.ptr, len);
        AUTO_FREE char *rest = xstrdup(is_last ? "" : w.left.ptr + len + 1);
        buf_clear(&w.left);
        buf_adds(&w.left, rest);
        ok = step(&w, name);
    }
    if (ok && w.done.len == 0)
        buf_addch(&w.done, '/');
    char *real = ok ? buf_steal(&w.done) : NULL;
    buf_release(&w.done);
    buf_release(&w.left);
    return real;
}

static bool is_program(const char *root, const char *file)
{
    struct stat st;
    AUTO_FREE char *real = real_path(root, file);
    AUTO_FREE char *whole = real ? xasprintf("%s%s", root, real) : NULL;
    return whole && lstat(whole, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

char *real_program(const char *root, const char *path, const char *name, bool *ret_is_relative)
{
    *ret_is_relative = false;
    for (;;) {
        size_t len = strcspn(path, ":");
        if (path[0] != '/') {
            *ret_is_relative = true;
            return NULL;
        }
        AUTO_FREE char *file = xasprintf("%.*s/%s", (int)len, path, name);
        if (is_program(root, file))
            return steal_ptr(&file);
        if (!path[len])
            return NULL;
        path += len + 1;
    }
}
