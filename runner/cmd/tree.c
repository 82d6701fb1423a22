#include "runner/cmd/tree.h"

#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static bool is_running(const json_t *attempt)
{
    return strcmp(jx_str(attempt, "state", ""), "running") == 0;
}

bool tree_attempts(json_t **ret, struct client *c, const struct strv *words, struct err *err)
{
    AUTO_JSON json_t *attempts = NULL, *harvested = NULL;
    AUTO_STRV struct strv running = STRV_INIT;
    size_t i;
    const json_t *attempt;
    if (!client_attempts(&attempts, c, words, err))
        return false;
    json_array_foreach(attempts, i, attempt)
    {
        if (is_running(attempt))
            strv_push(&running, jx_str(attempt, "id", ""));
    }
    if (running.n == 0) {
        *ret = steal_json(&attempts);
        return true;
    }
    return client_call(&harvested, c, "attempt.harvest", client_ids(&running), err) &&
           client_attempts(ret, c, words, err);
}

bool tree_repo(struct wt_repo *ret, const json_t *attempt, struct err *err)
{
    const char *common = jx_str(attempt, "common", "");
    struct err why = ERR_INIT;
    if (wt_repo_open(ret, jx_str(attempt, "repo", ""), &why))
        return true;
    /* A linked worktree that the person removed since: the repository is still there. */
    AUTO_FREE char *main_folder =
        strcmp(fs_basename(common), ".git") == 0 ? fs_dirname(common) : xstrdup(common);
    struct err ignored = ERR_INIT;
    if (*common && wt_repo_open(ret, main_folder, &ignored))
        return true;
    *err = why;
    return err_prefix(err, "%s", jx_str(attempt, "id", "?"));
}

bool tree_has_work(const json_t *attempt)
{
    const char *tip = jx_str(attempt, "tip", "");
    return *tip && strcmp(tip, jx_str(attempt, "base", "")) != 0;
}

bool tree_base(char ret[65], const struct wt_repo *repo, const json_t *attempt, struct err *err)
{
    return wt_diff_base(ret, repo->common_dir, jx_str(attempt, "base", ""),
                        jx_str(attempt, "tip", ""), jx_str(attempt, "into", NULL), err);
}

bool tree_diff(struct buf *out, const json_t *attempt, enum wt_diff_form form,
               const struct strv *paths, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    char base[65];
    if (!tree_has_work(attempt))
        return true;
    return tree_repo(&repo, attempt, err) && tree_base(base, &repo, attempt, err) &&
           wt_diff(out, repo.common_dir, base, jx_str(attempt, "tip", ""), form, false, paths, err);
}
