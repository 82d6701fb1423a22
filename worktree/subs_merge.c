/*
 * subs, third part: a merge may make the person's branch record commits of submodules that only an
 * attempt's branch holds. They are held from then on, for as long as the submodule's repository
 * lives.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/subs_merge.h"
#include "worktree/treediff.h"

enum { LINK_MODE = 0160000, DEPTH_MAX = 8 };

/* Git folders below modules/, nested ones too. */
static void list_copies(struct strv *ret, const char *modules, int depth)
{
    AUTO_DIR DIR *dir = depth > 0 ? opendir(modules) : NULL;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_FREE char *path = fs_join(modules, e->d_name);
        AUTO_FREE char *head = fs_join(path, "HEAD");
        AUTO_FREE char *nested = fs_join(path, "modules");
        if (*e->d_name == '.' || !fs_is_dir(path))
            continue;
        bool is_copy = fs_exists(head);
        if (is_copy)
            strv_push(ret, path);
        list_copies(ret, is_copy ? nested : path, depth - 1);
    }
}

static bool has_commit(bool *ret, const char *copy, const char *oid, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *commit = xasprintf("%s^{commit}", oid);
    struct gitrun g = {.git_dir = copy};
    *ret = false;
    if (strspn(oid, "0") == strlen(oid))
        return true;
    if (!gitrun(&r, &g, GIT_ARGS("cat-file", "-e", commit), err))
        return false;
    *ret = r.status == 0;
    return true;
}

static bool hold_in(const char *copy, const char *oid, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    AUTO_FREE char *name = xasprintf(REFS_MERGED "%s", oid);
    refs_tx_set(&tx, name, oid, NULL);
    return refs_tx_run(&tx, copy, "headgate: merge", err);
}

static bool hold_links(const struct strv *copies, const struct treediff *diff, int depth,
                       struct err *err);

/* In every copy that has it; and what it moves inside itself. */
static bool hold(const struct strv *copies, const char *from, const char *to, int depth,
                 struct err *err)
{
    for (size_t i = 0; i < copies->n; i++) {
        AUTO_TREEDIFF struct treediff diff = TREEDIFF_INIT;
        bool has_to, has_from;
        if (!has_commit(&has_to, copies->v[i], to, err) ||
            !has_commit(&has_from, copies->v[i], from, err))
            return false;
        if (has_to && (!hold_in(copies->v[i], to, err) ||
                       (has_from && (!treediff_get(&diff, copies->v[i], from, to, err) ||
                                     !hold_links(copies, &diff, depth - 1, err)))))
            return false;
    }
    return true;
}

static bool hold_links(const struct strv *copies, const struct treediff *diff, int depth,
                       struct err *err)
{
    for (size_t i = 0; depth > 0 && i < diff->n; i++)
        if (diff->v[i].new_mode == LINK_MODE &&
            !hold(copies, diff->v[i].old_oid, diff->v[i].new_oid, depth, err))
            return false;
    return true;
}

bool subs_hold_merged(char **ret_note, const struct wt_repo *repo, const char *from, const char *to,
                      struct err *err)
{
    AUTO_TREEDIFF struct treediff diff = TREEDIFF_INIT;
    AUTO_STRV struct strv copies = STRV_INIT;
    AUTO_BUF struct buf note = BUF_INIT;
    *ret_note = NULL;
    AUTO_FREE char *own = fs_join(repo->git_dir, "modules");
    AUTO_FREE char *common = fs_join(repo->common_dir, "modules");
    list_copies(&copies, common, DEPTH_MAX);
    if (strcmp(own, common) != 0)
        list_copies(&copies, own, DEPTH_MAX);
    if (copies.n == 0)
        return true;
    if (!treediff_get(&diff, repo->common_dir, from, to, err) ||
        !hold_links(&copies, &diff, DEPTH_MAX, err))
        return false;
    for (size_t i = 0; i < diff.n; i++) {
        if (diff.v[i].new_mode != LINK_MODE)
            continue;
        AUTO_FREE char *shown = text_clean(diff.v[i].path);
        buf_addf(&note, "%s%s", note.len ? ", " : "", shown);
    }
    if (note.len > 0)
        *ret_note = xasprintf("submodules moved (%s): git submodule update", note.ptr);
    return true;
}
