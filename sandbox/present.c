#include "sandbox/present.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/strv.h"

enum {
    FEW = 4,       /* so many names are asked for one by one */
    LISTED = 1024, /* longer folders are not listed to their end */
};

struct search {
    const char *const *names;
    void (*found)(const char *name, void *arg);
    void *arg;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a folder, sorted. */
static bool list(struct strv *ret, int dirfd)
{
    const struct dirent *entry;
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir)
        close(fd);
    while (dir && (entry = readdir(dir)) && ret->n < LISTED)
        strv_push(ret, entry->d_name);
    if (ret->n > 0)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_text);
    return dir && ret->n < LISTED;
}

static bool is_listed(const struct strv *listing, const char *name, size_t len)
{
    char part[NAME_MAX + 1];
    const char *key = part;
    if (len > NAME_MAX)
        return false;
    memcpy(part, name, len);
    part[len] = '\0';
    return listing->n > 0 &&
           bsearch(&key, listing->v, listing->n, sizeof(*listing->v), by_text) != NULL;
}

static bool shares_folder(const char *a, const char *b, size_t skip, size_t len)
{
    return strncmp(a + skip, b + skip, len) == 0 && b[skip + len] == '/';
}

/* Names first to last - 1, of which the first `skip` bytes led to dirfd. */
static void look(const struct search *s, int dirfd, size_t skip, size_t first, size_t last)
{
    AUTO_STRV struct strv listing = STRV_INIT;
    bool has_list = last - first > FEW && list(&listing, dirfd);
    for (size_t i = first, next; i < last; i = next) {
        const char *name = s->names[i] + skip;
        size_t len = strcspn(name, "/");
        next = i + 1;
        while (name[len] && next < last && shares_folder(s->names[i], s->names[next], skip, len))
            next++;
        if (has_list && !is_listed(&listing, name, len))
            continue;
        if (next - i > FEW) {
            AUTO_FREE char *part = xstrndup(name, len);
            AUTO_FD int fd = openat(dirfd, part, O_PATH | O_DIRECTORY | O_CLOEXEC);
            if (fd >= 0)
                look(s, fd, skip + len + 1, i, next);
            continue;
        }
        for (size_t k = i; k < next; k++)
            if (faccessat(dirfd, s->names[k] + skip, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                s->found(s->names[k], s->arg);
    }
}

void present_each(const char *folder, const char *const *names, size_t n,
                  void (*found)(const char *name, void *arg), void *arg)
{
    const struct search s = {names, found, arg};
    AUTO_FD int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        look(&s, fd, 0, 0, n);
}
