#include "runner/attempt/claims.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/attempt/box_claims.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"

#define FILE_NAME "writable"

enum {
    CLAIM_BYTES = 1024 * 1024,
    START_S = 120, /* from the note to the keeper that answers */
};

bool claims_overlap(const char *a, const char *b)
{
    return fs_is_at_or_below(a, b) || fs_is_at_or_below(b, a);
}

static bool check_own(const struct boxes *b, const struct box_bind *bind, struct err *err)
{
    if (claims_overlap(bind->host, b->paths->state) ||
        claims_overlap(bind->host, b->paths->runtime))
        return err_set(err, ERR_USAGE,
                       "%s cannot be shown in a box: Headgate keeps its state there", bind->host);
    if (bind->flags & BOX_BIND_WRITE && claims_overlap(bind->host, b->tree->repo))
        return err_set(
            err, ERR_USAGE,
            "%s cannot be writable in a box: the repository's own %s is there, and what is "
            "written in it runs outside",
            bind->host, b->tree->repo);
    return true;
}

/* Its keeper answers, or has had no time to yet. */
static bool is_live(const struct paths *paths, const char *attempt, int claim_fd)
{
    struct stat st;
    struct err ignored = ERR_INIT;
    AUTO_FREE char *path = paths_keeper_socket(paths, attempt);
    AUTO_FD int fd = socket_connect(path, &ignored);
    return fd >= 0 || (fstat(claim_fd, &st) == 0 && time(NULL) - st.st_mtim.tv_sec < START_S);
}

/* Against the note of one other attempt. */
static bool check_other(const struct paths *paths, const char *attempt, const struct strv *writable,
                        struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_STRV struct strv theirs = STRV_INIT;
    AUTO_FREE char *path = paths_attempt_file(paths, attempt, FILE_NAME);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return true;
    if (!fs_read_fd(&text, fd, CLAIM_BYTES, err))
        return false;
    strv_split(&theirs, text.ptr, '\n', false);
    for (size_t i = 0; i < writable->n; i++)
        for (size_t k = 0; k < theirs.n; k++)
            if (claims_overlap(writable->v[i], theirs.v[k]) && is_live(paths, attempt, fd))
                return err_set(
                    err, ERR_CONFLICT,
                    "%s is writable in the box of %s, which runs, and no folder is writable "
                    "in two boxes; show it with --ro, or wait for 'headgate show %s' to be "
                    "done",
                    theirs.v[k], attempt, attempt);
    return true;
}

bool claims_check(const struct paths *paths, const char *own, const struct strv *writable,
                  struct err *err)
{
    AUTO_DIR DIR *dir = opendir(paths->attempts);
    const struct dirent *entry;
    if (!dir)
        return err_sys(err, errno, "cannot read %s", paths->attempts);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0 &&
            !check_other(paths, entry->d_name, writable, err))
            return false;
    return true;
}

/* One at a time: two that look at once would both find nothing. */
static int lock(const struct paths *paths, struct err *err)
{
    AUTO_FREE char *path = fs_join(paths->state, "claims.lock");
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return err_sys(err, errno, "cannot lock %s", path), -1;
    return steal_fd(&fd);
}

bool claims_take(const struct boxes *b, const struct box_spec *spec, size_t first, struct err *err)
{
    AUTO_STRV struct strv writable = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = paths_attempt_file(b->paths, b->spec->id, FILE_NAME);
    for (size_t i = first; i < spec->n_binds; i++) {
        const struct box_bind *bind = &spec->binds[i];
        if (!check_own(b, bind, err))
            return false;
        if (!(bind->flags & BOX_BIND_WRITE))
            continue;
        if (strchr(bind->host, '\n'))
            return err_set(err, ERR_USAGE, "a writable path must not hold a newline");
        strv_push(&writable, bind->host);
        buf_addf(&text, "%s\n", bind->host);
    }
    claims_drop(b->paths, b->spec->id);
    if (writable.n == 0)
        return true;
    AUTO_FD int fd = lock(b->paths, err);
    return fd >= 0 && claims_check(b->paths, b->spec->id, &writable, err) &&
           box_claims_check(&writable, err) &&
           fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0600, err);
}

void claims_drop(const struct paths *paths, const char *attempt)
{
    AUTO_FREE char *path = paths_attempt_file(paths, attempt, FILE_NAME);
    unlink(path);
}
