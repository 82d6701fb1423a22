#include "worktree/merge_message.h"

#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"

char *merge_squash_message(const char *branch, const struct graft *graft)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *range = xasprintf("%s..%s", graft->target, graft->tip);
    struct gitrun g = {.git_dir = graft->common_dir};
    struct err ignored = ERR_INIT; /* then without the list */
    buf_addf(&text, "Squash %s\n\n", branch);
    if (!gitrun_out(&text, &g,
                    GIT_ARGS("log", "--reverse", "--max-count=200", "--format=* %s", range),
                    &ignored))
        return xasprintf("Squash %s", branch);
    return buf_steal(&text);
}

char *merge_message(const char *branch, const char *into)
{
    bool is_default = strcmp(into, "main") == 0 || strcmp(into, "master") == 0;
    if (is_default)
        return xasprintf("Merge branch '%s'", branch);
    return xasprintf("Merge branch '%s' into %s", branch, into);
}
