#include "worktree/changed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { WALK_DEPTH = 256 };

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Of what an overlay no longer has. All of them share an inode, whose time each mount changes; the
 * folder has the time at which it went. */
static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/* Whether the open folder or anything below it changed after that moment. The change time is the
 * kernel's own: an agent cannot set it. What cannot be looked at counts as changed. */
static bool has_change(int dirfd, const struct timespec *when, int depth)
{
    struct stat own;
    int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir || depth > WALK_DEPTH || fstat(dirfd, &own) != 0 || is_later(&own.st_ctim, when))
        return true;
    for (const struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return true;
        if (!is_whiteout(&st) && is_later(&st.st_ctim, when))
            return true;
        if (!S_ISDIR(st.st_mode))
            continue;
        AUTO_FD int fd = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || has_change(fd, when, depth + 1))
            return true;
    }
    return false;
}

bool changed_since(const char *root, const char *below, const struct timespec *when)
{
    struct err why = ERR_INIT;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (is_later(when, &now)) /* the clock was set back: what changed since looks older */
        return true;
    AUTO_FD int dirfd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dirfd < 0)
        return errno != ENOENT;
    if (!below)
        return has_change(dirfd, when, 0);
    AUTO_FD int fd = fs_open_beneath(dirfd, below, O_RDONLY | O_DIRECTORY, 0, &why);
    return fd >= 0 ? has_change(fd, when, 0) : why.sys_errno != ENOENT;
}
