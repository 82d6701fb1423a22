#include "worktree/checkout.h"

#include <fcntl.h>

#include "runner/base/fs.h"
#include "worktree/gitindex.h"
#include "worktree/gitrun.h"
#include "worktree/lfs.h"

void checkout_add_index_config(struct strv *config)
{
    strv_push(config, "index.version=2");
    strv_push(config, "core.splitIndex=false");
    strv_push(config, "core.untrackedCache=false");
    strv_push(config, "index.sparse=false"); /* one entry for each file */
}

bool checkout_files(const struct checkout *c, struct buf *ret_paths, struct err *err)
{
    AUTO_STRV struct strv config = STRV_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT, paths = BUF_INIT;
    strv_push(&config, "checkout.workers=0"); /* one per processor */
    checkout_add_index_config(&config);
    gitcfg_add_lfs_off(&config);
    struct gitrun g = {
        .git_dir = c->repo->git_dir,
        .work_tree = c->tree,
        .index_file = c->index,
        .config = &config,
    };
    const char *const *args = GIT_ARGS("read-tree", "-m", "-u", c->oid);
    if (!gitrun_out(&ignored, &g, args, err))
        return err_prefix(err, "cannot check out %.12s", c->oid);
    if (!gitindex_paths(&paths, c->index, c->repo->object_format, err) || !lfs_fill(c, &paths, err))
        return false;
    if (c->uid != (uid_t)-1 && !fs_chown_tree(AT_FDCWD, c->tree, c->uid, c->gid, err))
        return false;
    return gitindex_stamp(c->index, c->tree, c->repo->object_format, ret_paths, err);
}
