/*
 * treediff: what differs between two commits' trees, as a list. Objects only: no file of any
 * worktree, no filter, no attribute, no external program has a part in it.
 */
#ifndef WORKTREE_TREEDIFF_H
#define WORKTREE_TREEDIFF_H

#include <stddef.h>
#include "runner/base/err.h"

struct treediff_entry {
    unsigned old_mode, new_mode; /* 0 when absent */
    char *old_oid, *new_oid;
    char *path;
};

struct treediff {
    struct treediff_entry *v;
    size_t n, cap;
};

#define TREEDIFF_INIT               \
    {                               \
        .v = NULL, .n = 0, .cap = 0 \
    }
#define AUTO_TREEDIFF __attribute__((cleanup(treediff_release)))

bool treediff_get(struct treediff *ret, const char *common_dir, const char *from, const char *to,
                  struct err *err) WARN_UNUSED;
void treediff_release(struct treediff *d);

#endif
