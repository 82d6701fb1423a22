#include "runner/attempt/box_claims.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/attempt/claims.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { CLAIM_BYTES = 1024 * 1024 };

/* Anybody can make a folder in /tmp: judged after it was opened, and no link is followed. */
static int open_file(struct err *err)
{
    struct stat st;
    AUTO_FREE char *folder = xasprintf("/tmp/headgate-%u", geteuid());
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot create %s", folder), -1;
    AUTO_FD int dir = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) != 0)
        return err_sys(err, errno, "cannot open %s", folder), -1;
    if (st.st_uid != geteuid() || st.st_mode & 077)
        return err_set(err, ERR_REFUSED, "%s is not yours alone; remove it", folder), -1;
    AUTO_FD int fd = openat(dir, "writable", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        return err_sys(err, errno, "cannot lock %s/writable", folder), -1;
    return steal_fd(&fd);
}

/* "PID TICKS BOOT PATH"; *ret_path is in the line. */
static bool is_live(const char *line, pid_t *ret_pid, const char **ret_path)
{
    struct proc_id id = {0};
    int pid, at = 0;
    if (sscanf(line, "%d %" SCNu64 " %39s %n", &pid, &id.start_ticks, id.boot_id, &at) != 3 ||
        at == 0)
        return false;
    id.pid = *ret_pid = (pid_t)pid;
    *ret_path = line + at;
    return proc_id_alive(&id);
}

/* Against each note of a process that lives; these go into *ret_kept. *ret_size: of the file. */
static bool check(int fd, const struct strv *writable, struct buf *ret_kept, size_t *ret_size,
                  struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    if (!fs_read_fd(&text, fd, CLAIM_BYTES, err))
        return false;
    *ret_size = text.len;
    strv_split(&lines, text.ptr, '\n', false);
    for (size_t i = 0; i < lines.n; i++) {
        const char *path;
        pid_t pid;
        if (!is_live(lines.v[i], &pid, &path))
            continue;
        buf_addf(ret_kept, "%s\n", lines.v[i]);
        for (size_t k = 0; k < writable->n; k++)
            if (claims_overlap(writable->v[k], path))
                return err_set(
                    err, ERR_CONFLICT,
                    "%s is writable in another box (`headgate box`, process %d), and no "
                    "folder is writable in two boxes; show it with --ro, or end that one",
                    path, (int)pid);
    }
    return true;
}

bool box_claims_check(const struct strv *writable, struct err *err)
{
    AUTO_BUF struct buf kept = BUF_INIT;
    size_t size;
    if (writable->n == 0)
        return true;
    AUTO_FD int fd = open_file(err);
    return fd >= 0 && check(fd, writable, &kept, &size, err);
}

static bool check_attempts(const struct strv *writable, struct err *err)
{
    AUTO_STRV struct strv own = STRV_INIT;
    AUTO_PATHS struct paths paths = {0};
    paths_add_private(&own);
    bool has_attempts = false;
    for (size_t i = 0; i < own.n && !has_attempts; i++) {
        AUTO_FREE char *attempts = fs_join(own.v[i], "attempts");
        has_attempts = fs_is_dir(attempts);
    }
    return !has_attempts || (paths_init(&paths, err) && claims_check(&paths, "", writable, err));
}

bool box_claims_take(const struct box_spec *spec, struct err *err)
{
    AUTO_STRV struct strv writable = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    struct proc_id own;
    size_t size;
    for (size_t i = 0; i < spec->n_binds; i++)
        if (spec->binds[i].flags & BOX_BIND_WRITE && !strchr(spec->binds[i].host, '\n'))
            strv_push(&writable, spec->binds[i].host);
    if (writable.n == 0)
        return true;
    AUTO_FD int fd = open_file(err);
    if (fd < 0 || !check(fd, &writable, &text, &size, err) || !check_attempts(&writable, err) ||
        !proc_id_of(&own, getpid(), err))
        return false;
    for (size_t i = 0; i < writable.n; i++)
        buf_addf(&text, "%d %" PRIu64 " %s %s\n", (int)own.pid, own.start_ticks, own.boot_id,
                 writable.v[i]);
    /* Written over: to empty a file first costs a quarter of a millisecond on ext4. */
    return (lseek(fd, 0, SEEK_SET) == 0 && fs_write_fd(fd, text.ptr, text.len, err) &&
            (size <= text.len || ftruncate(fd, (off_t)text.len) == 0)) ||
           err_sys(err, errno, "cannot note what the box writes");
}
