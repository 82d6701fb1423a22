/*
 * ops_server: what concerns the server itself and all that it knows.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/server/live.h"
#include "runner/server/ops.h"
#include "runner/server/view.h"

/* Whatever is older than the newest of these is asked for by name. */
enum { PROTOCOL = 1, ADDRESS_BYTES = 64, SNAPSHOT_RUNS = 500, SNAPSHOT_ATTEMPTS = 2000 };

void op_hello(struct request *r)
{
    struct client *c = r->client;
    free(c->kind);
    const char *kind =
        strcmp(jx_str(r->body, "client", ""), "dashboard") == 0 ? "dashboard" : "shell";
    const char *ssh = jx_str(r->body, "ssh", "");
    size_t len = strspn(ssh, "0123456789abcdefABCDEF.:%");
    bool is_remote = len > 0 && len <= ADDRESS_BYTES && (ssh[len] == ' ' || ssh[len] == '\0');
    c->kind = is_remote ? xasprintf("%s by ssh from %.*s", kind, (int)len, ssh) : xstrdup(kind);
    json_t *result = json_object();
    jx_set_str(result, "version", HEADGATE_VERSION);
    jx_set_int(result, "v", PROTOCOL);
    jx_set_int(result, "pid", getpid());
    jx_set_str(result, "state", r->server->paths.state);
    request_answer(r, result);
}

static bool add_attempts(json_t *snapshot, struct server *s, int64_t run, struct err *err)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    json_t *attempts;
    if (!attempt_row_ids(&ids, s->db, ATTEMPTS_ALL, run, SNAPSHOT_ATTEMPTS, err) ||
        !view_attempts(&attempts, s, &ids, VIEW_SHORT, err))
        return false;
    jx_set(snapshot, "attempts", attempts);
    return true;
}

static bool make_snapshot(json_t **ret, struct server *s, int64_t run, struct err *err)
{
    AUTO_JSON json_t *snapshot = json_object();
    json_t *runs = json_array();
    json_t *calls;
    jx_set(snapshot, "runs", runs);
    if (!run_row_list(runs, s->db, run, SNAPSHOT_RUNS, err) ||
        !add_attempts(snapshot, s, run, err) ||
        !ledger_list(&calls, s->db, 1U << CALL_PENDING, NULL, 0, err))
        return false;
    jx_set(snapshot, "calls", view_cut_calls(calls));
    jx_set_int(snapshot, "now_ms", clock_unix_ms());
    jx_set_int(snapshot, "epoch", s->epoch);
    *ret = steal_json(&snapshot);
    return true;
}

void op_snapshot(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *snapshot;
    if (make_snapshot(&snapshot, r->server, 0, &err))
        request_answer(r, snapshot);
    else
        request_fail(r, &err);
}

void op_subscribe(struct request *r)
{
    struct err err = ERR_INIT;
    struct client *c = r->client;
    json_t *snapshot;
    int64_t run = jx_int(r->body, "run", 0);
    if (!make_snapshot(&snapshot, r->server, run, &err)) {
        request_fail(r, &err);
        return;
    }
    c->is_subscribed = true;
    c->subscription = r->id;
    c->only_run = run;
    request_answer(r, snapshot);
}

/* Attempts whose keeper goes on without the server, and those that wait for it. */
static bool count_open(int64_t *ret_active, int64_t *ret_queued, struct server *s, struct err *err)
{
    AUTO_STRV struct strv open = STRV_INIT;
    AUTO_STRV struct strv queued = STRV_INIT;
    if (!attempt_row_ids(&open, s->db, ATTEMPTS_OPEN, 0, INT64_MAX, err) ||
        !attempt_row_ids(&queued, s->db, ATTEMPTS_QUEUED, 0, INT64_MAX, err))
        return false;
    *ret_queued = (int64_t)queued.n;
    *ret_active = (int64_t)(open.n - queued.n);
    return true;
}

static bool describe(json_t **ret, struct server *s, struct err *err)
{
    int64_t active, queued;
    if (!count_open(&active, &queued, s, err))
        return false;
    int64_t clients = 0;
    for (const struct client *c = s->clients; c; c = c->next)
        clients++;
    json_t *result = json_object();
    jx_set_str(result, "version", HEADGATE_VERSION);
    jx_set_int(result, "v", PROTOCOL);
    jx_set_int(result, "pid", getpid());
    jx_set_str(result, "state", s->paths.state);
    jx_set_int(result, "started_ms", s->started_ms);
    jx_set_int(result, "clients", clients);
    jx_set_int(result, "active", active);
    jx_set_int(result, "queued", queued);
    jx_set_int(result, "epoch", s->epoch);
    *ret = result;
    return true;
}

void op_server_info(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *result;
    if (describe(&result, r->server, &err))
        request_answer(r, result);
    else
        request_fail(r, &err);
}

void op_server_stop(struct request *r)
{
    struct server *s = r->server;
    struct err err = ERR_INIT;
    json_t *result;
    if (describe(&result, s, &err))
        request_answer(r, result);
    else
        request_fail(r, &err); /* it ends all the same */
    server_log("ending: asked to");
    server_stop(s);
}
