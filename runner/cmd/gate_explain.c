#include <stdlib.h>
#include <string.h>

#include "gate/floor.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_rules.h"

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

/* 3 is a run with all its attempts, 3.2 one attempt. */
static bool set_ladder(char **argv, struct err *err)
{
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    if (!cmd_parse_n(&args, argv, NULL, 0, 2, 2, err))
        return false;
    const char *who = args.operands.v[0], *rung = args.operands.v[1];
    char *end;
    long long run = strtoll(who, &end, 10);
    if (*who < '0' || *who > '9' || run < 1 || (*end && *end != '.'))
        return err_set(err, ERR_USAGE, "'%s' is no run, such as 3, and no attempt, such as 3.2", who);
    json_t *request = json_object();
    if (*end)
        jx_set_str(request, "attempt", who);
    else
        jx_set_int(request, "run", run);
    jx_set_str(request, "ladder", rung);
    if (!client_ask(&result, "ladder.set", request, err) || !client_in_force(result, err))
        return false;
    buf_addf(&text, "%s is at '%s' now\n", who, rung);
    return out_buf(&text, err);
}

int cmd_gate_ladder(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(set_ladder(argv, &err), &err);
}
