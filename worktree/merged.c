#include "worktree/merged.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"
#include "worktree/graft.h"
#include "worktree/patchid.h"
#include "worktree/quarantine.h"
#include "worktree/refs.h"

enum { SEARCH_MS = 20000, TRIES = 5 };

struct search {
    const char *common_dir, *base, *tip;
    struct strv env; /* new objects are stand-ins, which go with their folder */
};

/* Where work usually ends up. */
static bool list_targets(struct strv *ret, const char *common_dir, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = common_dir};
    if (!gitrun(&r, &g, GIT_ARGS("rev-parse", "-q", "--verify", "HEAD^{commit}"), err) ||
        !refs_list(&refs, common_dir, GIT_ARGS("refs/remotes/*/HEAD"), err))
        return false;
    buf_rtrim(&r.out);
    if (r.status == 0)
        strv_push(ret, r.out.ptr);
    for (size_t i = 0; i < refs.n; i++)
        if (!strv_has(ret, refs.v[i].oid))
            strv_push(ret, refs.v[i].oid);
    return true;
}

/* What git prints, "" when it fails or takes too long. */
static bool ask(struct buf *out, const struct search *s, const char *const *args, struct err *err)
{
    struct gitrun g = {
        .git_dir = s->common_dir, .bare = true, .env = &s->env, .timeout_ms = SEARCH_MS};
    if (!gitrun_told(out, &g, args, err))
        return false;
    buf_rtrim(out);
    return true;
}

/* Whether all commits of the right side, which git takes for equal to some of the left, are. */
static bool are_equal(bool *ret, const struct search *s, const char *range, const char *below,
                      struct err *err)
{
    AUTO_BUF struct buf count = BUF_INIT;
    AUTO_STRV struct strv args = STRV_INIT, equals = STRV_INIT;
    strv_push(&args, range);
    strv_push(&args, below);
    strv_push(&args, "--");
    struct patchid_ask same = {
        .common_dir = s->common_dir, .env = &s->env, .range = &args, .timeout_ms = SEARCH_MS};
    if (!ask(&count, s, GIT_ARGS("rev-list", "--count", "--right-only", range, below, "--"), err) ||
        !patchid_equals(&equals, &same, err))
        return false;
    *ret = equals.n > 0 && strtoull(count.ptr, NULL, 10) == equals.n;
    return true;
}

/* Whether every commit that `right` alone has, but for what is below `base`, has an equal on the
 * other side. The cheap questions come first. */
static bool all_have_equals(bool *ret, const struct search *s, const char *target,
                            const char *right, const char *base, struct err *err)
{
    AUTO_BUF struct buf merges = BUF_INIT, left = BUF_INIT;
    AUTO_FREE char *range = xasprintf("%s...%s", target, right);
    AUTO_FREE char *below = xasprintf("^%s", base);
    AUTO_FREE char *own = xasprintf("%s..%s", target, right);
    *ret = false;
    if (!ask(&merges, s, GIT_ARGS("rev-list", "--count", "--merges", own, below, "--"), err) ||
        !ask(&left, s,
             GIT_ARGS("rev-list", "--count", "--cherry-pick", "--right-only", range, below, "--"),
             err))
        return false;
    if (strcmp(merges.ptr, "0") != 0 || strcmp(left.ptr, "0") != 0)
        return true;
    return are_equal(ret, s, range, below, err);
}

/* The commit that the work grew from, as seen from the target. */
static bool find_root(struct buf *ret, const struct search *s, const char *target, struct err *err)
{
    AUTO_BUF struct buf common = BUF_INIT, newer = BUF_INIT;
    if (!ask(&common, s, GIT_ARGS("merge-base", target, s->tip), err))
        return false;
    if (common.len > 0 &&
        !ask(&newer, s, GIT_ARGS("rev-list", "--count", s->base, "--not", common.ptr, "--"), err))
        return false;
    buf_adds(ret, strcmp(newer.ptr, "0") == 0 ? common.ptr : s->base);
    return true;
}

static bool is_in(bool *ret, const struct search *s, const char *target, struct err *err)
{
    AUTO_BUF struct buf root = BUF_INIT;
    char tree[65], squashed[65];
    struct graft g = {.common_dir = s->common_dir, .env = &s->env};
    if (!find_root(&root, s, target, err) ||
        !all_have_equals(ret, s, target, s->tip, root.ptr, err))
        return false;
    if (*ret)
        return true;
    return graft_tree_of(tree, &g, s->tip, err) &&
           graft_commit(squashed, &g, tree, root.ptr, NULL, "stand-in", NULL, err) &&
           all_have_equals(ret, s, target, squashed, root.ptr, err);
}

static bool look(bool *ret, bool *ret_disturbed, const struct strv *targets, const char *common_dir,
                 const char *base, const char *tip, struct err *err)
{
    struct search s = {.common_dir = common_dir, .base = base, .tip = tip, .env = STRV_INIT};
    AUTO_FREE char *key = xasprintf("look for %s by %d", tip, (int)getpid());
    AUTO_FREE char *quarantine = quarantine_path(common_dir, key);
    struct err ignored = ERR_INIT;
    *ret = false;
    quarantine_add_env(&s.env, quarantine, common_dir);
    bool ok = quarantine_make(quarantine, err);
    for (size_t i = 0; ok && !*ret && i < targets->n; i++)
        ok = is_in(ret, &s, targets->v[i], err);
    *ret_disturbed = !quarantine_is_whole(quarantine);
    (void)!fs_remove_tree(AT_FDCWD, quarantine, &ignored);
    strv_release(&s.env);
    return ok;
}

/* Once more where a prune took the stand-ins. */
static bool is_in_one(bool *ret, const struct strv *targets, const char *common_dir,
                      const char *base, const char *tip, struct err *err)
{
    for (int i = 1;; i++) {
        struct err why = ERR_INIT;
        bool is_disturbed = false;
        bool ok = look(ret, &is_disturbed, targets, common_dir, base, tip, &why);
        if (is_disturbed && i < TRIES)
            continue;
        if (!ok)
            *err = why;
        return ok;
    }
}

bool merged_elsewhere(bool *ret, const char *common_dir, const char *base, const char *tip,
                      struct err *err)
{
    AUTO_STRV struct strv targets = STRV_INIT;
    return list_targets(&targets, common_dir, err) &&
           is_in_one(ret, &targets, common_dir, base, tip, err);
}

bool merged_into(bool *ret, const char *common_dir, const char *base, const char *tip,
                 const char *target, struct err *err)
{
    AUTO_STRV struct strv targets = STRV_INIT;
    strv_push(&targets, target);
    return is_in_one(ret, &targets, common_dir, base, tip, err);
}
