/*
 * Which attempts would meet conflicts, with the branch and with each other. Two attempts are only
 * tried against each other when they changed a file in common: others cannot conflict.
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

#define AUTO_WT_MERGE __attribute__((cleanup(wt_merge_release)))

struct candidate {
    const json_t *attempt;
    struct strv files;
};

struct candidates {
    struct candidate *v;
    size_t n;
};

static void candidates_release(struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++)
        strv_release(&c->v[i].files);
    free(c->v);
}

/* Lines are "STATUS\tPATH". */
static void add_paths(struct strv *out, const char *names)
{
    AUTO_STRV struct strv lines = STRV_INIT;
    strv_split(&lines, names, '\n', false);
    for (size_t i = 0; i < lines.n; i++) {
        const char *tab = strchr(lines.v[i], '\t');
        strv_push(out, tab ? tab + 1 : lines.v[i]);
    }
}

/* One whose repository lost its commits is passed over with a line: the others still want their
 * answer. */
static void gather(struct candidates *ret, const json_t *attempts)
{
    size_t i;
    const json_t *attempt;
    ret->v = xcalloc(json_array_size(attempts) + 1, sizeof(*ret->v));
    json_array_foreach(attempts, i, attempt)
    {
        AUTO_BUF struct buf names = BUF_INIT;
        struct err err = ERR_INIT;
        if (!tree_has_work(attempt))
            continue;
        if (!tree_diff(&names, attempt, WT_DIFF_NAMES, &err)) {
            AUTO_FREE char *why = text_clean(err.text);
            fprintf(stderr, "headgate: %s is passed over: %s\n", jx_str(attempt, "id", "?"), why);
            continue;
        }
        struct candidate *c = &ret->v[ret->n++];
        *c = (struct candidate){.attempt = attempt, .files = STRV_INIT};
        add_paths(&c->files, names.ptr);
    }
}

static bool have_common_file(const struct candidate *a, const struct candidate *b)
{
    for (size_t i = 0; i < a->files.n; i++)
        if (strv_has(&b->files, a->files.v[i]))
            return true;
    return false;
}

static const char *short_name(const char *ref)
{
    static const char heads[] = "refs/heads/";
    if (!ref)
        return "HEAD";
    return strncmp(ref, heads, strlen(heads)) == 0 ? ref + strlen(heads) : ref;
}

/* name: how `into` is called for people; NULL: the branch that is checked out. */
static bool try_merge(json_t *trials, const json_t *attempt, const char *into, const char *name,
                      struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = {.conflicts = STRV_INIT};
    const struct wt_merge_ask ask = {
        .branch = jx_str(attempt, "branch", ""), .into = into, .message = "trial", .dry_run = true};
    if (!tree_repo(&repo, attempt, err) || !wt_merge(&m, &repo, &ask, err))
        return false;
    json_t *paths = json_array();
    for (size_t i = 0; i < m.conflicts.n; i++)
        json_array_append_new(paths, jx_bytes(m.conflicts.v[i], strlen(m.conflicts.v[i])));
    json_t *trial = json_object();
    jx_set_str(trial, "what", jx_str(attempt, "id", "?"));
    jx_set_str(trial, "into", name ? name : short_name(repo.head_ref));
    jx_set(trial, "conflicts", paths);
    json_array_append_new(trials, trial);
    return true;
}

static bool same_repo(const json_t *a, const json_t *b)
{
    return strcmp(jx_str(a, "repo", ""), jx_str(b, "repo", "")) == 0;
}

static bool try_all(json_t *trials, const struct candidates *c, const char *into, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const json_t *attempt = c->v[i].attempt;
        if (!try_merge(trials, attempt, into, into, err))
            return false;
        for (size_t j = i + 1; j < c->n; j++) {
            const json_t *other = c->v[j].attempt;
            if (same_repo(attempt, other) && have_common_file(&c->v[i], &c->v[j]) &&
                !try_merge(trials, attempt, jx_str(other, "branch", ""), jx_str(other, "id", "?"),
                           err))
                return false;
        }
    }
    return true;
}

static bool is_of(const json_t *attempt, const struct wt_repo *repo)
{
    const char *path = jx_str(attempt, "repo", "");
    return !repo->common_dir || strcmp(path, repo->common_dir) == 0 ||
           (repo->toplevel && strcmp(path, repo->toplevel) == 0);
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
        {0, "into", OPT_STRING, &into, "BRANCH", "branch to try (the one checked out)", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL, *trials = json_array();
    AUTO_BUF struct buf text = BUF_INIT;
    __attribute__((cleanup(candidates_release))) struct candidates found = {0};
    struct print p;
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err) || !client_open(&c, err) ||
        (args.operands.n == 0 && !open_attempts(&args.operands, &c, err)))
        return false;
    if (args.operands.n && !tree_attempts(&attempts, &c, &args.operands, err))
        return false;
    gather(&found, attempts);
    if (!try_all(trials, &found, into, err))
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
