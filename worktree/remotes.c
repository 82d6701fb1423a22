#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

enum { REMOTES_MAX = 64 };

void wt_remotes_release(struct wt_remotes *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->v[i].name);
        free(r->v[i].url);
        free(r->v[i].push);
    }
    free(r->v);
    *r = (struct wt_remotes)WT_REMOTES_INIT;
}

/* The first of several addresses, as fetch takes it. */
static char *address(const struct gitrun *g, const char *name, bool is_push)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    const char *const *args = is_push ? GIT_ARGS("remote", "get-url", "--push", name)
                                      : GIT_ARGS("remote", "get-url", name);
    if (!gitrun(&r, g, args, &ignored) || r.status != 0)
        return xstrdup("");
    return xstrndup(r.out.ptr, strcspn(r.out.ptr, "\n"));
}

bool wt_remotes(struct wt_remotes *ret, const char *common_dir, struct err *err)
{
    const struct gitrun g = {.git_dir = common_dir};
    AUTO_STRV struct strv names = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!gitrun_out(&text, &g, GIT_ARGS("remote"), err))
        return false;
    strv_split(&names, text.ptr, '\n', false);
    struct wt_remotes remotes = {.v = xcalloc(names.n + 1, sizeof(*remotes.v))};
    for (size_t i = 0; i < names.n && i < REMOTES_MAX; i++)
        remotes.v[remotes.n++] = (struct wt_remote){.name = xstrdup(names.v[i]),
                                                    .url = address(&g, names.v[i], false),
                                                    .push = address(&g, names.v[i], true)};
    *ret = remotes;
    return true;
}

bool wt_branch_tip(char ret[65], const struct wt_attempt *a, const char *branch, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_FREE char *name = xasprintf(REFS_OWN "%s/heads/%s", refs_attempt_part(a->branch), branch);
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    const char *oid = refs_oid(&refs, name);
    if (!oid[0])
        return err_set(err, ERR_NOT_FOUND, "the attempt has no branch '%s' of its own", branch);
    memcpy(ret, oid, strlen(oid) + 1);
    return true;
}
