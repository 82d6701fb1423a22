#include <stdlib.h>

#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_trace.h"

static bool add_run(json_t *request, const char *word, struct err *err)
{
    char *end;
    long long run = strtoll(word, &end, 10);
    if (run < 1 || *end)
        return err_set(err, ERR_USAGE, "ls takes a run, like 3; headgate show %s shows an attempt",
                       word);
    jx_set_int(request, "run", run);
    return true;
}

static bool ls(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 1, err))
        return false;
    json_t *request = json_object();
    if (args.operands.n && !add_run(request, args.operands.v[0], err)) {
        json_decref(request);
        return false;
    }
    if (!client_ask(&result, "attempt.list", request, err))
        return false;
    if (args.operands.n && json_array_size(jx_arr(result, "attempts")) == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no run %s; headgate ls lists them all",
                       args.operands.v[0]);
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_attempts(&text, &p, jx_arr(result, "attempts"));
    return out_buf(&text, err);
}

int cmd_ls(int argc, char **argv)
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
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, SIZE_MAX, err) ||
        !client_open(&c, err) || !client_attempts(&attempts, &c, &args.operands, err))
        return false;
    if (json) {
        AUTO_JSON json_t *result = json_object();
        json_object_set(result, "attempts", attempts);
        return out_json(result, err);
    }
    size_t i;
    const json_t *attempt;
    out_print(&p);
    json_array_foreach(attempts, i, attempt)
    {
        if (i)
            buf_addch(&text, '\n');
        print_attempt(&text, &p, attempt);
    }
    return out_buf(&text, err);
}

int cmd_show(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(show(argv, &err), &err);
}

static bool trace(char **argv, struct err *err)
{
    bool json = false;
    const struct opt table[] = {
        {0, "json", OPT_FLAG, &json, NULL, "print JSON", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    AUTO_CLIENT struct client c = CLIENT_INIT;
    AUTO_JSON json_t *result = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 1, 1, err) || !client_open(&c, err))
        return false;
    json_t *request = json_object();
    jx_set(request, "ids", jx_from_strv(&args.operands));
    if (!client_call(&result, &c, "attempt.trace", request, err))
        return false;
    if (json)
        return out_json(result, err);
    out_print(&p);
    print_trace(&text, &p, result);
    return out_buf(&text, err);
}

int cmd_trace(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(trace(argv, &err), &err);
}
