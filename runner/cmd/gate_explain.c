#include <stdlib.h>
#include <string.h>

#include "gate/floor.h"
#include "runner/agents/agent.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_rules.h"
#include "runner/cmd/rule_pick.h"

static bool explain(char **argv, struct err *err)
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
    if (!client_ask(&result, "call.explain", request, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_explained(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_gate_explain(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(explain(argv, &err), &err);
}

static bool list_floor(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *floor = floor_list();
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err))
        return false;
    if (json)
        return out_json(floor, err);
    out_print(&p);
    print_floor(&text, &p, floor);
    return out_buf(&text, err);
}

int cmd_gate_floor(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(list_floor(argv, &err), &err);
}

/* The whole run, or an attempt of it. */
static bool set_rung(struct buf *covered, struct client *c, int64_t run, const char *attempt,
                     const char *rung, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    json_t *request = json_object();
    if (attempt)
        jx_set_str(request, "attempt", attempt);
    else
        jx_set_int(request, "run", run);
    jx_set_str(request, "ladder", rung);
    if (!client_call(&result, c, "ladder.set", request, err) || !client_in_force(result, err))
        return false;
    buf_clear(covered); /* of several changes the last one tells all */
    rule_report_covered(covered, result);
    return true;
}

/* Every attempt of this kind of agent that is not done. */
static bool set_kind(struct client *c, const char *kind, const char *rung, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT, covered = BUF_INIT;
    size_t i;
    int64_t n = 0;
    const json_t *attempt;
    if (!client_call(&result, c, "attempt.list", NULL, err))
        return false;
    json_array_foreach(jx_arr(result, "attempts"), i, attempt)
    {
        bool is_meant = strcmp(jx_str(attempt, "agent", ""), kind) == 0 &&
                        strcmp(jx_str(attempt, "state", ""), "done") != 0;
        if (is_meant && !set_rung(&covered, c, 0, jx_str(attempt, "id", ""), rung, err))
            return false;
        n += is_meant;
    }
    print_count(&text, n, "attempt", "attempts");
    buf_addf(&text, " of %s %s at '%s' now; gate.%s.ladder is for those to come\n", kind,
             n == 1 ? "is" : "are", rung, kind);
    buf_add(&text, covered.ptr, covered.len);
    return out_buf(&text, err);
}

/* 3 is a run with all its attempts, 3.2 one attempt, claude all of that kind. */
static bool set_ladder(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_BUF struct buf text = BUF_INIT, covered = BUF_INIT;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    const struct agent *kind;
    struct agent own;
    enum ladder ladder;
    if (!cmd_parse_n(&args, argv, NULL, 0, 2, 2, err))
        return false;
    const char *who = args.operands.v[0], *rung = args.operands.v[1];
    char *end;
    long long run = strtoll(who, &end, 10);
    bool is_number = *who >= '0' && *who <= '9' && run > 0 && (!*end || *end == '.');
    if (!paths_init(&paths, err) || !config_load(&config, &paths, err))
        return false;
    if (!is_number && !agent_named(&kind, &own, who, config))
        return err_set(err, ERR_USAGE,
                       "'%s' is no run, such as 3, no attempt, such as 3.2, and no kind of agent",
                       who);
    if (!ladder_parse(&ladder, rung, err) || !client_open(&c, err))
        return false;
    if (!is_number)
        return set_kind(&c, who, rung, err);
    if (!set_rung(&covered, &c, run, *end ? who : NULL, rung, err))
        return false;
    buf_addf(&text, "%s is at '%s' now\n%s", who, rung, covered.ptr);
    return out_buf(&text, err);
}

int cmd_gate_ladder(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(set_ladder(argv, &err), &err);
}
