#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/worktree.h"

bool wt_diff(struct buf *out, const char *repo_common_dir, const char *from, const char *to,
             enum wt_diff_form form, bool color, struct err *err)
{
    static const char *const forms[] = {
        [WT_DIFF_PATCH] = "--patch",
        [WT_DIFF_STAT] = "--stat",
        [WT_DIFF_NAMES] = "--name-status",
    };
    struct gitrun g = {.git_dir = repo_common_dir, .bare = true};
    return gitrun_out(out, &g,
                      GIT_ARGS("diff-tree", "-r", forms[form], "--find-renames", "--no-ext-diff",
                               "--no-textconv", "--submodule=short",
                               color ? "--color=always" : "--color=never", from, to),
                      err);
}

bool wt_read_file(struct buf *out, const char *repo_common_dir, const char *commit,
                  const char *path, struct err *err)
{
    struct gitrun g = {.git_dir = repo_common_dir, .bare = true};
    AUTO_FREE char *object = xasprintf("%s:%s", commit, path);
    return gitrun_out(out, &g, GIT_ARGS("cat-file", "blob", object), err);
}
