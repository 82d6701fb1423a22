/*
 * lock: the lock that an agent's own program takes before it renews or writes its login, taken in
 * the same way, so that the person's own use of it and ours never renew at once.
 *
 * Claude Code (seen with 2.1.332): folders that are made with mkdir(2) and removed,
 * `.oauth_refresh.lock` beside the file and then `FOLDER.lock` for older versions, to renew;
 * `.storage-write.lock` to write. One whose time is older than a minute (15 s for writing) is left
 * over from a process that died, and is taken away. We hold ours for less. Codex (seen with
 * 0.171.0): flock(2) on `auth.lock` and then `auth.json.lock`, both only to write: it may renew
 * while we do.
 */
#ifndef LOGIN_LOCK_H
#define LOGIN_LOCK_H

#include <stdint.h>
#include <sys/types.h>
#include "runner/base/err.h"
#include "runner/login/credfile.h"

enum { LOGIN_LOCKS = 3 };

struct login_lock {
    struct {
        char *path; /* of a folder; NULL: a descriptor */
        ino_t inode;
        int fd;
    } held[LOGIN_LOCKS];
    size_t n;
};
#define LOGIN_LOCK_INIT \
    {                   \
        .n = 0          \
    }
#define AUTO_LOGIN_LOCK __attribute__((cleanup(login_lock_release)))

/* Wait until deadline_ms (clock_mono_ms) for the locks to renew; ERR_CONFLICT then. */
bool login_lock_renew(struct login_lock *l, const struct login_form *form, const struct credfile *f,
                      int64_t deadline_ms, struct err *err) WARN_UNUSED;
/* The one to write, on top of those. */
bool login_lock_write(struct login_lock *l, const struct login_form *form, const struct credfile *f,
                      int64_t deadline_ms, struct err *err) WARN_UNUSED;
/* Nobody has taken a folder for left over meanwhile. */
bool login_lock_is_held(const struct login_lock *l);
/* In reverse. */
void login_lock_release(struct login_lock *l);

#endif
