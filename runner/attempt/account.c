#include "runner/attempt/account.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

bool account_of_boxes(struct account *ret, const struct config *config, struct err *err)
{
    if (geteuid() != 0) {
        *ret = (struct account){.uid = geteuid(), .gid = getegid(), .is_other = false};
        return true;
    }
    const char *name = config_str(config, "box.user", "headgate");
    char text[4096];
    struct passwd entry, *found = NULL;
    int rc = getpwnam_r(name, &entry, text, sizeof text, &found);
    if (rc != 0 && rc != ENOENT)
        return err_sys(err, rc, "cannot look up the account '%s' of box.user", name);
    if (!found)
        return err_set(err, ERR_LAYER,
                       "started by root, a box runs as the account '%s' (box.user), which does not "
                       "exist; create it with: useradd --system --shell /usr/sbin/nologin %s",
                       name, name);
    if (found->pw_uid == 0)
        return err_set(err, ERR_LAYER, "box.user names '%s', which is root; choose another account",
                       name);
    *ret = (struct account){.uid = found->pw_uid, .gid = found->pw_gid, .is_other = true};
    return true;
}
