/*
 * patchid: which commits of one side of a range change, to the byte, what a commit of the other
 * side does. git's own comparison (`rev-list --cherry-pick`) leaves blanks out, and a patch that
 * differs in blanks is another program in Python and another text everywhere.
 */
#ifndef WORKTREE_PATCHID_H
#define WORKTREE_PATCHID_H

#include <stdint.h>

#include "runner/base/strv.h"

struct patchid_ask {
    const char *common_dir;
    const struct strv *env;   /* for git; NULL: none */
    const struct strv *range; /* arguments of rev-list, among them one A...B */
    int64_t timeout_ms;       /* of each step; 0: none */
};

/* The commits of the right side with an equal on the left. Merges and empty commits have none, nor
 * has any when git could not list the patches in time. */
bool patchid_equals(struct strv *ret_oids, const struct patchid_ask *ask,
                    struct err *err) WARN_UNUSED;

#endif
