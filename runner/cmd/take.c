/*
 * take: some files or hunks of an attempt, as one commit on the target.
 */
#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_left.h"
#include "runner/cmd/tree.h"

struct take_opts {
    bool except, reviewed, ref_only, dry_run;
    const char *into, *message;
    struct strv hunks;
};

static char *default_message(const json_t *attempt, const struct take_opts *o,
                             const struct strv *picks)
{
    AUTO_BUF struct buf text = BUF_INIT;
    const char *title = jx_str(attempt, "title", "");
    buf_addf(&text, "%s\n\nTaken from %s%s:\n", *title ? title : jx_str(attempt, "branch", "?"),
             jx_str(attempt, "branch", "?"), o->except ? ", without" : "");
    for (size_t i = 0; i < picks->n; i++) {
        AUTO_FREE char *shown = text_clean(picks->v[i]);
        buf_addf(&text, "  %s\n", shown);
    }
    return buf_steal(&text);
}

static bool tell(const json_t *attempt, const struct take_opts *o, const struct wt_merge *m,
                 struct err *err)
{
    enum { OID_SHORT = 10 };
    AUTO_BUF struct buf text = BUF_INIT;
    const char *id = jx_str(attempt, "id", "?");
    if (m->conflicts.n) {
        AUTO_BUF struct buf paths = BUF_INIT;
        for (size_t i = 0; i < m->conflicts.n; i++) {
            AUTO_FREE char *path = text_clean(m->conflicts.v[i]);
            buf_addf(&paths, "%s%s", i ? ", " : "", path);
        }
        return err_set(err, ERR_CONFLICT, "this part of %s conflicts in %s; nothing was changed",
                       id, paths.ptr);
    }
    if (m->up_to_date)
        buf_addf(&text, "this part of %s is there already", id);
    else if (o->dry_run)
        buf_addf(&text, "this part of %s would merge cleanly", id);
    else
        buf_addf(&text, "taken from %s as %.*s", id, OID_SHORT, m->commit);
    print_left(&text, m, o->dry_run);
    buf_addf(&text, "%s%s\n", m->note ? "; " : "", m->note ? m->note : "");
    return out_buf(&text, err);
}

static bool take(char **argv, struct err *err)
{
    struct take_opts o = {.hunks = STRV_INIT};
    const struct opt table[] = {
        {0, "hunk", OPT_LIST, &o.hunks, "FILE:N",
         "the N-th hunk of a file, as diff numbers them; may repeat", 0, 0},
        {0, "except", OPT_FLAG, &o.except, NULL, "all but what is named", 0, 0},
        {0, "reviewed", OPT_FLAG, &o.reviewed, NULL, "what could run on this host was looked at", 0,
         0},
        {0, "into", OPT_STRING, &o.into, "BRANCH", "branch to commit to (the one checked out)", 0,
         0},
        {'m', "message", OPT_STRING, &o.message, "TEXT", "message of the commit", 0, 0},
        {0, "ref-only", OPT_FLAG, &o.ref_only, NULL,
         "move the branch alone; a checkout stays as it is, off it", 0, 0},
        {0, "dry-run", OPT_FLAG, &o.dry_run, NULL, "only say whether it would work", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL, *one = NULL;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    AUTO_STRV struct strv id = STRV_INIT, picks = STRV_INIT, unseen = STRV_INIT;
    AUTO_FREE char *message = NULL;
    char base[65];
    bool ok = cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err);
    strv_push_all(&picks, strv_array(&o.hunks));
    for (size_t i = 1; ok && i < args.operands.n; i++)
        strv_push(&picks, args.operands.v[i]);
    strv_release(&o.hunks);
    if (ok && picks.n == 0)
        ok = cmd_usage(argv[0], "name files, or hunks with --hunk FILE:N", err);
    if (!ok || !client_open(&c, err) || !client_attempt(&one, &c, args.operands.v[0], err))
        return false;
    strv_push(&id, jx_str(one, "id", ""));
    if (!tree_attempts(&attempts, &c, &id, err))
        return false;
    const json_t *attempt = json_array_get(attempts, 0);
    if (!tree_has_work(attempt))
        return err_set(err, ERR_NOT_FOUND, "%s changed nothing", id.v[0]);
    if (!tree_repo(&repo, attempt, err) || !tree_base(base, &repo, attempt, err))
        return false;
    if (!o.reviewed && !o.dry_run)
        jx_strv(&unseen, attempt, "review");
    message = o.message ? xstrdup(o.message) : default_message(attempt, &o, &picks);
    const struct wt_take_ask ask = {
        .branch = jx_str(attempt, "branch", ""),
        .base = base,
        .tip = jx_str(attempt, "tip", ""),
        .into = o.into ? o.into : jx_str(attempt, "into", NULL),
        .picks = &picks,
        .except = o.except,
        .unseen = &unseen,
        .message = message,
        .ref_only = o.ref_only,
        .dry_run = o.dry_run,
    };
    return wt_take(&m, &repo, &ask, err) && tell(attempt, &o, &m, err);
}

int cmd_take(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(take(argv, &err), &err);
}
