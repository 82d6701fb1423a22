/*
 * hunks: what commits change, as lines of their base, read from `git diff-tree` without context.
 */
#ifndef WORKTREE_HUNKS_H
#define WORKTREE_HUNKS_H

#include <stddef.h>
#include <stdint.h>
#include "runner/base/err.h"

struct hunk {
    long start, count; /* lines of the base, from 0; count 0: inserted before `start` */
    uint64_t digest;   /* of what is removed and put there */
};

struct hunk_file {
    char *path;
    char *old_oid, *new_oid; /* all zeros: absent on that side */
    bool is_binary, has_mode_change;
    struct hunk *v;
    size_t n;
};

struct hunk_set {
    struct hunk_file *v; /* sorted by path */
    size_t n;
    bool is_cut; /* too large: what is here is not all */
};
void hunk_set_release(struct hunk_set *set);

/* What leads from `from` to `to`. */
struct hunk_pair {
    const char *from, *to; /* commits */
};
/* sets[i] for pairs[i]; the caller releases them, also after a failure. */
bool hunks_get(struct hunk_set *sets, const struct hunk_pair *pairs, size_t n,
               const char *common_dir, struct err *err) WARN_UNUSED;
/* Parse what git printed for pairs; `to` of each heads its part. Pure. */
bool hunks_parse(struct hunk_set *sets, const struct hunk_pair *pairs, size_t n, const char *text,
                 size_t len, struct err *err) WARN_UNUSED;
/* Whether both touch the same or neighbouring lines and are not the same change. */
bool hunks_clash(const struct hunk *a, const struct hunk *b);

#endif
