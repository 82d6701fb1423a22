/*
 * comment: what a person has to say about an attempt's work, kept until it is sent to its agent.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/comment.h"
#include "runner/cmd/env.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print.h"
#include "runner/cmd/tree.h"

enum { QUOTE_BYTES = 300 };

/* "FILE:LINE", or "FILE" with line 0. Allocated. */
static char *split_place(const char *place, int64_t *ret_line)
{
    const char *colon = strrchr(place, ':');
    char *end;
    *ret_line = 0;
    if (!colon || colon == place || colon[1] < '1' || colon[1] > '9')
        return xstrdup(place);
    int64_t line = strtoll(colon + 1, &end, 10);
    if (*end)
        return xstrdup(place);
    *ret_line = line;
    return xstrndup(place, (size_t)(colon - place));
}

/* A line of a file, as it was found. */
struct place {
    char *path, *quote; /* quote NULL: no line was named */
    int64_t line;
    char tip[65]; /* the commit that has it */
};

static void place_release(struct place *p)
{
    free(p->path);
    free(p->quote);
}

#define AUTO_PLACE __attribute__((cleanup(place_release)))

/* As the attempt left it; what it removed, as it was. */
static bool find_commit(struct place *p, const struct wt_repo *repo, const json_t *attempt,
                        struct err *err)
{
    const char *base = jx_str(attempt, "base", "");
    const char *commits[] = {tree_has_work(attempt) ? jx_str(attempt, "tip", "") : base, base};
    AUTO_FREE char *shown = text_clean(p->path);
    bool is_there = false;
    for (size_t i = 0; i < ARRAY_LEN(commits) && !is_there; i++) {
        memcpy(p->tip, commits[i], strnlen(commits[i], sizeof(p->tip) - 1) + 1);
        if (!wt_has_path(&is_there, repo->common_dir, commits[i], p->path, err))
            return false;
    }
    return is_there ||
           err_set(err, ERR_NOT_FOUND, "%s has no file %s", jx_str(attempt, "id", "?"), shown);
}

static bool quote_line(struct place *p, const json_t *attempt, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *shown = text_clean(p->path);
    const char *id = jx_str(attempt, "id", "?");
    struct err no_file = ERR_INIT;
    if (!tree_repo(&repo, attempt, err) || !find_commit(p, &repo, attempt, err))
        return false;
    if (p->line == 0)
        return true;
    if (!wt_read_file(&text, repo.common_dir, p->tip, p->path, &no_file))
        return err_set(err, ERR_NOT_FOUND, "%s of %s has no lines; comment on it by its name alone",
                       shown, id);
    const char *at = text.ptr;
    for (int64_t i = 1; i < p->line && at; i++)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (!at || !*at)
        return err_set(err, ERR_NOT_FOUND, "%s of %s has no line %" PRId64, shown, id, p->line);
    size_t len = strcspn(at, "\n");
    p->quote = xstrndup(at, len < QUOTE_BYTES ? len : QUOTE_BYTES);
    return true;
}

static bool add(struct client *c, const json_t *attempt, const char *place, const char *text,
                struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_PLACE struct place p = {.path = NULL};
    if (!text_is_utf8(text, strlen(text)) || strlen(text) > LIMIT_PROMPT_BYTES || !*text)
        return err_set(err, ERR_USAGE, "a comment is UTF-8 text of 1 to %d bytes",
                       LIMIT_PROMPT_BYTES);
    if (place)
        p.path = split_place(place, &p.line);
    if (place && !quote_line(&p, attempt, err))
        return false;
    json_t *request = json_object();
    jx_set_str(request, "attempt", jx_str(attempt, "id", ""));
    jx_set_str(request, "path", p.path);
    jx_set_int(request, "line", p.line);
    jx_set_str(request, "tip", place ? p.tip : jx_str(attempt, "tip", NULL));
    if (p.quote)
        jx_set(request, "quote", jx_bytes(p.quote, strlen(p.quote)));
    jx_set_str(request, "text", text);
    if (!client_call(&result, c, "comment.add", request, err))
        return false;
    buf_addf(&out, "comment %" PRId64 " waits; headgate comment %s --send gives all to the agent\n",
             jx_int(result, "comment", 0), jx_str(attempt, "id", ""));
    return out_buf(&out, err);
}

