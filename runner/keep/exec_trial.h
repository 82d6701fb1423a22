/*
 * exec_trial: the exec gate tried in a real box, without a keeper, for `headgate doctor`.
 *
 * A script runs in a box whose execs are judged here. One program is refused, by whatever name or
 * way it is started; and what was allowed can be changed between the answer and the kernel's own
 * look, by this process in the caller's memory or in the box's files, which no thread in the box
 * could do at a worse moment. Blocks for at most ten seconds; no other child of the process may be
 * waited for meanwhile.
 */
#ifndef KEEP_EXEC_TRIAL_H
#define KEEP_EXEC_TRIAL_H

#include <sys/types.h>
#include "runner/base/err.h"

enum exec_gating {
    EXEC_GATED,
    EXEC_UNVERIFIED, /* what goes on is not verified */
    EXEC_NOT_GATED,
};

enum exec_change {
    EXEC_CHANGE_NONE,
    EXEC_CHANGE_PATH,     /* in memory: /bin/echo, a path as long as /bin/true */
    EXEC_CHANGE_ARGUMENT, /* in memory: the first argument is `changed` */
    EXEC_CHANGE_LINK,     /* the link /tmp/link is replaced by /tmp/new, which the script made */
    EXEC_CHANGE_HOLDER,   /* the holder of the gate goes away, the exec unanswered */
};

struct exec_trial {
    const char *script;  /* of sh */
    const char *refused; /* name of a program; NULL: none */
    const char *changed; /* the path, as called, of the exec that is changed; NULL: none */
    enum exec_change change;
};

/* What the script printed, allocated. *ret_why (set): why there is no gate, or no box. */
char *exec_trial_run(const struct exec_trial *trial, enum exec_gating gating, const char *launcher,
                     uid_t uid, gid_t gid, struct err *ret_why);

#endif
