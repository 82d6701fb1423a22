#include "worktree/engine.h"

#include <stdlib.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/fault.h"

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    job->index = fs_join(a->dir, "index");
    job->face_index = xstrdup(job->index);
    struct checkout c = {
        .repo = job->repo,
        .cfg = job->cfg,
        .oid = job->oid,
        .tree = a->tree,
        .index = job->index,
        .uid = a->uid,
        .gid = a->gid,
    };
    return checkout_files(&c, NULL, err) && wt_fault(err);
}

const struct engine engine_checkout = {
    .name = "checkout",
    .is_tree_empty_on_host = false,
    .make = make,
};

void engine_job_release(struct engine_job *job)
{
    free(job->index);
    free(job->face_index);
    basetree_release(&job->base);
}
