#include <stdio.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_calls.h"
#include "runner/cmd/rule_pick.h"

/* Calls of the attempt 3.2, or of all of run 3. */
static void keep_only(json_t *calls, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = json_array_size(calls); i-- > 0;) {
        const char *attempt = jx_str(json_array_get(calls, i), "attempt", "");
        bool is_meant = strncmp(attempt, word, len) == 0 && (!attempt[len] || attempt[len] == '.');
        if (!is_meant)
            json_array_remove(calls, i);
    }
}

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
    if (!client_ask(&result, "call.list", request, err))
        return false;
    if (args.operands.n)
        keep_only(jx_arr(result, "calls"), args.operands.v[0]);
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
    jx_set_str(request, "call", args.operands.v[0]);
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

/* Each call that was not decided gets its line on standard error, which says who was first. */
static void tell_failed(const json_t *failed)
{
    size_t i;
    const json_t *item;
    json_array_foreach(failed, i, item)
    {
        AUTO_FREE char *why = text_clean(jx_str(item, "message", "a call cannot be decided"));
        fprintf(stderr, "headgate: %s\n", why);
    }
}

/* Which calls still wait for the same. */
static void print_equal(struct buf *out, const json_t *equal, const char *decision)
{
    size_t i;
    const json_t *id;
    if (json_array_size(equal) == 0)
        return;
    json_array_foreach(equal, i, id)
    {
        AUTO_FREE char *clean = text_clean(json_string_value(id));
        buf_addf(out, "%s%s", i ? ", " : "", clean);
    }
    bool is_one = json_array_size(equal) == 1;
    buf_addf(out, " %s for the same; --equal %s %s too\n", is_one ? "waits" : "wait",
             strcmp(decision, "allow") == 0 ? "approves" : "denies", is_one ? "it" : "them");
}

/* An approval that came too late for the call itself lets the next one of its kind pass. */
static bool print_granted(struct buf *out, const json_t *call, const char *decision)
{
    static const char *const ended[] = {"denied", "expired", "orphaned"};
    const char *state = jx_str(call, "state", "");
    for (size_t i = 0; i < ARRAY_LEN(ended) && strcmp(decision, "allow") == 0; i++) {
        if (strcmp(state, ended[i]) != 0)
            continue;
        AUTO_FREE char *id = text_clean(jx_str(call, "id", ""));
        AUTO_FREE char *attempt = text_clean(jx_str(call, "attempt", ""));
        buf_addf(out, "%s stays %s; %s may do the same once when it asks again\n", id, ended[i],
                 attempt);
        return true;
    }
    return false;
}

/* *ret_status 1 when a call could not be decided. */
static bool decide(int *ret_status, json_t *request, const char *decision, struct err *err)
{
    AUTO_JSON json_t *owned = request, *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    size_t i;
    const json_t *call;
    jx_set_str(owned, "decision", decision);
    if (!client_ask(&result, "call.decide", json_incref(owned), err))
        return false;
    out_print(&p);
    json_array_foreach(jx_arr(result, "decided"), i, call)
    {
        if (!print_granted(&text, call, decision))
            print_call_decided(&text, &p, call);
    }
    print_equal(&text, jx_arr(result, "equal"), decision);
    const json_t *failed = jx_arr(result, "failed");
    *ret_status = json_array_size(failed) ? 1 : 0;
    if (text.len == 0 && *ret_status == 0)
        buf_adds(&text, "nothing waits\n");
    if (!out_buf(&text, err))
        return false;
    tell_failed(failed);
    return true;
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

/* Such calls pass from now on: the rule of the proposal with this number. */
static bool keep_rule(const struct cmd_args *args, int64_t number, struct err *err)
{
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *proposals = NULL;
    AUTO_BUF struct buf report = BUF_INIT;
    return client_open(&c, err) && rule_proposals(&proposals, &c, args->operands.v[0], err) &&
           rule_pick(&report, &c, proposals, number, err) && out_buf(&report, err);
}

static bool approve(int *ret_status, char **argv, struct err *err)
{
    bool all = false, grant = false, equal = false;
    int64_t rule = 0;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "every call that waits", 0, 0},
        {0, "grant", OPT_FLAG, &grant, NULL,
         "where the caller has gone or was denied: let the same attempt do it once when it asks "
         "again",
         0, 0},
        {0, "equal", OPT_FLAG, &equal, NULL, "also every call that waits for the same", 0, 0},
        {0, "rule", OPT_INT, &rule, "N",
         "and make the rule of proposal N (rule add --from C lists them, 1 is the narrowest)", 1,
         1000},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *request = json_object();
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err) ||
        !which(request, &args, all, argv[0], err))
        return false;
    if (rule > 0 && args.operands.n != 1)
        return cmd_usage(argv[0], "--rule goes with one call", err);
    if (grant)
        jx_set_bool(request, "grant", true);
    jx_set_bool(request, "equal", equal);
    return decide(ret_status, json_incref(request), "allow", err) &&
           (rule == 0 || *ret_status != 0 || keep_rule(&args, rule, err));
}

int cmd_gate_approve(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = approve(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}

static bool deny(int *ret_status, char **argv, struct err *err)
{
    bool all = false, equal = false;
    const char *reason = NULL;
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &all, NULL, "every call that waits", 0, 0},
        {0, "equal", OPT_FLAG, &equal, NULL, "also every call that waits for the same", 0, 0},
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
    jx_set_bool(request, "equal", equal);
    return decide(ret_status, json_incref(request), "deny", err);
}

int cmd_gate_deny(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = deny(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
