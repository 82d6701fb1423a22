#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/comment.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_left.h"
#include "runner/cmd/tree.h"

#define AUTO_WT_MERGE __attribute__((cleanup(wt_merge_release)))

struct merge_opts {
    bool squash, rebase, reviewed, ref_only, dry_run, trailers, to_agent, json;
    const char *into;
    json_t *done; /* what was done, for --json */
};

static enum wt_merge_how merge_how(const struct merge_opts *o)
{
    return o->squash ? WT_MERGE_SQUASH : o->rebase ? WT_MERGE_REBASE : WT_MERGE_AUTO;
}

/* The message of a merge commit or a squashed one. */
static char *merge_message(const json_t *attempt, bool squash)
{
    const char *title = jx_str(attempt, "title", ""), *branch = jx_str(attempt, "branch", "?");
    if (!squash)
        return xasprintf("Merge %s%s%s\n", branch, *title ? ": " : "", title);
    return xasprintf("%s\n\nSquashed from %s.\n", *title ? title : branch, branch);
}

/* What could run on this host next must have been looked at, in all attempts before the first is
 * merged. */
static bool check_reviewed(const json_t *attempts, bool is_json, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT, ids = BUF_INIT;
    struct print p;
    size_t i;
    const json_t *attempt;
    out_print(&p);
    json_array_foreach(attempts, i, attempt)
    {
        if (json_array_size(jx_arr(attempt, "review")) == 0)
            continue;
        print_review(&text, &p, attempt);
        buf_addf(&ids, " %s", jx_str(attempt, "id", ""));
    }
    if (ids.len == 0)
        return true;
    return (is_json || out_buf(&text, err)) &&
           err_set(err, ERR_REFUSED,
                   "look at these first (headgate review%s), then merge with --reviewed", ids.ptr);
}

/* The branch that was named, now or when the run began (run --on); NULL: the one checked out. */
static const char *named_target(const json_t *attempt, const struct merge_opts *o)
{
    return o->into ? o->into : jx_str(attempt, "into", NULL);
}

/* The agent has the target's commits in its borrowed objects, whatever they are called in its box.
 */
static bool hand_over(struct client *c, const json_t *attempt, const char *into,
                      const struct wt_repo *repo, const char *paths, struct err *err)
{
    AUTO_WT_COMMIT struct wt_commit target_commit = WT_COMMIT_INIT;
    AUTO_JSON json_t *result = NULL;
    const char *id = jx_str(attempt, "id", "?");
    AUTO_FREE char *full = xasprintf("refs/heads/%s", into);
    if (!wt_resolve(&target_commit, repo, full, err))
        return false;
    AUTO_FREE char *text = xasprintf(
        "Your branch conflicts with %s, which is at commit %s by now, in: %s. Run `git merge "
        "%s` in your worktree, resolve the conflicts so that both sides' intent is kept, test, "
        "and commit the merge.",
        into, target_commit.oid, paths, target_commit.oid);
    json_t *request = json_object();
    jx_set_str(request, "attempt", id);
    jx_set_str(request, "text", text);
    return client_call(&result, c, "comment.add", request, err) &&
           comment_send(c, id, false, err) &&
           err_set(err, ERR_CONFLICT,
                   "%s conflicts in %s; nothing was changed, and its agent was asked to "
                   "resolve it",
                   id, paths);
}

static void add_conflicts(struct buf *out, const struct wt_merge *m)
{
    for (size_t i = 0; i < m->conflicts.n; i++) {
        AUTO_FREE char *path = text_clean(m->conflicts.v[i]);
        buf_addf(out, "%s%s", i ? ", " : "", path);
    }
}

static bool conflict(struct client *c, const json_t *attempt, const struct merge_opts *o,
                     const struct wt_repo *repo, const struct wt_merge *m, struct err *err)
{
    AUTO_BUF struct buf paths = BUF_INIT, again = BUF_INIT;
    const char *id = jx_str(attempt, "id", "?"), *branch = jx_str(attempt, "branch", "?");
    add_conflicts(&paths, m);
    buf_adds(&again, "headgate merge --to-agent ");
    AUTO_FREE char *into = text_clean(m->into);
    if (o->into)
        buf_addf(&again, "--into %s ", into);
    buf_adds(&again, id);
    if (o->to_agent && !o->dry_run)
        return hand_over(c, attempt, m->into, repo, paths.ptr, err);
    if (jx_bool(attempt, "base_wip", false))
        return err_set(
            err, ERR_CONFLICT,
            "%s conflicts in %s; nothing was changed. It grew from your uncommitted work: "
            "commit that first, then merge again; or let the agent resolve it: %s",
            id, paths.ptr, again.ptr);
    return err_set(err, ERR_CONFLICT,
                   "%s conflicts with %s in %s; nothing was changed. Resolve it on %s with git "
                   "merge %s, or let the agent do it: %s",
                   id, into, paths.ptr, into, branch, again.ptr);
}

