#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/comment.h"
#include "runner/cmd/diff_json.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_diff.h"
#include "runner/cmd/tree.h"

/* To a terminal sanitised and in colour; elsewhere the very bytes, so that `git apply` can take
 * them. */
static bool add_patch(struct buf *out, const struct print *p, const json_t *attempt,
                      enum wt_diff_form form, const struct strv *paths, struct err *err)
{
    AUTO_BUF struct buf patch = BUF_INIT;
    if (!tree_diff(&patch, attempt, form, paths, err))
        return false;
    if (p->columns > 0)
        print_diff(out, p, patch.ptr, patch.len);
    else
        buf_add(out, patch.ptr, patch.len);
    return true;
}

static void add_heading(struct buf *out, const struct print *p, const json_t *attempt)
{
    AUTO_FREE char *line =
        xasprintf("%s %s", jx_str(attempt, "id", "?"), jx_str(attempt, "title", ""));
    print_text(out, p, PRINT_BOLD, line);
    buf_addch(out, '\n');
}

/* Paths that are there and unchanged: an empty answer, which must not look like a mistake. */
static void note_unchanged(bool is_empty, const struct strv *paths)
{
    if (is_empty && paths->n > 0)
        fprintf(stderr, "headgate: note: nothing was changed there\n");
}

static bool print_json(const json_t *attempts, const struct strv *paths, struct err *err)
{
    AUTO_JSON json_t *rows = json_array();
    bool is_empty = true;
    size_t i;
    const json_t *attempt;
    json_array_foreach(attempts, i, attempt)
    {
        AUTO_BUF struct buf patch = BUF_INIT;
        json_t *row = json_object(), *files;
        jx_set_str(row, "id", jx_str(attempt, "id", NULL));
        jx_set_str(row, "tip", jx_str(attempt, "tip", NULL));
        json_array_append_new(rows, row);
        if (!tree_diff(&patch, attempt, WT_DIFF_PATCH, paths, err) ||
            !diff_json(&files, patch.ptr, patch.len, err))
            return false;
        jx_set(row, "files", files);
        is_empty = is_empty && patch.len == 0;
    }
    note_unchanged(is_empty, paths);
    return out_json(rows, err);
}

/* What could run on this host next, where a person looks: before the patch on a terminal, else
 * beside it, since the patch may be applied. */
static void add_warning(struct buf *out, const struct print *p, const json_t *attempt)
{
    size_t n = json_array_size(jx_arr(attempt, "review"));
    const char *id = jx_str(attempt, "id", "?");
    if (n == 0)
        return;
    if (isatty(STDOUT_FILENO)) {
        print_review(out, p, attempt);
        buf_addch(out, '\n');
    } else {
        fprintf(stderr,
                "headgate: note: %s has %zu change%s that could run on this host next; see "
                "'headgate review %s'\n",
                id, n, n == 1 ? "" : "s", id);
    }
}

static bool diff(char **argv, struct err *err)
{
    bool stat = false, json = false;
    const char *pager = NULL;
    const struct opt table[] = {
        {0, "stat", OPT_FLAG, &stat, NULL, "files and line counts only", 0, 0},
        {0, "pager", OPT_STRING, &pager, "COMMAND", "a program that shows patches, like delta", 0,
         0},
        {0, "json", OPT_FLAG, &json, NULL, "files and hunks as JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    size_t i;
    const json_t *attempt;
    AUTO_STRV struct strv words = STRV_INIT, paths = STRV_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err))
        return false;
    strv_push(&words, args.operands.v[0]);
    strv_push_all(&paths, args.operands.v + 1);
    if (!client_open(&c, err) || !tree_attempts(&attempts, &c, &words, err) ||
        !tree_check_paths(attempts, &paths, err))
        return false;
    if (json)
        return print_json(attempts, &paths, err);
    bool is_empty = true;
    enum wt_diff_form form = stat ? WT_DIFF_STAT : WT_DIFF_PATCH;
    out_print(&p);
    if (pager) { /* it colours by itself */
        p.color = false;
        setenv("GIT_PAGER", pager, 1);
    }
    json_array_foreach(attempts, i, attempt)
    {
        if (json_array_size(attempts) > 1)
            add_heading(&text, &p, attempt);
        add_warning(&text, &p, attempt);
        size_t before = text.len;
        if (!add_patch(&text, &p, attempt, form, &paths, err))
            return false;
        is_empty = is_empty && text.len == before;
    }
    note_unchanged(is_empty, &paths);
    return out_paged(&text, err);
}

int cmd_diff(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(diff(argv, &err), &err);
}

static bool review_json(const json_t *attempts, struct err *err)
{
    AUTO_JSON json_t *rows = json_array();
    size_t i;
    const json_t *attempt;
    json_array_foreach(attempts, i, attempt)
    {
        json_t *row = json_object();
        json_t *review = jx_arr(attempt, "review");
        jx_set_str(row, "id", jx_str(attempt, "id", NULL));
        jx_set(row, "review", review ? json_incref(review) : json_array());
        json_array_append_new(rows, row);
    }
    return out_json(rows, err);
}

static bool review(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print the lists as JSON, without patches", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    size_t i;
    const json_t *attempt;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 1, err) || !client_open(&c, err) ||
        !tree_attempts(&attempts, &c, &args.operands, err))
        return false;
    if (json)
        return review_json(attempts, err);
    out_print(&p);
    json_array_foreach(attempts, i, attempt)
    {
        print_review(&text, &p, attempt);
        buf_addch(&text, '\n');
        if (!comment_add_all(&text, &p, &c, jx_str(attempt, "id", ""), err) ||
            !add_patch(&text, &p, attempt, WT_DIFF_PATCH, NULL, err))
            return false;
    }
    return out_paged(&text, err);
}

int cmd_review(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(review(argv, &err), &err);
}
