/*
 * engine: how an attempt's files get to its worktree. One table entry per engine; creation knows
 * nothing more.
 */
#ifndef WORKTREE_ENGINE_H
#define WORKTREE_ENGINE_H

#include "worktree/basetree.h"

struct engine_job {
    const struct wt_repo *repo;
    const struct gitcfg *cfg;
    const char *bases_dir;
    const char *oid;
    struct wt_attempt *attempt; /* dir and tree are set; the engine sets lower, upper, work */
    /* Made by the engine: */
    char *index;          /* a valid index of the files */
    char *face_index;     /* index of the host face */
    struct basetree base; /* locked until the attempt is on record */
};

struct engine {
    const char *name;
    bool is_tree_empty_on_host;
    /* Make the files. The folder tree exists and is empty. */
    bool (*make)(struct engine_job *job, struct err *err) WARN_UNUSED;
};

extern const struct engine engine_overlay, engine_checkout;

void engine_job_release(struct engine_job *job);
/* Whether an overlay can be mounted over folders in bases_dir, tried once per boot; else *ret_why
 * says what is in the way. Allocated. */
bool engine_overlay_works(const char *bases_dir, char **ret_why);

#endif
