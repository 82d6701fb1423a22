#include "runner/keep/exec_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "runner/base/buf.h"
#include "runner/base/mem.h"
#include "runner/keep/procfs.h"

enum {
    RESOLVE_LINKS_MAX = 40,
    RESOLVE_PATH_BYTES = 64 * 1024,
    SELF_BYTES = 64,
};

static int open_of_caller(const struct exec_place *place, const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)place->tid, what);
    return open(path, O_PATH | O_CLOEXEC);
}

/* Where relative paths start from. */
static int open_base(const struct exec_place *place)
{
    char name[32];
    if (place->dirfd == AT_FDCWD)
        return open_of_caller(place, "cwd");
    snprintf(name, sizeof name, "fd/%d", place->dirfd);
    int fd = open_of_caller(place, name);
    if (fd < 0 && errno == ENOENT)
        errno = EBADF;
    return fd;
}

/* The quick way, for the usual absolute path that meets no magic link. */
static int resolve_in_root(const struct exec_place *place, const char *path, int flags)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_NOFOLLOW ? (uint64_t)O_NOFOLLOW : 0),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, place->root_fd, path, &how, sizeof how);
}

/* A walk, one name at a time. */
struct walk {
    const struct exec_place *place;
    int at;          /* the folder reached */
    struct buf rest; /* what is left of the path */
    int n_links;
};

static void walk_done(struct walk *w)
{
    auto_fd_(&w->at);
    buf_release(&w->rest);
}

static void walk_to(struct walk *w, int fd)
{
    auto_fd_(&w->at);
    w->at = fd;
}

bool exec_is_same(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_proc(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Go on with a link's text in front of the rest. */
static int walk_text(struct walk *w, const char *text)
{
    struct buf rest = BUF_INIT;
    if (strlen(text) + w->rest.len > RESOLVE_PATH_BYTES)
        return ENAMETOOLONG;
    buf_addf(&rest, "%s/%s", text, w->rest.ptr);
    buf_release(&w->rest);
    w->rest = rest;
    if (text[0] == '/')
        walk_to(w, fcntl(w->place->root_fd, F_DUPFD_CLOEXEC, 0));
    return 0;
}

/* `self` in the procfs of the box is whoever asks, and the box has no number for the keeper. */
static bool is_self(const char *name)
{
    return strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0;
}

/* What the link says to the caller. The keeper's own procfs has the same processes, but what lies
 * above them there is the host. */
static int self_of_caller(char ret[SELF_BYTES], const struct exec_place *place, const char *name)
{
    struct procfs_numbers inside;
    if (!procfs_numbers_inside(&inside, place->tid))
        return EACCES;
    if (strcmp(name, "self") == 0)
        snprintf(ret, SELF_BYTES, "%ld", inside.process);
    else
        snprintf(ret, SELF_BYTES, "%ld/task/%ld", inside.process, inside.thread);
    return 0;
}

/* A link of procfs that leads to an object and not to its text. */
static bool is_magic(const char *name)
{
    return strcmp(name, "exe") == 0 || strcmp(name, "cwd") == 0 || strcmp(name, "root") == 0 ||
           strspn(name, "0123456789") == strlen(name);
}

static int walk_link(struct walk *w, int link, const char *name)
{
    char text[PATH_MAX];
    if (++w->n_links > RESOLVE_LINKS_MAX)
        return ELOOP;
    if (is_proc(link) && is_self(name)) {
        int why = self_of_caller(text, w->place, name);
        return why ? why : walk_text(w, text);
    }
    if (is_proc(link) && is_magic(name)) {
        int target = openat(w->at, name, O_PATH | O_CLOEXEC);
        if (target < 0)
            return errno;
        walk_to(w, target);
        return 0;
    }
    ssize_t len = readlinkat(link, "", text, sizeof text - 1);
    if (len < 0)
        return errno;
    text[len] = '\0';
    return walk_text(w, text);
}

/* One name further. */
static int walk_step(struct walk *w, const char *name, bool follow)
{
    struct stat st;
    if (strcmp(name, "..") == 0 && exec_is_same(w->at, w->place->root_fd))
        return 0;
    AUTO_FD int next = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 || fstat(next, &st) != 0)
        return errno;
    if (S_ISLNK(st.st_mode) && follow)
        return walk_link(w, next, name);
    walk_to(w, steal_fd(&next));
    return 0;
}

static int walk_all(struct walk *w, int flags)
{
    for (;;) {
        char name[NAME_MAX + 1];
        size_t skip = strspn(w->rest.ptr, "/");
        size_t len = strcspn(w->rest.ptr + skip, "/");
        if (len == 0)
            return 0;
        if (len > NAME_MAX)
            return ENAMETOOLONG;
        memcpy(name, w->rest.ptr + skip, len);
        name[len] = '\0';
        buf_consume(&w->rest, skip + len);
        bool is_last = w->rest.ptr[strspn(w->rest.ptr, "/")] == '\0';
        int why = walk_step(w, name, !is_last || !(flags & AT_SYMLINK_NOFOLLOW));
        if (why)
            return why;
    }
}

static int resolve_by_walk(const struct exec_place *place, const char *path, int flags)
{
    __attribute__((cleanup(walk_done))) struct walk w = {
        .place = place, .at = -1, .rest = BUF_INIT};
    w.at = path[0] == '/' ? fcntl(place->root_fd, F_DUPFD_CLOEXEC, 0) : open_base(place);
    if (w.at < 0)
        return -1;
    buf_adds(&w.rest, path);
    int why = walk_all(&w, flags);
    if (why) {
        errno = why;
        return -1;
    }
    return steal_fd(&w.at);
}

int exec_resolve(const struct exec_place *place, const char *path, int flags)
{
    if (!path[0]) {
        if (flags & AT_EMPTY_PATH)
            return open_base(place);
        errno = ENOENT;
        return -1;
    }
    if (path[0] == '/') {
        int fd = resolve_in_root(place, path, flags);
        if (fd >= 0)
            return fd;
    }
    return resolve_by_walk(place, path, flags);
}