static bool record(struct client *c, const json_t *attempt, const struct wt_merge *m,
                   struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    json_t *request = json_object();
    jx_set_str(request, "attempt", jx_str(attempt, "id", ""));
    jx_set_str(request, "into", m->into);
    jx_set_str(request, "commit", *m->commit ? m->commit : jx_str(attempt, "tip", ""));
    return client_call(&result, c, "attempt.merged", request, err);
}

static void add_done(const struct merge_opts *o, const json_t *attempt, const struct wt_merge *m)
{
    json_t *one = json_object();
    jx_set_str(one, "attempt", jx_str(attempt, "id", ""));
    jx_set_str(one, "into", m->into);
    jx_set_str(one, "was", m->target);
    jx_set_str(one, "commit", *m->commit && !o->dry_run ? m->commit : NULL);
    jx_set_bool(one, "up_to_date", m->up_to_date);
    jx_set_bool(one, "ff", m->was_ff);
    jx_set_bool(one, "dry_run", o->dry_run);
    jx_set_str(one, "note", m->note);
    json_t *conflicts = json_array();
    for (size_t i = 0; i < m->conflicts.n; i++)
        json_array_append_new(conflicts, jx_bytes(m->conflicts.v[i], strlen(m->conflicts.v[i])));
    json_object_set_new(one, "conflicts", conflicts);
    json_object_set_new(one, "left", print_left_json(m));
    json_array_append_new(o->done, one);
}

static void tell(struct buf *out, const json_t *attempt, const struct merge_opts *o,
                 const struct wt_merge *m)
{
    enum { OID_SHORT = 10 };
    AUTO_FREE char *note = text_clean(m->note ? m->note : "");
    AUTO_FREE char *into = text_clean(m->into);
    bool is_rebase = o->rebase || (jx_bool(attempt, "base_wip", false) && !o->squash);
    const char *how = m->up_to_date ? "is already in"
                      : o->dry_run  ? "would merge cleanly into"
                      : is_rebase   ? "rebased onto"
                                    : "merged into";
    const char *as = m->up_to_date || o->dry_run ? ""
                     : m->was_ff                 ? " by fast-forward"
                     : o->squash                 ? " as one commit"
                                                 : "";
    buf_addf(out, "%s %s %s%s", jx_str(attempt, "id", "?"), how, into, as);
    if (*m->commit && !o->dry_run)
        buf_addf(out, ", now %.*s", OID_SHORT, m->commit);
    if (strcmp(jx_str(attempt, "state", ""), "running") == 0)
        buf_adds(out, " (it still runs: what it commits from now on is not in)");
    print_left(out, m, o->dry_run);
    buf_addf(out, "%s%s\n", *note ? "; " : "", note);
}

/* A dry run moves no branch, so those that would be merged before this one are not in it: it is
 * tried on each of them too. */
static bool try_after(const json_t *attempts, size_t n_before, const struct wt_repo *repo,
                      const struct wt_merge_ask *ask, struct err *err)
{
    const json_t *attempt = json_array_get(attempts, n_before);
    const char *in = jx_str(attempt, "repo", "");
    for (size_t i = 0; i < n_before; i++) {
        AUTO_WT_MERGE struct wt_merge m = {.conflicts = STRV_INIT};
        AUTO_BUF struct buf paths = BUF_INIT;
        const json_t *before = json_array_get(attempts, i);
        const struct wt_merge_ask on = {.branch = ask->branch,
                                        .own_tip = ask->own_tip,
                                        .into = jx_str(before, "branch", ""),
                                        .dry_run = true};
        if (strcmp(jx_str(before, "repo", ""), in) != 0 || !tree_has_work(before))
            continue;
        if (!wt_merge(&m, repo, &on, err))
            return false;
        add_conflicts(&paths, &m);
        if (paths.len > 0)
            return err_set(err, ERR_CONFLICT,
                           "%s conflicts with %s, which would be merged before it, in %s",
                           jx_str(attempt, "id", "?"), jx_str(before, "id", "?"), paths.ptr);
    }
    return true;
}

