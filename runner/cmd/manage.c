/*
 * What is done to attempts by the server alone, and `open`.
 */
#include <stdio.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/canary.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/env.h"
#include "runner/cmd/live.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_merge.h"
#include "runner/cmd/run_watch.h"
#include "runner/cmd/tree.h"

static bool print_list(const json_t *result, bool json, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_attempts(&text, &p, jx_arr(result, "attempts"));
    return out_buf(&text, err);
}

static bool stop(char **argv, struct err *err)
{
    bool all = false, json = false;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "everything that runs or is queued", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL, *request = NULL;
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err))
        return false;
    if (all == (args.operands.n > 0))
        return cmd_usage(argv[0], all ? "--all takes no attempts" : "name attempts, or --all", err);
    request = all ? json_pack("{s:b}", "all", 1) : client_ids(&args.operands);
    if (!client_ask(&result, "attempt.stop", steal_json(&request), err))
        return false;
    if (!json && json_array_size(jx_arr(result, "attempts")) == 0)
        return out_write("nothing runs\n", strlen("nothing runs\n"), err);
    return print_list(result, json, err);
}

int cmd_stop(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(stop(argv, &err), &err);
}

static bool attach_resumed(struct client *c, const json_t *result, struct err *err)
{
    const char *id = jx_str(json_array_get(jx_arr(result, "attempts"), 0), "id", "");
    AUTO_FREE char *socket = paths_keeper_socket(&c->paths, id);
    bool is_running;
    int status;
    if (!run_watch_start(&is_running, c, id, err))
        return false;
    if (!is_running)
        return err_set(err, ERR_FAILED, "%s ended at once; headgate show %s says why", id, id);
    return live_attach(&status, socket, id, err);
}

static bool was_begun_without(const json_t *attempt)
{
    size_t i;
    const json_t *layer;
    json_array_foreach(jx_arr(attempt, "layers"), i, layer)
    {
        if (strcmp(jx_str(layer, "name", ""), "canary") == 0)
            return true;
    }
    return false;
}

/* What was begun with a canary goes on with one: the program may be another by now. */
static bool prove(const struct client *c, const json_t *attempts, const struct config *config,
                  struct err *err)
{
    size_t i;
    const json_t *attempt;
    json_array_foreach(attempts, i, attempt)
    {
        const struct agent *agent = agent_find(jx_str(attempt, "agent", ""));
        if (agent && !was_begun_without(attempt) && !canary_once(agent, &c->paths, config, err))
            return false;
    }
    return true;
}

static bool resume(char **argv, struct err *err)
{
    bool interactive = false, json = false;
    AUTO_STRV struct strv secrets = STRV_INIT;
    const struct opt table[] = {
        {'i', "interactive", OPT_FLAG, &interactive, NULL, "with the agent's own interface", 0, 0},
        {0, "secret", OPT_LIST, &secrets, "NAME",
         "a variable that its set-up command was started with, once more", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL, *result = NULL, *env = NULL;
    AUTO_CONFIG struct config *config = NULL;
    /* The environment of today: tokens may have been renewed since the run began. */
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err) ||
        !client_open(&c, err) || !config_load(&config, &c.paths, err) ||
        !client_attempts(&attempts, &c, &args.operands, err))
        return false;
    bool attaches = interactive && !json && json_array_size(attempts) == 1;
    if ((attaches && !live_need_terminal("resume -i (without --json)", err)) ||
        !prove(&c, attempts, config, err) || !env_json(&env, NULL, NULL, config, err))
        return false;
    json_t *request = client_ids(&args.operands);
    jx_set_bool(request, "interactive", interactive);
    jx_set(request, "env", steal_json(&env));
    if (!env_add_secrets(request, &secrets, err)) {
        json_decref(request);
        return false;
    }
    if (!client_call(&result, &c, "attempt.resume", request, err))
        return false;
    return attaches ? attach_resumed(&c, result, err) : print_list(result, json, err);
}

int cmd_resume(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(resume(argv, &err), &err);
}

static bool tell_said(const json_t *result, const json_t *attempt, struct err *err)
{
    const char *how = jx_str(result, "how", "");
    AUTO_FREE char *id = text_clean(jx_str(result, "attempt", "?"));
    AUTO_BUF struct buf text = BUF_INIT;
    if (jx_bool(attempt, "interactive", false) && strcmp(how, "said") == 0)
        return true; /* it is on the agent's screen */
    buf_addf(&text, "%s ", id);
    if (strcmp(how, "resumed") == 0)
        buf_adds(&text, "had ended and goes on with it\n");
    else if (strcmp(how, "queued") == 0)
        buf_adds(&text, "takes no messages while it runs: this is its next turn, when the present "
                        "one has ended\n");
    else
        buf_adds(&text, "takes it up at its next step\n");
    return out_buf(&text, err);
}

