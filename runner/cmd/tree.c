#include "runner/cmd/tree.h"

#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

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

/* As people write a folder or what a shell completes: "./src/" is "src", and "." the top. */
static char *plain_path(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2 + strspn(path + 2, "/");
    size_t len = strlen(path);
    while (len > 0 && path[len - 1] == '/')
        len--;
    return strncmp(path, ".", len) == 0 ? xstrdup("") : xstrndup(path, len);
}

static bool has_path(bool *ret, const json_t *attempt, const char *path, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_FREE char *plain = plain_path(path);
    const char *base = jx_str(attempt, "base", "");
    char compared[65];
    if (!tree_repo(&repo, attempt, err) || !wt_has_path(ret, repo.common_dir, base, plain, err))
        return false;
    if (*ret || !tree_has_work(attempt))
        return true;
    if (!wt_has_path(ret, repo.common_dir, jx_str(attempt, "tip", ""), plain, err))
        return false;
    /* Since then it may have taken in more of its target, and removed that. */
    return *ret || (tree_base(compared, &repo, attempt, err) &&
                    wt_has_path(ret, repo.common_dir, compared, plain, err));
}

bool tree_check_paths(const json_t *attempts, const struct strv *paths, struct err *err)
{
    for (size_t p = 0; p < paths->n; p++) {
        bool is_there = false;
        for (size_t i = 0; i < json_array_size(attempts) && !is_there; i++)
            if (!has_path(&is_there, json_array_get(attempts, i), paths->v[p], err))
                return false;
        if (is_there)
            continue;
        bool is_one = json_array_size(attempts) == 1;
        AUTO_FREE char *shown = text_clean(paths->v[p]);
        return err_set(err, ERR_NOT_FOUND,
                       "there is no '%s' in %s, nor in what %s began from; write paths from the "
                       "repository's top",
                       shown,
                       is_one ? jx_str(json_array_get(attempts, 0), "id", "?") : "any of these",
                       is_one ? "it" : "they");
    }
    return true;
}
