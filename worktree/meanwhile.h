/*
 * meanwhile: whether somebody else rearranged a repository while something was done there: packed
 * it anew, pruned it, deleted a branch. What failed then may succeed the next time.
 */
#ifndef WORKTREE_MEANWHILE_H
#define WORKTREE_MEANWHILE_H

#include "runner/base/strv.h"
#include "worktree/refs.h"

struct meanwhile {
    struct strv packs; /* those that there were */
};

#define MEANWHILE_INIT     \
    {                      \
        .packs = STRV_INIT \
    }

void meanwhile_begin(struct meanwhile *m, const char *common_dir);
/* A pack is gone, or one of these refs, or it has another value. Those that came do not count, nor
 * does the ref `but`. */
bool meanwhile_is_different(const struct meanwhile *m, const char *common_dir,
                            const struct ref_list *refs, const char *but);
void meanwhile_release(struct meanwhile *m);

#endif
