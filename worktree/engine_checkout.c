/*
 * checkout: git writes the files, with workers, into the folder that the host sees too. It works
 * anywhere.
 */
#include "worktree/engine.h"

#include <fcntl.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/fault.h"
#include "worktree/gitindex.h"
#include "worktree/gitrun.h"
#include "worktree/subs.h"

static bool works(const char *bases_dir, char **ret_why)
{
    (void)bases_dir;
    (void)ret_why;
    return true;
}

/* Whoever runs `git status` in the host's folder runs git in its submodules, whose folders and
 * settings are the agent's: there they are passed over. */
static bool make_face_index(struct engine_job *job, struct err *err)
{
    AUTO_BUF struct buf links = BUF_INIT, ignored = BUF_INIT;
    struct gitrun g = {
        .git_dir = job->repo->git_dir,
        .work_tree = job->attempt->tree,
        .index_file = job->face_index,
    };
    if (!fs_copy_file(AT_FDCWD, job->index, AT_FDCWD, job->face_index, err) ||
        !gitindex_submodules(&links, job->index, job->repo->object_format, err))
        return false;
    g.input = links.ptr;
    g.input_len = links.len;
    return links.len == 0 ||
           gitrun_out(&ignored, &g, GIT_ARGS("update-index", "--skip-worktree", "-z", "--stdin"),
                      err);
}

static bool fill_subs(struct engine_job *job, struct err *err)
{
    const struct wt_attempt *a = job->attempt;
    const struct basetree_want want = engine_want(job, BASETREE_FILES);
    AUTO_FREE char *folder = fs_join(a->dir, ENGINE_SUBS);
    return fs_mkdirs(folder, 0700, err) && subs_check_out(&want, folder, a->tree, err) &&
           engine_take_subs(job, folder, err);
}

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    job->index = fs_join(a->dir, "index");
    job->face_index = fs_join(a->dir, "face");
    struct checkout c = {
        .repo = job->repo,
        .cfg = job->cfg,
        .oid = job->oid,
        .tree = a->tree,
        .index = job->index,
        .uid = a->uid,
        .gid = a->gid,
    };
    return checkout_files(&c, NULL, err) && wt_fault(err) && fill_subs(job, err) &&
           make_face_index(job, err) && wt_fault(err);
}

const struct engine engine_checkout = {
    .name = "checkout",
    .files = "tree",
    .trade = "starts as git worktree add does, and takes the disk of a copy; files open as in a "
             "plain folder",
    .remark =
        "its files are on this host, where your shell's prompt and your editor may act on what "
        "an agent wrote",
    .works = works,
    .make = make,
};