static bool merge_one(struct client *c, const json_t *attempts, size_t index,
                      const struct merge_opts *o, struct err *err)
{
    const json_t *attempt = json_array_get(attempts, index);
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = {.conflicts = STRV_INIT};
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *message = merge_message(attempt, o->squash);
    AUTO_STRV struct strv trailers = STRV_INIT;
    bool is_wip = jx_bool(attempt, "base_wip", false);
    strv_pushf(&trailers, "Headgate-Attempt: %s", jx_str(attempt, "id", "?"));
    strv_pushf(&trailers, "Headgate-Agent: %s", jx_str(attempt, "agent", "?"));
    const struct wt_merge_ask ask = {
        .branch = jx_str(attempt, "branch", ""),
        .own_tip = jx_str(attempt, "tip", NULL),
        .into = named_target(attempt, o),
        .how = merge_how(o),
        .message = message,
        .leave_out = is_wip ? jx_str(attempt, "base", NULL) : NULL,
        .trailers = o->trailers ? &trailers : NULL,
        .ref_only = o->ref_only,
        .dry_run = o->dry_run,
    };
    if (!tree_has_work(attempt)) {
        buf_addf(&text, "%s has nothing to merge\n", jx_str(attempt, "id", "?"));
        return o->json || out_buf(&text, err);
    }
    if (!tree_repo(&repo, attempt, err) || !wt_merge(&m, &repo, &ask, err))
        return false;
    if (m.conflicts.n && o->json)
        add_done(o, attempt, &m);
    if (m.conflicts.n)
        return conflict(c, attempt, o, &repo, &m, err);
    if (o->dry_run && !try_after(attempts, index, &repo, &ask, err))
        return false;
    if (o->json)
        add_done(o, attempt, &m);
    else
        tell(&text, attempt, o, &m);
    return out_buf(&text, err) && (o->dry_run || record(c, attempt, &m, err));
}

/* The first merge may take the main checkout off its branch; those after it are meant for the same
 * one. */
static bool name_targets(const json_t *attempts, const struct merge_opts *o, struct err *err)
{
    size_t i;
    json_t *attempt;
    json_array_foreach(attempts, i, attempt)
    {
        struct err why = ERR_INIT;
        if (named_target(attempt, o))
            continue;
        AUTO_FREE char *branch = wt_main_branch(jx_str(attempt, "common", ""), &why);
        if (branch)
            jx_set_str(attempt, "into", branch);
        else if (why.code != ERR_NONE) {
            *err = why;
            return false;
        }
    }
    return true;
}

static bool merge_all(struct client *c, const json_t *attempts, const struct merge_opts *o,
                      struct err *err)
{
    if (o->ref_only && !name_targets(attempts, o, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(attempts); i++)
        ok = merge_one(c, attempts, i, o, err);
    struct err why = ERR_INIT;
    if (!o->json || out_json(o->done, ok ? err : &why))
        return ok;
    return false;
}

static bool merge(char **argv, struct err *err)
{
    struct merge_opts o = {0};
    const struct opt table[] = {
        {0, "squash", OPT_FLAG, &o.squash, NULL, "all its work as one commit", 0, 0},
        {0, "rebase", OPT_FLAG, &o.rebase, NULL, "its commits on top of the branch", 0, 0},
        {0, "into", OPT_STRING, &o.into, "BRANCH", "branch to merge into (the one checked out)", 0,
         0},
        {0, "ref-only", OPT_FLAG, &o.ref_only, NULL,
         "move the branch alone; a checkout stays as it is, off it", 0, 0},
        {0, "reviewed", OPT_FLAG, &o.reviewed, NULL, "what could run on this host was looked at", 0,
         0},
        {0, "trailers", OPT_FLAG, &o.trailers, NULL,
         "name the attempt and its agent in the commits that are made", 0, 0},
        {0, "to-agent", OPT_FLAG, &o.to_agent, NULL, "conflicts become the agent's next message", 0,
         0},
        {0, "dry-run", OPT_FLAG, &o.dry_run, NULL, "only say whether it would work", 0, 0},
        {0, "json", OPT_FLAG, &o.json, NULL, "what was done as one JSON array", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL;
    AUTO_JSON json_t *done = json_array();
    o.done = done;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err))
        return false;
    if (o.squash && o.rebase)
        return cmd_usage(argv[0], "--squash and --rebase exclude each other", err);
    if (!client_open(&c, err) || !tree_attempts(&attempts, &c, &args.operands, err))
        return false;
    if (!o.reviewed && !o.dry_run && !check_reviewed(attempts, o.json, err))
        return false;
    return merge_all(&c, attempts, &o, err);
}

int cmd_merge(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(merge(argv, &err), &err);
}
