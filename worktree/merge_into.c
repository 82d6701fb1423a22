#include "worktree/merge_into.h"

#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/busy.h"
#include "worktree/gitrun.h"

/* As it is named in a sentence. */
static bool previous_branch(char **ret, const char *common_dir, struct err *err)
{
    AUTO_BUF struct buf name = BUF_INIT;
    struct gitrun g = {.git_dir = common_dir};
    if (!gitrun_told(&name, &g, GIT_ARGS("rev-parse", "-q", "--verify", "--abbrev-ref", "@{-1}"),
                     err))
        return false;
    buf_rtrim(&name);
    bool is_known = name.len > 0 && strcmp(name.ptr, "HEAD") != 0;
    *ret = text_clean(is_known ? name.ptr : "BRANCH");
    return true;
}

bool merge_into_default(char **ret, const char *common_dir, struct err *err)
{
    struct err why = ERR_INIT;
    AUTO_FREE char *previous = NULL;
    char *branch = wt_main_branch(common_dir, &why);
    if (!branch && why.code == ERR_NONE)
        branch = busy_branch(common_dir);
    if (!branch && why.code != ERR_NONE) {
        *err = why;
        return false;
    }
    if (!branch && !previous_branch(&previous, common_dir, err))
        return false;
    if (!branch)
        return err_set(err, ERR_USAGE,
                       "the main checkout is on no branch; say which one to merge into, as with "
                       "--into %s, or switch to it there first",
                       previous);
    *ret = branch;
    return true;
}
