#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/worktree.h"

bool wt_diff(struct buf *out, const char *repo_common_dir, const char *from, const char *to,
             enum wt_diff_form form, bool color, const struct strv *paths, struct err *err)
{
    static const char *const forms[] = {
        [WT_DIFF_PATCH] = "--patch",
        [WT_DIFF_STAT] = "--stat",
        [WT_DIFF_NAMES] = "--name-status",
    };
    AUTO_STRV struct strv args = STRV_INIT;
    struct gitrun g = {.git_dir = repo_common_dir, .bare = true};
    const char *const *words =
        GIT_ARGS("--literal-pathspecs", "diff-tree", "-r", forms[form], "--find-renames",
                 "--no-ext-diff", "--no-textconv", "--submodule=short", "--src-prefix=a/",
                 "--dst-prefix=b/", color ? "--color=always" : "--color=never", from, to, "--");
    for (; *words; words++)
        strv_push(&args, *words);
    if (paths)
        strv_push_all(&args, strv_array(paths));
    return gitrun_out(out, &g, (const char *const *)args.v, err);
}

static bool is_below(bool *ret, const struct gitrun *g, const char *older, const char *newer,
                     struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    if (!gitrun(&r, g, GIT_ARGS("merge-base", "--is-ancestor", older, newer), err))
        return false;
    *ret = r.status == 0;
    return true;
}

bool wt_diff_base(char ret[65], const char *repo_common_dir, const char *base, const char *tip,
                  const char *into, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *target = into ? xasprintf("refs/heads/%s", into) : xstrdup("HEAD");
    struct gitrun g = {.git_dir = repo_common_dir};
    bool is_newer = false;
    if (!gitrun(&r, &g, GIT_ARGS("merge-base", "--", target, tip), err))
        return false;
    buf_rtrim(&r.out);
    bool has_common = r.status == 0 && gitrun_is_oid(r.out.ptr);
    if (has_common && !is_below(&is_newer, &g, base, r.out.ptr, err))
        return false;
    const char *chosen = is_newer && strcmp(r.out.ptr, tip) != 0 ? r.out.ptr : base;
    memcpy(ret, chosen, strnlen(chosen, 64) + 1);
    return true;
}

bool wt_read_file(struct buf *out, const char *repo_common_dir, const char *commit,
                  const char *path, struct err *err)
{
    struct gitrun g = {.git_dir = repo_common_dir, .bare = true};
    AUTO_FREE char *object = xasprintf("%s:%s", commit, path);
    return gitrun_out(out, &g, GIT_ARGS("cat-file", "blob", object), err);
}

bool wt_has_path(bool *ret, const char *repo_common_dir, const char *commit, const char *path,
                 struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = repo_common_dir, .bare = true};
    AUTO_FREE char *object = xasprintf("%s:%s", commit, path);
    if (!gitrun(&r, &g, GIT_ARGS("rev-parse", "--quiet", "--verify", object), err))
        return false;
    *ret = r.status == 0;
    return true;
}
