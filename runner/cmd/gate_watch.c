#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_calls.h"

struct watching {
    struct client client;
    bool json, all; /* all: also what the policy decides by itself */
    int64_t run;    /* 0: every run */
};

static bool is_of_interest(const struct watching *w, const json_t *call)
{
    const char *by = jx_str(call, "decided_by", "");
    const char *asked = jx_str(call, "ask_why", "");
    return w->all || *asked || strcmp(by, "policy") != 0;
}

/* One line for a change of a call; state tells what happened. */
static bool tell(const struct watching *w, const json_t *call, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    if (!is_of_interest(w, call))
        return true;
    if (w->json) {
        AUTO_JSON json_t *line = json_pack("{s:s, s:O}", "event", "call", "call", call);
        return out_json(line, err);
    }
    out_print(&p);
    print_call_decided(&text, &p, call);
    return out_buf(&text, err);
}

/* What waits already comes first, so that a script misses nothing. */
static bool subscribe(struct watching *w, struct err *err)
{
    AUTO_JSON json_t *snapshot = NULL;
    json_t *request = json_object();
    size_t i;
    const json_t *call;
    if (w->run > 0)
        jx_set_int(request, "run", w->run);
    if (!client_call(&snapshot, &w->client, "subscribe", request, err))
        return false;
    const json_t *state = jx_obj(snapshot, "snapshot");
    json_array_foreach(jx_arr(state ? state : snapshot, "calls"), i, call)
    {
        const char *attempt = jx_str(call, "attempt", "");
        bool is_meant = w->run == 0 || strtoll(attempt, NULL, 10) == w->run;
        if (is_meant && !tell(w, call, err))
            return false;
    }
    return true;
}

static bool follow(struct watching *w, struct err *err)
{
    for (;;) {
        AUTO_JSON json_t *msg = NULL;
        if (!sync_recv(&msg, &w->client.conn, -1, err))
            return false;
        const json_t *event = jx_obj(msg, "event");
        bool is_call = strcmp(jx_str(event, "e", ""), "call") == 0;
        if (is_call && !tell(w, jx_obj(event, "call"), err))
            return false;
    }
}

static bool watch(char **argv, struct err *err)
{
    struct watching w = {.client = CLIENT_INIT};
    const struct opt table[] = {
        {0, "all", OPT_FLAG, &w.all, NULL, "also calls that nobody is asked about", 0, 0},
        {0, "json", OPT_FLAG, &w.json, NULL, "print one JSON object a line", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    if (!cmd_parse_n(&args, argv, table, ARRAY_LEN(table), 0, 1, err))
        return false;
    char *end = NULL;
    if (args.operands.n && ((w.run = strtoll(args.operands.v[0], &end, 10)) < 1 || *end))
        return err_set(err, ERR_USAGE, "'%s' is no run, such as 3", args.operands.v[0]);
    bool ok = client_open(&w.client, err);
    while (ok && !(subscribe(&w, err) && follow(&w, err)))
        ok = client_reopen(&w.client, err);
    client_close(&w.client);
    return ok;
}

int cmd_gate_watch(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    return cmd_exit(watch(argv, &err), &err);
}
