#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_gate.h"

enum { LOG_ROWS = 50, LOG_ROWS_MAX = 5000 };

/* The row behind which the newest limit rows are: numbers rise by one. */
static bool newest(int64_t *ret_after, struct client *c, int64_t limit, struct err *err)
{
    AUTO_JSON json_t *stats = NULL;
    if (!client_call(&stats, c, "gate.stats", NULL, err))
        return false;
    int64_t rows = jx_int(stats, "log_rows", 0);
    *ret_after = rows > limit ? rows - limit : 0;
    return true;
}

static bool print_log(char **argv, struct err *err)
{
    bool json = false;
    int64_t after = -1, limit = LOG_ROWS;
    const struct opt table[] = {
        {0, "after", OPT_INT, &after, "SEQ", "rows behind this one (the newest)", 0, INT64_MAX},
        {'n', "limit", OPT_INT, &limit, "N", "at most N rows (50)", 1, LOG_ROWS_MAX},
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err))
        return false;
    if (!client_open(&c, err) || (after < 0 && !newest(&after, &c, limit, err)))
        return false;
    json_t *request = json_object();
    jx_set_int(request, "after", after);
    jx_set_int(request, "limit", limit);
    if (!client_call(&result, &c, "gate.log", request, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_gate_log(&text, &p, jx_arr(result, "rows"));
    return out_buf(&text, err);
}

int cmd_gate_log(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(print_log(argv, &err), &err);
}

static bool ask(json_t **ret, bool *ret_json, const char *op, char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 0, err) ||
        !client_ask(ret, op, NULL, err))
        return false;
    *ret_json = json;
    return true;
}

static bool stats(char **argv, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    bool json;
    if (!ask(&result, &json, "gate.stats", argv, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_gate_stats(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_gate_stats(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(stats(argv, &err), &err);
}

static bool verify(int *ret_status, char **argv, struct err *err)
{
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    bool json;
    if (!ask(&result, &json, "gate.verify", argv, err))
        return false;
    *ret_status = jx_bool(result, "ok", false) ? 0 : 1;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_gate_verify(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_gate_verify(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = verify(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
