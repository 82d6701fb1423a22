#include "worktree/moment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

static const char begun[] = "harvesting", kept[] = "harvested";

/* The kernel stamps files by a clock that lags up to a tick behind, and by the exact one where a
 * file was looked at in between. By the exact one all that was before is before; after the tick all
 * that comes is after. */
static bool stamp(const char *path, struct err *err)
{
    struct timespec now[2];
    clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    if (utimensat(AT_FDCWD, path, now, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, errno, "cannot note the time of %s", path);
    clock_pass_tick();
    return true;
}

bool moment_made(const struct wt_attempt *a, const char *made, struct err *err)
{
    AUTO_FREE char *path = fs_join(a->dir, made);
    return stamp(path, err);
}

bool moment_begin(const struct wt_attempt *a, struct err *err)
{
    AUTO_FREE char *path = fs_join(a->dir, begun);
    return fs_write_plain(AT_FDCWD, path, "", 0, 0600, err) && stamp(path, err);
}

bool moment_keep(const struct wt_attempt *a, struct err *err)
{
    AUTO_FREE char *from = fs_join(a->dir, begun);
    AUTO_FREE char *to = fs_join(a->dir, kept);
    return rename(from, to) == 0 || err_sys(err, errno, "cannot note the harvest of %s", a->id);
}

bool moment_known(struct timespec *ret, const struct wt_attempt *a, const char *made)
{
    const char *const names[] = {kept, made};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = fs_join(a->dir, names[i]);
        struct stat st;
        if (stat(path, &st) == 0) {
            *ret = st.st_mtim;
            return true;
        }
    }
    return false;
}
