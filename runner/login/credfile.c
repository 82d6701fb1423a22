#include "runner/login/credfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum { TRIES = 20, PAUSE_MS = 50 };

static bool check(const struct credfile *f, const struct stat *st, struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_REFUSED, "%s is not a regular file", f->path);
    if (st->st_uid != geteuid())
        return err_set(err, ERR_REFUSED, "%s belongs to another account (uid %u)", f->path,
                       st->st_uid);
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        return err_set(err, ERR_REFUSED, "%s can be read or written by others: chmod 600 %s",
                       f->path, f->path);
    return true;
}

static int open_file(struct credfile *f, struct err *err)
{
    struct stat st;
    AUTO_FD int fd = openat(f->dirfd, fs_basename(f->path),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_REFUSED, "%s is a symbolic link: name the file that it leads to",
                       f->path),
               -1;
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", f->path), -1;
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot look at %s", f->path), -1;
    if (!check(f, &st, err))
        return -1;
    f->mode = st.st_mode & 07777;
    f->gid = st.st_gid;
    return steal_fd(&fd);
}

bool credfile_open(struct credfile *ret, const char *path, struct err *err)
{
    AUTO_CREDFILE struct credfile f = CREDFILE_INIT;
    if (path[0] != '/')
        return err_set(err, ERR_USAGE, "the file of a login must be named by an absolute path: %s",
                       path);
    f.path = xstrdup(path);
    f.folder = fs_dirname(path);
    f.dirfd = fs_open_dir(AT_FDCWD, f.folder, err);
    AUTO_FD int fd = f.dirfd >= 0 ? open_file(&f, err) : -1;
    if (fd < 0)
        return false;
    *ret = f;
    f = (struct credfile)CREDFILE_INIT;
    return true;
}

static bool read_once(json_t **ret, bool *ret_is_json, struct credfile *f, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err why = ERR_INIT;
    AUTO_FD int fd = open_file(f, err);
    if (fd < 0)
        return false;
    if (!fs_read_fd(&text, fd, CREDENTIALS_BYTES, err))
        return err_prefix(err, "%s", f->path);
    /* The error's own text could quote what is in it. */
    *ret_is_json = jx_parse(ret, text.ptr, text.len, &why);
    explicit_bzero(text.ptr, text.len);
    return true;
}

bool credfile_read(json_t **ret, struct credfile *f, struct err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    bool is_json = false;
    for (int left = TRIES; left > 0; left--) {
        if (!read_once(ret, &is_json, f, err))
            return false;
        if (is_json)
            return true;
        nanosleep(&pause, NULL); /* somebody writes it in place and is not done */
    }
    return err_set(err, ERR_FORMAT, "%s is not JSON", f->path);
}

bool credfile_begin(struct credfile *f, size_t size, struct err *err)
{
    uint64_t nonce;
    if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
        return err_sys(err, errno, "cannot get random bytes");
    char *temp = xasprintf(".%.200s.%016" PRIx64 ".headgate", fs_basename(f->path), nonce);
    f->tempfd = openat(f->dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int why = f->tempfd < 0 ? errno : posix_fallocate(f->tempfd, 0, (off_t)size);
    if (f->tempfd < 0)
        free(temp);
    else
        f->temp = temp;
    return !why || why == EOPNOTSUPP ||
           err_sys(err, why, "there is no room beside %s for a renewed login", f->path);
}

static bool write_temp(const struct credfile *f, const struct buf *text, struct err *err)
{
    if (!fs_write_fd(f->tempfd, text->ptr, text->len, err))
        return false;
    if (ftruncate(f->tempfd, (off_t)text->len) != 0 || fchmod(f->tempfd, f->mode) != 0 ||
        fsync(f->tempfd) != 0)
        return err_sys(err, errno, "cannot write beside %s", f->path);
    /* Kept where it can be: a group of a folder with the set-group-ID bit. */
    int ignored = fchown(f->tempfd, (uid_t)-1, f->gid);
    (void)ignored;
    return true;
}

bool credfile_commit(struct credfile *f, const struct buf *text, struct err *err)
{
    if (!write_temp(f, text, err))
        return false;
    AUTO_FREE char *temp = steal_ptr(&f->temp); /* from here on it is all there is of the login */
    if (renameat(f->dirfd, temp, f->dirfd, fs_basename(f->path)) != 0)
        return err_sys(err, errno,
                       "the renewed login is in %s/%s and could not be put in place of %s",
                       f->folder, temp, f->path);
    return fsync(f->dirfd) == 0 || err_sys(err, errno, "cannot flush %s", f->folder);
}

void credfile_close(struct credfile *f)
{
    if (f->temp)
        unlinkat(f->dirfd, f->temp, 0);
    auto_fd_(&f->tempfd);
    auto_fd_(&f->dirfd);
    free(f->temp);
    free(f->folder);
    free(f->path);
    *f = (struct credfile)CREDFILE_INIT;
}
