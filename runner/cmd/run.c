#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/canary.h"
#include "runner/cmd/client.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/live.h"
#include "runner/cmd/out.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/run_request.h"
#include "runner/cmd/run_watch.h"

static bool print_header(const json_t *created, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    out_print(&p);
    print_run_header(&text, &p, created);
    return out_buf(&text, err);
}

static bool print_detached(const json_t *created, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_BUF struct buf run = BUF_INIT;
    jx_dump(&run, json_object_get(created, "run"));
    buf_addf(&text, "run %s goes on; headgate shows it, headgate stop %s ends it\n", run.ptr,
             run.ptr);
    return out_buf(&text, err);
}

static bool attempts_of(json_t **ret, struct client *c, const json_t *created, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_BUF struct buf run = BUF_INIT;
    jx_dump(&run, json_object_get(created, "run"));
    strv_push(&words, run.ptr);
    return client_attempts(ret, c, &words, err);
}

static bool all_ok(const json_t *attempts)
{
    size_t i;
    const json_t *attempt;
    json_array_foreach(attempts, i, attempt)
    {
        if (strcmp(jx_str(attempt, "outcome", ""), "ok") != 0)
            return false;
    }
    return true;
}

/* *ret_status 1 when an attempt did not end well. */
static bool print_end(int *ret_status, struct client *c, const json_t *created, bool json,
                      struct err *err)
{
    AUTO_CLIENT struct client again = CLIENT_INIT;
    AUTO_JSON json_t *attempts = NULL;
    AUTO_BUF struct buf text = BUF_INIT;
    struct print p;
    client_close(c); /* it is a subscription now */
    if (!client_open(&again, err) || !attempts_of(&attempts, &again, created, err))
        return false;
    *ret_status = all_ok(attempts) ? 0 : 1;
    if (json) {
        AUTO_JSON json_t *result = json_copy((json_t *)created);
        json_object_set(result, "attempts", attempts);
        return out_json(result, err);
    }
    out_print(&p);
    print_run_summary(&text, &p, attempts);
    return out_buf(&text, err);
}

/* *ret_detached: the person left it running. Where it never ran the summary says why. */
static bool attach_first(bool *ret_detached, struct client *c, const json_t *created,
                         struct err *err)
{
    const json_t *attempt = json_array_get(jx_arr(created, "attempts"), 0);
    const char *id = jx_str(attempt, "id", "");
    bool is_running;
    int status = 0;
    if (!run_watch_start(&is_running, c, id, err))
        return false;
    AUTO_FREE char *socket = paths_keeper_socket(&c->paths, id);
    if (is_running && !live_attach(&status, socket, id, err))
        return false;
    *ret_detached = status < 0;
    client_close(c); /* it is a subscription now */
    return client_open(c, err);
}

static bool stay(int *ret_status, struct client *c, const struct run_opts *o,
                 const struct alert *alert, const json_t *created, struct err *err)
{
    enum run_watch_end end;
    const struct run_watch_opts how = {.quiet = o->json, .alert = *alert};
    bool attaches = o->interactive && json_array_size(jx_arr(created, "attempts")) == 1;
    bool is_detached = false;
    if (attaches && !attach_first(&is_detached, c, created, err))
        return false;
    if (is_detached)
        return true;
    if (!run_watch(&end, c, json_object_get(created, "run"), &how, err))
        return false;
    if (end == RUN_WATCH_DETACHED && o->json)
        return out_json(created, err);
    if (end == RUN_WATCH_DETACHED)
        return print_detached(created, err);
    return print_end(ret_status, c, created, o->json, err);
}

struct beginning {
    struct paths paths;
    struct config *config;
    struct alert alert;
    struct client client;
    json_t *created; /* the answer to run.create */
};

static void beginning_done(struct beginning *b)
{
    json_decref(b->created);
    client_close(&b->client);
    config_free(b->config);
    paths_done(&b->paths);
}

/* What its agent has to have shown. */
static bool prove(const struct beginning *b, const json_t *request, struct err *err)
{
    const struct agent *agent = agent_find(jx_str(request, "agent", ""));
    return !agent || !jx_bool(request, "canary", true) ||
           canary_once(agent, &b->paths, b->config, err);
}

/* One interactive attempt is attached at once. */
static bool will_attach(const struct run_opts *o, const json_t *tasks)
{
    return o->interactive && !o->detach && o->n == 1 && json_array_size(tasks) == 1;
}

static bool may_attach(const struct run_opts *o, const json_t *request, struct err *err)
{
    return !will_attach(o, jx_arr(request, "tasks")) ||
           live_need_terminal("run -i (without --detach)", err);
}

static bool create(struct beginning *b, const struct run_opts *o, struct err *err)
{
    AUTO_RUN_START struct run_start start = RUN_START_INIT;
    AUTO_JSON json_t *request = NULL;
    return paths_init(&b->paths, err) && config_load(&b->config, &b->paths, err) &&
           alert_load(&b->alert, b->config, err) &&
           run_request(&request, &start, o, b->config, err) && may_attach(o, request, err) &&
           prove(b, request, err) && client_open(&b->client, err) &&
           client_call(&b->created, &b->client, "run.create", steal_json(&request), err);
}

static bool run(int *ret_status, char **argv, struct err *err)
{
    AUTO_RUN_OPTS struct run_opts o;
    __attribute__((cleanup(beginning_done))) struct beginning b = {.client = CLIENT_INIT};
    run_opts_init(&o);
    if (!run_opts_parse(&o, argv, err))
        return false;
    if (!create(&b, &o, err)) {
        /* Nothing was begun: to a script, exit code 1 is work that failed. */
        if (err_exit_code(err) == 1)
            err->code = ERR_USAGE;
        return false;
    }
    if (o.detach && o.json)
        return out_json(b.created, err);
    if (!o.json && !print_header(b.created, err))
        return false;
    if (o.detach)
        return print_detached(b.created, err);
    return stay(ret_status, &b.client, &o, &b.alert, b.created, err);
}

int cmd_run(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    bool ok = run(&status, argv, &err);
    return ok ? status : cmd_exit(false, &err);
}
