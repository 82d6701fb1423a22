/*
 * engine: how an attempt's files get to its worktree. One table entry per engine; creation knows
 * nothing more. In the order of enum wt_engine they are tried, and the first that works is taken.
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
    char *subs_dir;       /* where the record and the indexes of submodules are (subs.h) */
    struct basetree base; /* locked until the attempt is on record */
};

struct engine {
    const char *name;
    const char *files;  /* name of the folder in the attempt's, in which is what the agent writes */
    const char *trade;  /* what it gives and takes: for a person who chooses */
    const char *remark; /* of what people should know who get it, or NULL */
    /* Whether it works for a state folder with this folder of bases; else *ret_why says what is in
     * the way. Allocated. */
    bool (*works)(const char *bases_dir, char **ret_why);
    /* Make the files. The folder tree exists and is empty. */
    bool (*make)(struct engine_job *job, struct err *err) WARN_UNUSED;
};

extern const struct engine engine_overlay, engine_btrfs, engine_reflink, engine_checkout;
const struct engine *engine_get(enum wt_engine engine);
/* The host's folder of an attempt is empty but for a note: the files appear in the box only. */
bool engine_is_hidden(const struct engine *e);

/* The answer of `attempt`, which is asked once per boot; it adds to why, or nothing when it works.
 */
bool engine_remember(const char *bases_dir, const char *name,
                     void (*attempt)(const char *bases_dir, struct buf *ret_why), char **ret_why);

/* The base of the job. */
struct basetree_want engine_want(const struct engine_job *job, enum basetree_kind kind);
/* Take over the submodules that are on record in `folder`, also why not all of them are filled. */
bool engine_take_subs(struct engine_job *job, const char *folder, struct err *err) WARN_UNUSED;
/* The folder of what the agent writes, made, with a file on which the box can show the gitfile. */
bool engine_place_gitfile(const struct wt_attempt *a, struct err *err) WARN_UNUSED;
/* A folder for subs_dir in the attempt's own; it goes when the attempt is whole. */
#define ENGINE_SUBS "indexes"

void engine_job_release(struct engine_job *job);

#endif
