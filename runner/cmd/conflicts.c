/*
 * Which attempts would meet conflicts, with the branch and with each other (worktree/radar.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_merge.h"
#include "runner/cmd/tree.h"
#include "worktree/radar.h"

static const char *short_name(const char *ref)
{
    static const char heads[] = "refs/heads/";
    return strncmp(ref, heads, strlen(heads)) == 0 ? ref + strlen(heads) : ref;
}

static void add_trial(json_t *trials, const char *what, const char *into,
                      const struct radar_trial *t)
{
    json_t *paths = json_array(), *hunks = json_array(), *trial = json_object();
    for (size_t i = 0; i < t->n; i++) {
        json_t *path = jx_bytes(t->v[i].path, strlen(t->v[i].path)), *hunk = json_object();
        if (i == 0 || strcmp(t->v[i].path, t->v[i - 1].path) != 0)
            json_array_append(paths, path);
        jx_set(hunk, "path", path);
        jx_set_int(hunk, "line", t->v[i].line);
        json_array_append_new(hunks, hunk);
    }
    jx_set_str(trial, "what", what);
    jx_set_str(trial, "into", into);
    jx_set(trial, "conflicts", paths);
    jx_set(trial, "hunks", hunks);
    if (t->is_open)
        jx_set_bool(trial, "open", true);
    json_array_append_new(trials, trial);
}

/* All attempts of one repository at once. into NULL: each one's own target. */
static bool try_repository(json_t *trials, const json_t *attempts, const char *into,
                           struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_RADAR struct radar radar = RADAR_INIT;
    size_t i, n = json_array_size(attempts);
    const json_t *attempt;
    struct err none = ERR_INIT;
    if (!tree_repo(&repo, json_array_get(attempts, 0), err))
        return false;
    AUTO_FREE char *main_branch = wt_main_branch(repo.common_dir, &none);
    AUTO_FREE struct radar_tip *tips = xcalloc(n + 1, sizeof(*tips));
    json_array_foreach(attempts, i, attempt)
    {
        const char *own = jx_str(attempt, "into", NULL);
        tips[i] = (struct radar_tip){.oid = jx_str(attempt, "tip", ""),
                                     .base = jx_str(attempt, "base", ""),
                                     .into = into ? into : own};
    }
    if (!radar_scan(&radar, repo.common_dir, tips, n, err))
        return false;
    for (size_t k = 0; k < radar.n; k++) {
        const struct radar_trial *t = &radar.v[k];
        const char *target = tips[t->a].into ? tips[t->a].into : main_branch ? main_branch : "HEAD";
        const json_t *other = t->b == RADAR_TARGET ? NULL : json_array_get(attempts, t->b);
        add_trial(trials, jx_str(json_array_get(attempts, t->a), "id", "?"),
                  other ? jx_str(other, "id", "?") : target, t);
    }
    return true;
}

static bool check_branch(const json_t *attempt, const char *into, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_COMMIT struct wt_commit commit = WT_COMMIT_INIT;
    AUTO_FREE char *full = xasprintf("refs/heads/%s", into);
    struct err absent = ERR_INIT;
    if (!tree_repo(&repo, attempt, err))
        return false;
    if (wt_resolve(&commit, &repo, full, &absent))
        return true;
    AUTO_FREE char *shown = text_clean(into);
    return err_set(err, ERR_NOT_FOUND, "there is no branch named %s", shown);
}

/* One repository after the other. */
static bool try_all(json_t *trials, const json_t *attempts, const char *into, struct err *err)
{
    AUTO_STRV struct strv done = STRV_INIT;
    size_t i, k;
    const json_t *attempt, *other;
    json_array_foreach(attempts, i, attempt)
    {
        AUTO_JSON json_t *group = json_array();
        const char *common = jx_str(attempt, "common", "");
        if (!tree_has_work(attempt) || strv_has(&done, common))
            continue;
        strv_push(&done, common);
        json_array_foreach(attempts, k, other)
        {
            if (tree_has_work(other) && strcmp(jx_str(other, "common", ""), common) == 0)
                json_array_append(group, (json_t *)(uintptr_t)other);
        }
        if ((into && !check_branch(attempt, into, err)) ||
            !try_repository(trials, group, into, err))
            return false;
    }
    return true;
}

static bool is_of(const json_t *attempt, const struct wt_repo *repo)
{
    return !repo->common_dir || strcmp(jx_str(attempt, "common", ""), repo->common_dir) == 0;
}

/* Where none is named: the attempts of this folder's repository (elsewhere: all) with work that was
 * not merged. */
static bool open_attempts(struct strv *ret, struct client *c, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_JSON json_t *result = NULL;
    struct err ignored = ERR_INIT;
    size_t i;
    const json_t *attempt;
    if (!here || !wt_repo_open(&repo, here, &ignored))
        repo = (struct wt_repo)WT_REPO_INIT;
    if (!client_call(&result, c, "attempt.list", NULL, err))
        return false;
    json_array_foreach(jx_arr(result, "attempts"), i, attempt)
    {
        bool is_open = tree_has_work(attempt) && !*jx_str(attempt, "merged_into", "");
        if (is_open && is_of(attempt, &repo))
            strv_push(ret, jx_str(attempt, "id", ""));
    }
    return true;
}

static bool any_conflict(const json_t *trials)
{
    size_t i;
    const json_t *trial;
    json_array_foreach(trials, i, trial)
    {
        if (json_array_size(jx_arr(trial, "conflicts")) > 0)
            return true;
    }
    return false;
}

/* *ret_any: for the exit code, so that scripts can ask. */
static bool conflicts(bool *ret_any, char **argv, struct err *err)
{
    bool json = false;
    const char *into = NULL;
    const struct opt table[] = {
        {0, "into", OPT_STRING, &into, "BRANCH",
         "branch to try (each attempt's own, else the one checked out)", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL, *trials = json_array();
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err) || !client_open(&c, err) ||
        (args.operands.n == 0 && !open_attempts(&args.operands, &c, err)))
        return false;
    if (args.operands.n && !tree_attempts(&attempts, &c, &args.operands, err))
        return false;
    if (!try_all(trials, attempts, into ? short_name(into) : NULL, err))
        return false;
    *ret_any = any_conflict(trials);
    if (json)
        return out_json(trials, err);
    out_print(&p);
    print_conflicts(&text, &p, trials);
    return out_buf(&text, err);
}

int cmd_conflicts(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    bool any = false;
    int status = cmd_exit(conflicts(&any, argv, &err), &err);
    return status == 0 && any ? 1 : status;
}
