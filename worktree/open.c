/*
 * open: an attempt's branch as an ordinary worktree of the person's, for review. An agent wrote the
 * files and the attributes that choose filters, so no filter and no hook runs.
 */
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitcfg.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

/* The public branch, or what was harvested last when a person deleted it. */
static bool find_tip(char ret[65], const struct wt_attempt *a, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    AUTO_FREE char *public = xasprintf("refs/heads/%s", a->branch);
    AUTO_FREE char *head = xasprintf(REFS_OWN "%s/head", refs_attempt_part(a->branch));
    const char *oid = refs_oid(&refs, public);
    if (!*oid)
        oid = refs_oid(&refs, head);
    if (!*oid)
        oid = a->base;
    memcpy(ret, oid, strlen(oid) + 1);
    return true;
}

bool wt_open(const struct wt_attempt *a, const char *target, struct err *err)
{
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    AUTO_STRV struct strv config = STRV_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT;
    char tip[65];
    size_t dir_len = strlen(a->dir);
    if (*target != '/')
        return err_set(err, ERR_USAGE,
                       "the folder to open an attempt in is given as an absolute path");
    if (strncmp(target, a->dir, dir_len) == 0 && (target[dir_len] == '/' || !target[dir_len]))
        return err_set(err, ERR_USAGE, "an attempt cannot be opened in its own folder");
    if (!find_tip(tip, a, err) || !gitcfg_load(&cfg, a->repo, err))
        return false;
    gitcfg_add_filters_off(&config, &cfg);
    strv_push(&config, "checkout.workers=0");
    struct gitrun g = {.git_dir = a->repo, .config = &config};
    AUTO_FREE char *shown = text_clean(target);
    return gitrun_out(&ignored, &g,
                      GIT_ARGS("worktree", "add", "--quiet", "--detach", "--", target, tip), err) ||
           err_prefix(err, "cannot open attempt %s at %s", a->id, shown);
}
