/*
 * account: whom the boxes of this Headgate run as: the caller, or, started by root, the
 * unprivileged account of box.user, since uid 0 without any capability still reads /etc/shadow and
 * writes /proc/sys.
 */
#ifndef ATTEMPT_ACCOUNT_H
#define ATTEMPT_ACCOUNT_H

#include <sys/types.h>

#include "runner/base/config.h"

struct account {
    uid_t uid;
    gid_t gid;
    bool is_other; /* not the caller: what the box writes must be given to it */
};

/* ERR_LAYER with the command that creates the account, when root has none to use. */
bool account_of_boxes(struct account *ret, const struct config *config,
                      struct err *err) WARN_UNUSED;

#endif
