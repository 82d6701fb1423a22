#include "runner/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/base/mem.h"

enum { READ_CHUNK_BYTES = 64 * 1024, OPEN_ATTEMPTS = 32 };

int fs_open_beneath(int dirfd, const char *path, int flags, mode_t mode, struct err *err)
{
    bool may_create = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .mode = may_create ? mode : 0, /* anything else is EINVAL, openat2(2) */
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    /* EAGAIN: a rename elsewhere raced with the resolution; trying again is the documented answer.
     */
    for (int i = 0; i < OPEN_ATTEMPTS; i++) {
        long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if (errno != EAGAIN && errno != EINTR)
            break;
    }
    err_sys(err, errno, "cannot open %s", path);
    return -1;
}

/* A path under AT_FDCWD is the user's own words; any other is resolved beneath its folder. */
static int open_any(int dirfd, const char *path, int flags, mode_t mode, struct err *err)
{
    if (dirfd != AT_FDCWD)
        return fs_open_beneath(dirfd, path, flags, mode, err);
    int fd;
    do
        fd = openat(AT_FDCWD, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        err_sys(err, errno, "cannot open %s", path);
    return fd;
}

int fs_open_dir(int dirfd, const char *path, struct err *err)
{
    return open_any(dirfd, path, O_RDONLY | O_DIRECTORY, 0, err);
}

bool fs_read_fd(struct buf *out, int fd, size_t max_bytes, struct err *err)
{
    size_t start = out->len;
    for (;;) {
        buf_reserve(out, READ_CHUNK_BYTES);
        ssize_t got = read(fd, out->ptr + out->len, READ_CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read");
        if (got == 0)
            return true;
        out->len += (size_t)got;
        out->ptr[out->len] = '\0';
        if (out->len - start > max_bytes) {
            out->len = start;
            out->ptr[start] = '\0';
            return err_set(err, ERR_LIMIT, "is longer than %zu bytes", max_bytes);
        }
    }
}

/* In a tree that an agent writes, a name may be a FIFO or a device that blocks whoever opens it. */
static bool require_regular(int fd, const char *path, struct stat *ret_st, struct err *err)
{
    if (fstat(fd, ret_st) != 0)
        return err_sys(err, errno, "cannot stat %s", path);
    if (!S_ISREG(ret_st->st_mode))
        return err_set(err, ERR_FORMAT, "%s is not a regular file", path);
    return true;
}

bool fs_read_file(struct buf *out, int dirfd, const char *path, size_t max_bytes, struct err *err)
{
    bool is_foreign = dirfd != AT_FDCWD;
    int flags = O_RDONLY | O_NOCTTY | (is_foreign ? O_NONBLOCK : 0);
    AUTO_FD int fd = open_any(dirfd, path, flags, 0, err);
    struct stat st;
    if (fd < 0 || (is_foreign && !require_regular(fd, path, &st, err)))
        return false;
    return fs_read_fd(out, fd, max_bytes, err) || err_prefix(err, "%s", path);
}

bool fs_write_fd(int fd, const void *data, size_t len, struct err *err)
{
    const char *p = data;
    while (len > 0) {
        ssize_t put = write(fd, p, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_sys(err, errno, "cannot write");
        p += put;
        len -= (size_t)put;
    }
    return true;
}

static bool write_temp(int dirfd, const char *temp, const void *data, size_t len, mode_t mode,
                       struct err *err)
{
    AUTO_FD int fd =
        openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot create %s", temp);
    if (!fs_write_fd(fd, data, len, err))
        return false;
    if (fchmod(fd, mode) != 0)
        return err_sys(err, errno, "cannot set the mode of %s", temp);
    if (fsync(fd) != 0)
        return err_sys(err, errno, "cannot flush %s", temp);
    /* close(2) is where NFS and quotas report what was deferred. */
    if (close(steal_fd(&fd)) != 0)
        return err_sys(err, errno, "cannot close %s", temp);
    return true;
}

bool fs_write_atomic(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                     struct err *err)
{
    AUTO_FREE char *folder = fs_dirname(path);
    const char *name = fs_basename(path);
    uint64_t nonce;
    if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
        return err_sys(err, errno, "cannot get random bytes");
    AUTO_FREE char *temp = xasprintf(".%.200s.%016" PRIx64 ".tmp", name, nonce);
    AUTO_FD int dir = fs_open_dir(dirfd, folder, err);
    if (dir < 0)
        return false;
    if (!write_temp(dir, temp, data, len, mode, err)) {
        unlinkat(dir, temp, 0);
        return err_prefix(err, "cannot replace %s", path);
    }
    if (renameat(dir, temp, dir, name) != 0) {
        err_sys(err, errno, "cannot replace %s", path);
        unlinkat(dir, temp, 0);
        return false;
    }
    if (fsync(dir) != 0)
        return err_sys(err, errno, "cannot flush the folder of %s", path);
    return true;
}

bool fs_write_plain(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                    struct err *err)
{
    bool is_foreign = dirfd != AT_FDCWD;
    int flags = O_WRONLY | O_CREAT | O_NOCTTY | (is_foreign ? O_NONBLOCK : 0);
    AUTO_FD int fd = open_any(dirfd, path, flags, mode, err);
    struct stat st;
    if (fd < 0 || (is_foreign && !require_regular(fd, path, &st, err)))
        return false;
    if (!is_foreign && fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot stat %s", path);
    /* Truncated only now that it is known to be a file. */
    if (S_ISREG(st.st_mode) && (ftruncate(fd, 0) != 0 || fchmod(fd, mode) != 0))
        return err_sys(err, errno, "cannot truncate %s", path);
    return fs_write_fd(fd, data, len, err) || err_prefix(err, "%s", path);
}

static bool make_folder(const char *path, mode_t mode, struct err *err)
{
    if (mkdir(path, mode) == 0)
        return true;
    int why = errno;
    if (why != ENOENT) {
        if (fs_is_dir(path))
            return true;
        return err_sys(err, why == EEXIST ? ENOTDIR : why, "cannot create the folder %s", path);
    }
    AUTO_FREE char *parent = fs_dirname(path);
    if (strcmp(parent, path) == 0 || strcmp(parent, ".") == 0)
        return err_sys(err, why, "cannot create the folder %s", path);
    if (!make_folder(parent, mode, err))
        return false;
    /* Somebody else may have made it in between. */
    if (mkdir(path, mode) != 0 && !(errno == EEXIST && fs_is_dir(path)))
        return err_sys(err, errno, "cannot create the folder %s", path);
    return true;
}

bool fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
    if (strlen(path) >= PATH_MAX)
        return err_sys(err, ENAMETOOLONG, "cannot create the folder %.60s...", path);
    return make_folder(path, mode, err);
}

bool fs_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

bool fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *fs_join(const char *a, const char *b)
{
    size_t len = strlen(a);
    while (len > 0 && a[len - 1] == '/')
        len--;
    while (*b == '/')
        b++;
    char *joined = xmalloc(len + 1 + strlen(b) + 1);
    memcpy(joined, a, len);
    joined[len] = '/';
    memcpy(joined + len + 1, b, strlen(b) + 1);
    return joined;
}

char *fs_realpath(const char *path, struct err *err)
{
    char *real = realpath(path, NULL);
    if (!real)
        err_sys(err, errno, "cannot resolve %s", path);
    return real;
}

char *fs_dirname(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len == 0)
        return xstrdup(".");
    while (len > 1 && path[len - 1] == '/')
        len--;
    return xstrndup(path, len);
}

bool fs_is_at_or_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return path && (strcmp(folder, "/") == 0 ||
                    (strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len])));
}

const char *fs_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool fs_set_nonblock(int fd, struct err *err)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(err, errno, "cannot make descriptor %d non-blocking", fd);
    return true;
}
