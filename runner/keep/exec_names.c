#include "runner/keep/exec_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"

void exec_names_release(struct exec_names *n)
{
    strv_release(&n->all);
    strv_release(&n->sure);
}

bool exec_is_fixed(int fd)
{
    struct statvfs fs;
    return fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static size_t path_of(char ret[PATH_MAX], int fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, ret, PATH_MAX - 1);
    ret[len > 0 ? len : 0] = '\0';
    return strlen(ret);
}

/*
 * The last link of the name is the system's and leads to the file from where it lies. Folders
 * before it may be links of the box's own, which do not change what the last part says.
 */
static bool is_fixed_name(const struct exec_place *place, const char *name, int fd)
{
    char path[PATH_MAX];
    AUTO_FD int link = exec_resolve(place, name, AT_SYMLINK_NOFOLLOW);
    if (link < 0 || !exec_is_fixed(link))
        return false;
    if (exec_is_same(link, fd))
        return true;
    AUTO_FD int target = path_of(path, link) > 0 ? exec_resolve(place, path, 0) : -1;
    return target >= 0 && exec_is_same(target, fd);
}

/* Whether a program of the system has the name of this path. */
static bool is_name_of_system(const struct exec_place *place, const char *path)
{
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, place->path ? place->path : "", ':', false);
    for (size_t i = 0; i < folders.n; i++) {
        AUTO_FREE char *program = fs_join(folders.v[i], fs_basename(path));
        AUTO_FD int fd = program[0] == '/' ? exec_resolve(place, program, 0) : -1;
        if (fd >= 0 && exec_is_fixed(fd))
            return true;
    }
    return false;
}

void exec_names_loaded(struct exec_names *n, const char *name, int fd)
{
    char path[PATH_MAX];
    if (fd >= 0 && path_of(path, fd) > 0)
        strv_push(&n->all, path);
    strv_push(&n->all, name);
}

const char *exec_names_found(struct exec_names *n, const struct exec_place *place, int fd)
{
    char path[PATH_MAX];
    const char *name = path_of(path, fd) > 0 ? path : "?";
    strv_push(&n->all, name);
    if (exec_is_fixed(fd) || !is_name_of_system(place, name))
        strv_push(&n->sure, name);
    return n->all.v[n->all.n - 1];
}

bool exec_names_told(struct exec_names *n, const struct exec_place *place, const char *name, int fd)
{
    bool is_fixed = exec_is_fixed(fd) && is_fixed_name(place, name, fd);
    strv_push(&n->all, name);
    if (is_fixed || (!exec_is_fixed(fd) && !is_name_of_system(place, name)))
        strv_push(&n->sure, name);
    return is_fixed;
}
