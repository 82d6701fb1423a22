/*
 * radar: which of many branches would meet conflicts, with each other and with their targets.
 *
 * The hunks of all branches come from one process of git. Two branches are looked at only where
 * they changed a path in common. There git's own rule for text decides: two changes of the same
 * lines, or of neighbouring ones, that are not the same change. What that rule does not cover
 * (renames, removed files, other bases) is merged in memory, a bounded number of times.
 */
#ifndef WORKTREE_RADAR_H
#define WORKTREE_RADAR_H

#include "worktree/worktree.h"

struct radar_tip {
    const char *oid, *base; /* whole object names */
    const char *into;       /* short name of its target; NULL: the branch of the main checkout */
};

struct radar_clash {
    char *path;
    long line; /* first line of the base that both change (where their bases differ: that line as b,
                  or the target, has it), 0 when it is not about lines */
};

/* A pair that has a path in common, or a tip and its target. */
struct radar_trial {
    size_t a;
    size_t b;              /* RADAR_TARGET: the target of a */
    struct radar_clash *v; /* a path may have several lines */
    size_t n;
    bool is_open; /* nobody knows: one of n_open */
};
#define RADAR_TARGET SIZE_MAX

struct radar {
    struct radar_trial *v; /* by a, the target first */
    size_t n;
    size_t n_merged; /* how many were decided by a merge in memory */
    size_t n_open;   /* how many were left undecided, and count as no conflict */
};
#define RADAR_INIT        \
    {                     \
        .v = NULL, .n = 0 \
    }
#define AUTO_RADAR __attribute__((cleanup(radar_release)))
void radar_release(struct radar *r);

/* A target that is not there has no trial. Changes nothing; blocks. */
bool radar_scan(struct radar *ret, const char *common_dir, const struct radar_tip *tips, size_t n,
                struct err *err) WARN_UNUSED;

#endif