static bool say(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempt = NULL, *result = NULL, *env = NULL;
    AUTO_CONFIG struct config *config = NULL;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 2, 2, err))
        return false;
    const char *text = args.operands.v[1];
    if (!text_is_utf8(text, strlen(text)) || strlen(text) > LIMIT_PROMPT_BYTES)
        return err_set(err, ERR_USAGE, "the text must be UTF-8 and at most %d bytes long",
                       LIMIT_PROMPT_BYTES);
    if (!client_open(&c, err) || !client_attempt(&attempt, &c, args.operands.v[0], err) ||
        !config_load(&config, &c.paths, err) || !env_json(&env, NULL, NULL, config, err))
        return false;
    json_t *request = json_object();
    jx_set_str(request, "attempt", jx_str(attempt, "id", ""));
    jx_set_str(request, "text", text);
    jx_set_bool(request, "interactive", false); /* of one that has ended: it goes on headless */
    jx_set(request, "env", steal_json(&env));
    if (!client_call(&result, &c, "attempt.say", request, err))
        return false;
    return json ? out_json(result, err) : tell_said(result, attempt, err);
}

int cmd_say(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(say(argv, &err), &err);
}

/* The path of a folder that does not exist yet, without `..` and symlinks before its last part. */
static char *absolute(const char *path, struct err *err)
{
    AUTO_FREE char *folder = fs_dirname(path);
    AUTO_FREE char *real = fs_realpath(folder, err);
    return real ? fs_join(real, fs_basename(path)) : NULL;
}

static bool open_tree(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *one = NULL, *attempts = NULL;
    AUTO_STRV struct strv id = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    __attribute__((cleanup(wt_attempt_release))) struct wt_attempt attempt = WT_ATTEMPT_INIT;
    if (!cmd_parse_n(&args, argv, NULL, 0, 2, 2, err) || !client_open(&c, err) ||
        !client_attempt(&one, &c, args.operands.v[0], err))
        return false;
    strv_push(&id, jx_str(one, "id", ""));
    AUTO_FREE char *path = absolute(args.operands.v[1], err);
    if (!path)
        return false;
    if (!tree_attempts(&attempts, &c, &id, err) ||
        !wt_load(&attempt, jx_str(one, "dir", ""), err) || !wt_open(&attempt, path, err))
        return false;
    AUTO_FREE char *target = text_clean(path);
    buf_addf(&text, "%s is checked out at %s; remove it with: git worktree remove %s\n", id.v[0],
             target, target);
    return out_buf(&text, err);
}

int cmd_open(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(open_tree(argv, &err), &err);
}

/* Each attempt that is kept gets its line on standard error. */
static void tell_kept(const json_t *kept, bool force)
{
    size_t i;
    const json_t *item;
    json_array_foreach(kept, i, item)
    {
        AUTO_FREE char *id = text_clean(jx_str(item, "id", "?"));
        AUTO_FREE char *why = text_clean(jx_str(item, "why", "it could not be removed"));
        fprintf(stderr, "headgate: %s is kept: %s\n", id, why);
    }
    if (json_array_size(kept) && !force)
        fprintf(stderr, "headgate: what may be lost goes with: headgate discard --force\n");
}

/* *ret_status 1 when one was kept. */
static bool discard(int *ret_status, char **argv, struct err *err)
{
    bool force = false, json = false;
    const struct opt table[] = {
        {0, "force", OPT_FLAG, &force, NULL, "unmerged and uncommitted work too", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    size_t i;
    const json_t *id;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err))
        return false;
    json_t *request = client_ids(&args.operands);
    jx_set_bool(request, "force", force);
    if (!client_ask(&result, "attempt.discard", request, err))
        return false;
    const json_t *kept = jx_arr(result, "kept");
    *ret_status = json_array_size(kept) ? 1 : 0;
    if (json)
        return out_json(result, err);
    json_array_foreach(jx_arr(result, "discarded"), i, id)
    {
        buf_addf(&text, "%s removed\n", json_string_value(id));
    }
    if (!out_buf(&text, err))
        return false;
    tell_kept(kept, force);
    return true;
}

int cmd_discard(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = discard(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}

static bool clean(char **argv, struct err *err)
{
    bool dry_run = false, json = false;
    int64_t arguments_ms = -1;
    const struct opt table[] = {
        {'n', "dry-run", OPT_FLAG, &dry_run, NULL, "only say what would be removed", 0, 0},
        {0, "arguments", OPT_DURATION, &arguments_ms, "AGE",
         "drop the arguments of older calls of ended attempts, like 30d; the log keeps digests", 0,
         0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err))
        return false;
    json_t *request = json_pack("{s:b}", "dry_run", dry_run);
    if (arguments_ms >= 0)
        jx_set_int(request, "arguments_ms", arguments_ms);
    if (!client_ask(&result, "clean", request, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_cleaned(&text, &p, result, dry_run);
    return out_buf(&text, err);
}

int cmd_clean(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(clean(argv, &err), &err);
}
