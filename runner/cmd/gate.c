#include <stdio.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_calls.h"

static bool ls(char **argv, struct err *err)
{
    bool json = false, all = false;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "decided calls too", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 1, err))
        return false;
    json_t *request = json_object();
    if (!all)
        jx_set(request, "states", json_pack("[s]", "pending"));
    if (args.operands.n)
        jx_set_str(request, "attempt", args.operands.v[0]);
    if (!client_ask(&result, "call.list", request, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_calls(&text, &p, jx_arr(result, "calls"));
    return out_buf(&text, err);
}

int cmd_gate_ls(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(ls(argv, &err), &err);
}

static bool show(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 1, err))
        return false;
    json_t *request = json_object();
    jx_set_str(request, "id", args.operands.v[0]);
    if (!client_ask(&result, "call.show", request, err))
        return false;
    if (json)
        return out_json(json_object_get(result, "call"), err);
    out_print(&p);
    print_call(&text, &p, json_object_get(result, "call"));
    return out_buf(&text, err);
}

int cmd_gate_show(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(show(argv, &err), &err);
}

/* Each call that was not decided gets its line on standard error; the exit code tells that there was one. */
static bool tell_failed(struct client *c, const json_t *failed, struct err *err)
{
    size_t i;
    const json_t *item;
    json_array_foreach(failed, i, item) {
        struct err ignored = ERR_INIT;
        AUTO_JSON json_t *result = NULL;
        AUTO_FREE char *id = text_clean(jx_str(item, "id", "?"));
        AUTO_FREE char *why = text_clean(jx_str(item, "message", "it cannot be decided"));
        json_t *request = json_object();
        jx_set_str(request, "id", id);
        bool is_known = client_call(&result, c, "call.show", request, &ignored);
        const char *state = is_known ? jx_str(jx_obj(result, "call"), "state", "") : "";
        bool is_orphaned = strcmp(state, "orphaned") == 0;
        fprintf(stderr, "headgate: %s: %s%s%s\n", id, why,
                is_orphaned ? "; let the agent do it once when it asks again: headgate gate "
                              "approve --grant "
                            : "",
                is_orphaned ? id : "");
    }
    size_t n = json_array_size(failed);
    return n == 0 || err_set(err, ERR_CONFLICT, "%zu of the calls could not be decided", n);
}

static bool decide(json_t *request, const char *decision, struct err *err)
{
    AUTO_JSON json_t *owned = request, *result = NULL;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    size_t i;
    const json_t *call;
    jx_set_str(owned, "decision", decision);
    if (!client_open(&c, err) || !sync_call(&result, &c.conn, "call.decide", owned, err))
        return false;
    out_print(&p);
    json_array_foreach(jx_arr(result, "decided"), i, call) {
        print_call_decided(&text, &p, call);
    }
    const json_t *failed = jx_arr(result, "failed");
    if (text.len == 0 && json_array_size(failed) == 0)
        buf_adds(&text, "nothing waits\n");
    return out_buf(&text, err) && tell_failed(&c, failed, err);
}

static bool which(json_t *request, const struct cmd_args *args, bool all, const char *name,
                  struct err *err)
{
    if (all == (args->operands.n > 0))
        return cmd_usage(name, all ? "--all takes no calls" : "name the calls, or --all", err);
    if (all)
        jx_set_bool(request, "all", true);
    else
        jx_set(request, "ids", jx_from_strv(&args->operands));
    return true;
}

static bool approve(char **argv, struct err *err)
{
    bool all = false, grant = false;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "every call that waits", 0, 0},
        {0, "grant", OPT_FLAG, &grant, NULL,
         "where the caller has gone: let the same attempt do it once when it asks again", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *request = json_object();
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err) ||
        !which(request, &args, all, argv[0], err))
        return false;
    if (grant)
        jx_set_bool(request, "grant", true);
    return decide(json_incref(request), "allow", err);
}

int cmd_gate_approve(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(approve(argv, &err), &err);
}

static bool deny(char **argv, struct err *err)
{
    bool all = false;
    const char *reason = NULL;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "every call that waits", 0, 0},
        {'r', "reason", OPT_STRING, &reason, "TEXT", "what the agent is told; needed", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *request = json_object();
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err))
        return false;
    if (!reason || reason[strspn(reason, " \t\n")] == '\0')
        return cmd_usage(argv[0], "say why, the agent goes on with your words", err);
    if (!text_is_utf8(reason, strlen(reason)))
        return err_set(err, ERR_USAGE, "the reason is not UTF-8");
    if (strlen(reason) > LIMIT_REASON_BYTES)
        return err_set(err, ERR_USAGE, "the reason is longer than %d bytes", LIMIT_REASON_BYTES);
    if (!which(request, &args, all, argv[0], err))
        return false;
    jx_set_str(request, "reason", reason);
    return decide(json_incref(request), "deny", err);
}

int cmd_gate_deny(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(deny(argv, &err), &err);
}
