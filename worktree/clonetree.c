#include "worktree/clonetree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/strv.h"

enum { WORKERS_MAX = 8 };

/* What the workers share; the lock guards all but the two roots. */
struct cloning {
    int from, to;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct strv folders; /* below the roots, found so far */
    size_t next;         /* the first that nobody has taken */
    int busy;            /* workers that may still find more */
    bool has_failed;
    struct err err; /* the first failure */
};

/* ---- one folder ---- */

static bool give_owner(int dirfd, const char *name, const struct stat *st)
{
    return st->st_uid == geteuid() ||
           fchownat(dirfd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool give_times(int dirfd, const char *name, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    return utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) == 0;
}

/* To what is open: owner, mode and times. */
static bool give_all(int fd, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    return (st->st_uid == geteuid() || fchown(fd, st->st_uid, st->st_gid) == 0) &&
           fchmod(fd, st->st_mode & 0777) == 0 && futimens(fd, times) == 0;
}

bool clonetree_file(int from_dirfd, int to_dirfd, const char *name, struct err *err)
{
    struct stat st;
    AUTO_FD int from = openat(from_dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) != 0)
        return err_sys(err, errno, "cannot open %s", name);
    AUTO_FD int to =
        openat(to_dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(err, errno, "cannot create %s", name);
    if (ioctl(to, FICLONE, from) != 0)
        return err_sys(err, errno, "cannot clone %s", name);
    return give_all(to, &st) || err_sys(err, errno, "cannot set mode and time of %s", name);
}

static bool clone_link(int from, int to, const char *name, const struct stat *st, struct err *err)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);
    if (len < 0)
        return err_sys(err, errno, "cannot read the link %s", name);
    target[len] = '\0';
    return (symlinkat(target, to, name) == 0 && give_owner(to, name, st) &&
            give_times(to, name, st)) ||
           err_sys(err, errno, "cannot make the link %s", name);
}

static void push_folder(struct cloning *c, const char *path)
{
    pthread_mutex_lock(&c->lock);
    strv_push(&c->folders, path);
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->lock);
}

static bool clone_entry(struct cloning *c, const char *folder, int from, int to, const char *name,
                        struct err *err)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, errno, "cannot look at %s", name);
    if (S_ISREG(st.st_mode))
        return clonetree_file(from, to, name, err);
    if (S_ISLNK(st.st_mode))
        return clone_link(from, to, name, &st, err);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_FORMAT, "%s is neither file, folder nor link", name);
    if (mkdirat(to, name, 0700) != 0)
        return err_sys(err, errno, "cannot make the folder %s", name);
    AUTO_FREE char *path = strcmp(folder, ".") == 0 ? xstrdup(name) : fs_join(folder, name);
    push_folder(c, path);
    return true;
}

static bool clone_entries(struct cloning *c, const char *folder, DIR *dir, int to, struct err *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (!e)
            return errno == 0 || err_sys(err, errno, "cannot list %s", folder);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !clone_entry(c, folder, dirfd(dir), to, e->d_name, err))
            return false;
    }
}

static bool clone_folder(struct cloning *c, const char *folder, struct err *err)
{
    struct stat st;
    AUTO_FD int from = fs_open_beneath(c->from, folder, O_RDONLY | O_DIRECTORY, 0, err);
    AUTO_FD int to = from < 0 ? -1 : fs_open_beneath(c->to, folder, O_RDONLY | O_DIRECTORY, 0, err);
    if (to < 0)
        return false;
    AUTO_DIR DIR *dir = fstat(from, &st) == 0 ? fdopendir(from) : NULL;
    if (!dir)
        return err_sys(err, errno, "cannot list %s", folder);
    steal_fd(&from);
    if (!clone_entries(c, folder, dir, to, err))
        return false;
    /* Last: what came into it changed its time, and its mode may forbid it. */
    return give_all(to, &st) || err_sys(err, errno, "cannot set mode and time of %s", folder);
}

/* ---- the workers ---- */

/* The next folder, NULL when there will be none. The lock is held. */
static const char *take_folder(struct cloning *c)
{
    while (!c->has_failed && c->next == c->folders.n && c->busy > 0)
        pthread_cond_wait(&c->news, &c->lock);
    if (c->has_failed || c->next == c->folders.n)
        return NULL;
    c->busy++;
    return c->folders.v[c->next++];
}

static void *work(void *arg)
{
    struct cloning *c = arg;
    pthread_mutex_lock(&c->lock);
    for (const char *folder; (folder = take_folder(c));) {
        struct err err = ERR_INIT;
        pthread_mutex_unlock(&c->lock);
        bool ok = clone_folder(c, folder, &err);
        pthread_mutex_lock(&c->lock);
        c->busy--;
        if (!ok && !c->has_failed) {
            c->has_failed = true;
            c->err = err;
        }
        if (c->has_failed || c->busy == 0)
            pthread_cond_broadcast(&c->news);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* This thread and as many others as there are further processors. */
static void run_workers(struct cloning *c)
{
    pthread_t others[WORKERS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = (int)(processors < WORKERS_MAX ? processors : WORKERS_MAX) - 1, n = 0;
    while (n < wanted && pthread_create(&others[n], NULL, work, c) == 0)
        n++;
    work(c);
    for (int i = 0; i < n; i++)
        pthread_join(others[i], NULL);
}

bool clonetree(const char *from, const char *to, struct err *err)
{
    if (mkdir(to, 0700) != 0)
        return err_sys(err, errno, "cannot make the folder %s", to);
    AUTO_FD int from_fd = fs_open_dir(AT_FDCWD, from, err);
    AUTO_FD int to_fd = from_fd < 0 ? -1 : fs_open_dir(AT_FDCWD, to, err);
    if (to_fd < 0)
        return false;
    struct cloning c = {
        .from = from_fd,
        .to = to_fd,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .news = PTHREAD_COND_INITIALIZER,
        .folders = STRV_INIT,
        .err = ERR_INIT,
    };
    strv_push(&c.folders, ".");
    run_workers(&c);
    strv_release(&c.folders);
    pthread_cond_destroy(&c.news);
    pthread_mutex_destroy(&c.lock);
    if (!c.has_failed)
        return true;
    *err = c.err;
    return err_prefix(err, "cannot clone the files of %s", from);
}