static void print_comments(struct buf *out, const struct print *p, const json_t *comments)
{
    size_t i;
    const json_t *c;
    if (json_array_size(comments) == 0)
        buf_adds(out, "no comments\n");
    json_array_foreach(comments, i, c)
    {
        AUTO_BUF struct buf head = BUF_INIT;
        int64_t line = jx_int(c, "line", 0);
        buf_addf(&head, "%" PRId64 " %s", jx_int(c, "id", 0), jx_str(c, "path", ""));
        if (line > 0)
            buf_addf(&head, ":%" PRId64, line);
        print_text(out, p, PRINT_BOLD, head.ptr);
        buf_adds(out, jx_int(c, "sent_ms", 0) ? " (sent)\n" : " (waits)\n");
        print_block(out, jx_str(c, "text", ""), 4);
    }
}

static bool list(struct client *c, const json_t *attempt, bool json, struct err *err)
{
    AUTO_JSON json_t *result = NULL, *request = json_object();
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    jx_set_str(request, "attempt", jx_str(attempt, "id", ""));
    if (!client_call(&result, c, "comment.list", steal_json(&request), err))
        return false;
    if (json)
        return out_json(jx_arr(result, "comments"), err);
    out_print(&p);
    print_comments(&text, &p, jx_arr(result, "comments"));
    return out_buf(&text, err);
}

bool comment_add_all(struct buf *out, const struct print *p, struct client *c, const char *id,
                     struct err *err)
{
    AUTO_JSON json_t *result = NULL, *request = json_object();
    jx_set_str(request, "attempt", id);
    if (!client_call(&result, c, "comment.list", steal_json(&request), err))
        return false;
    if (json_array_size(jx_arr(result, "comments")) > 0)
        print_comments(out, p, jx_arr(result, "comments"));
    return true;
}

bool comment_send(struct client *c, const char *id, bool interactive, struct err *err)
{
    AUTO_JSON json_t *result = NULL, *env = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_CONFIG struct config *config = NULL;
    json_t *request = json_object();
    jx_set_str(request, "attempt", id);
    if (!config_load(&config, &c->paths, err) || !env_json(&env, NULL, NULL, config, err)) {
        json_decref(request);
        return false;
    }
    jx_set(request, "env", steal_json(&env));
    if (interactive)
        jx_set_bool(request, "interactive", true);
    if (!client_call(&result, c, "comment.send", request, err))
        return false;
    const char *how = jx_str(result, "how", "");
    const char *then = strcmp(how, "resumed") == 0 ? ", which goes on"
                       : strcmp(how, "queued") == 0
                           ? ", whose next turn they are when the present one has ended"
                           : "";
    print_count(&text, jx_int(result, "sent", 0), "comment", "comments");
    buf_addf(&text, " sent to %s%s\n", id, then);
    return out_buf(&text, err);
}

static bool remove_one(struct client *c, int64_t number, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    return client_call(&result, c, "comment.rm", json_pack("{s:I}", "comment", (json_int_t)number),
                       err);
}

static bool comment(char **argv, struct err *err)
{
    bool json = false, send = false, interactive = false;
    int64_t number = 0;
    const struct opt table[] = {
        {0, "send", OPT_FLAG, &send, NULL, "give what waits to the agent as its next message", 0,
         0},
        {'i', "interactive", OPT_FLAG, &interactive, NULL, "with --send: the agent's own interface",
         0, 0},
        {0, "rm", OPT_INT, &number, "N", "take back a comment that waits", 1, INT64_MAX},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *shown = NULL, *attempts = NULL;
    AUTO_STRV struct strv id = STRV_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 3, err))
        return false;
    size_t n = args.operands.n;
    if ((send || number) && n > 1)
        return cmd_usage(argv[0], "--send and --rm take no text", err);
    if (!client_open(&c, err) || !client_attempt(&shown, &c, args.operands.v[0], err))
        return false;
    strv_push(&id, jx_str(shown, "id", ""));
    if (number)
        return remove_one(&c, number, err);
    if (send)
        return comment_send(&c, id.v[0], interactive, err);
    if (n == 1)
        return list(&c, shown, json, err);
    if (!tree_attempts(&attempts, &c, &id, err))
        return false;
    const char *place = n == 3 ? args.operands.v[1] : NULL;
    return add(&c, json_array_get(attempts, 0), place, args.operands.v[n - 1], err);
}

int cmd_comment(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(comment(argv, &err), &err);
}
