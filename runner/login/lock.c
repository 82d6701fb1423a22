#include "runner/login/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { STALE_RENEW_MS = 60 * 1000, STALE_WRITE_MS = 15 * 1000, PAUSE_MS = 50 };

static bool pause_until(int64_t deadline_ms)
{
    const struct timespec wait = {.tv_nsec = PAUSE_MS * 1000000L};
    if (clock_mono_ms() >= deadline_ms)
        return false;
    nanosleep(&wait, NULL);
    return true;
}

static void drop_last(struct login_lock *l)
{
    l->n--;
    if (l->held[l->n].path)
        rmdir(l->held[l->n].path);
    free(l->held[l->n].path);
    auto_fd_(&l->held[l->n].fd);
}

static void drop_to(struct login_lock *l, size_t n)
{
    while (l->n > n)
        drop_last(l);
}

void login_lock_release(struct login_lock *l)
{
    drop_to(l, 0);
}

bool login_lock_is_held(const struct login_lock *l)
{
    struct stat st;
    for (size_t i = 0; i < l->n; i++)
        if (l->held[i].path && (lstat(l->held[i].path, &st) != 0 || st.st_ino != l->held[i].inode))
            return false;
    return true;
}

enum outcome { TAKEN, BUSY, BROKEN };

/* By the clock of the files, which a network file system's server may have. */
static bool is_stale(const char *path, int64_t stale_ms)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return false;
    int64_t at_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return clock_unix_ms() - at_ms > stale_ms;
}

static enum outcome take_folder(struct login_lock *l, const char *path, int64_t stale_ms,
                                struct err *err)
{
    struct stat st;
    int made = mkdir(path, 0777);
    if (made != 0 && errno == EEXIST && is_stale(path, stale_ms) && rmdir(path) == 0)
        made = mkdir(path, 0777);
    if (made != 0)
        return errno == EEXIST ? BUSY : (err_sys(err, errno, "cannot lock %s", path), BROKEN);
    if (lstat(path, &st) != 0)
        return err_sys(err, errno, "cannot lock %s", path), BROKEN;
    l->held[l->n].path = xstrdup(path);
    l->held[l->n].inode = st.st_ino;
    l->held[l->n++].fd = -1;
    return TAKEN;
}

static enum outcome take_file(struct login_lock *l, const char *path, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot lock %s", path), BROKEN;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK || errno == EINTR
                   ? BUSY
                   : (err_sys(err, errno, "cannot lock %s", path), BROKEN);
    l->held[l->n].path = NULL;
    l->held[l->n++].fd = steal_fd(&fd);
    return TAKEN;
}

static char *beside(const struct credfile *f, const char *name)
{
    return fs_join(f->folder, name);
}

/* Where older versions of Claude Code lock. What cannot be made there is passed over, as it does.
 */
static enum outcome take_old_folder(struct login_lock *l, const struct credfile *f)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *real = fs_realpath(f->folder, &err);
    AUTO_FREE char *path = xasprintf("%s.lock", real ? real : f->folder);
    enum outcome outcome = take_folder(l, path, STALE_RENEW_MS, &err);
    return outcome == BROKEN ? TAKEN : outcome;
}

static enum outcome try_renew(struct login_lock *l, const struct login_form *form,
                              const struct credfile *f, struct err *err)
{
    AUTO_FREE char *path = beside(f, form->has_folder_locks ? ".oauth_refresh.lock" : "auth.lock");
    if (!form->has_folder_locks)
        return take_file(l, path, err);
    enum outcome outcome = take_folder(l, path, STALE_RENEW_MS, err);
    return outcome == TAKEN ? take_old_folder(l, f) : outcome;
}

static enum outcome try_write(struct login_lock *l, const struct login_form *form,
                              const struct credfile *f, struct err *err)
{
    AUTO_FREE char *path =
        form->has_folder_locks ? beside(f, ".storage-write.lock") : xasprintf("%s.lock", f->path);
    return form->has_folder_locks ? take_folder(l, path, STALE_WRITE_MS, err)
                                  : take_file(l, path, err);
}

static bool take(struct login_lock *l, const struct login_form *form, const struct credfile *f,
                 int64_t deadline_ms,
                 enum outcome (*try)(struct login_lock *, const struct login_form *,
                                     const struct credfile *, struct err *),
                 struct err *err)
{
    size_t before = l->n;
    enum outcome outcome;
    while ((outcome = try(l, form, f, err)) == BUSY) {
        drop_to(l, before);
        if (!pause_until(deadline_ms))
            return err_set(err, ERR_CONFLICT,
                           "another program holds the lock of %s and does not let go", f->path);
    }
    if (outcome == BROKEN)
        drop_to(l, before);
    return outcome == TAKEN;
}

bool login_lock_renew(struct login_lock *l, const struct login_form *form, const struct credfile *f,
                      int64_t deadline_ms, struct err *err)
{
    return take(l, form, f, deadline_ms, try_renew, err);
}

bool login_lock_write(struct login_lock *l, const struct login_form *form, const struct credfile *f,
                      int64_t deadline_ms, struct err *err)
{
    return take(l, form, f, deadline_ms, try_write, err);
}
