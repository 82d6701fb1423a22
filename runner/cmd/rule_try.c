#include <string.h>

#include "gate/policy.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"

enum { TRY_ALLOW = 0, TRY_DENY = 3, TRY_ASK = 6 };

/* The call as an agent would ask it: TOOL JSON, or a command line for the shell tool. */
static bool try_request(struct call_request *ret, const struct cmd_args *args, const char *agent,
                        const char *dir, struct err *err)
{
    AUTO_JSON json_t *msg = json_object();
    AUTO_BUF struct buf line = BUF_INIT, command = BUF_INIT;
    json_t *call_args = NULL;
    bool is_command = args->dashdash == 0;
    if (is_command) {
        cmd_quote(&command, args->operands.v, args->operands.n);
        call_args = json_object();
        jx_set(call_args, "command", jx_bytes(command.ptr, command.len));
    } else if (!jx_parse(&call_args, args->operands.v[1], strlen(args->operands.v[1]), err)) {
        return err_prefix(err, "the arguments");
    }
    jx_set_int(msg, "v", 1);
    jx_set_str(msg, "source", "hook");
    jx_set_str(msg, "agent", agent);
    jx_set_str(msg, "tool", is_command ? "Bash" : args->operands.v[0]);
    jx_set(msg, "args", call_args);
    jx_set_str(msg, "cwd", dir);
    jx_dump(&line, msg);
    return call_request_parse(ret, line.ptr, line.len, err);
}

static bool load_policy(struct policy *ret, const char *ladder, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    size_t i;
    const json_t *row;
    if (!ladder_parse(&ret->ladder, ladder, err) || !client_ask(&result, "rule.list", NULL, err))
        return false;
    const json_t *rows = jx_arr(result, "rules");
    ret->rules = xcalloc(json_array_size(rows) + 1, sizeof(*ret->rules));
    json_array_foreach(rows, i, row)
    {
        struct rule rule = RULE_INIT;
        if (!rule_parse(&rule, jx_str(row, "text", ""), err))
            return false;
        rule.id = jx_int(row, "id", 0);
        if (rule.scope == RULE_ALWAYS) /* no attempt is named, so no narrower scope holds */
            ret->rules[ret->n_rules++] = rule;
        else
            rule_release(&rule);
    }
    return true;
}

static bool print_judgement(const struct judgement *j, bool json, struct err *err)
{
    static const char *const words[] = {
        [VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask", [VERDICT_DENY] = "deny"};
    AUTO_BUF struct buf text = BUF_INIT;
    if (json) {
        AUTO_JSON json_t *result = json_object();
        jx_set_str(result, "verdict", words[j->verdict]);
        jx_set_str(result, "why", j->why);
        jx_set_int(result, "rule", j->rule);
        jx_set_str(result, "reason", j->reason);
        return out_json(result, err);
    }
    AUTO_FREE char *reason = text_clean(j->reason);
    buf_addf(&text, "%s (%s%s", words[j->verdict], j->why, j->rule ? " " : "");
    if (j->rule)
        buf_addf(&text, "%d", (int)j->rule);
    buf_addf(&text, ")%s%s\n", *reason ? ": " : "", reason);
    return out_buf(&text, err);
}

static int try_status(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_ALLOW:
        return TRY_ALLOW;
    case VERDICT_ASK:
        return TRY_ASK;
    case VERDICT_DENY:
        return TRY_DENY;
    }
    return TRY_DENY;
}

static bool try_call(int *ret_status, char **argv, struct err *err)
{
    bool json = false;
    const char *ladder = "auto", *agent = "command", *dir = "/worktree";
    const struct opt table[] = {
        {0, "ladder", OPT_STRING, &ladder, "R", "confirm, edits or auto (auto)", 0, 0},
        {0, "agent", OPT_STRING, &agent, "NAME", "kind of agent that asks", 0, 0},
        {0, "dir", OPT_STRING, &dir, "DIR", "the worktree (/worktree)", 0, 0},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    __attribute__((cleanup(policy_release))) struct policy policy = POLICY_INIT;
    __attribute__((cleanup(call_request_release))) struct call_request call = CALL_REQUEST_INIT;
    struct judgement judgement;
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err))
        return false;
    bool is_command = args.dashdash == 0 && args.operands.n > 0;
    if (!is_command && (args.operands.n != 2 || args.dashdash != SIZE_MAX))
        return cmd_usage(argv[0], "name a tool and its arguments as JSON, or a command behind --",
                         err);
    if (!try_request(&call, &args, agent, dir, err) || !load_policy(&policy, ladder, err))
        return false;
    const struct policy_place place = {.worktree = dir, .home = "/home"};
    policy_judge(&judgement, &policy, &call, &place);
    *ret_status = try_status(judgement.verdict);
    return print_judgement(&judgement, json, err);
}

int cmd_rule_try(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = try_call(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
