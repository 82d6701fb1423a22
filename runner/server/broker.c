#include "runner/server/broker.h"

#include <stdlib.h>
#include <string.h>

#include "runner/attempt/carry.h"
#include "runner/base/clock.h"
#include "runner/server/executor.h"
#include "runner/server/link.h"
#include "runner/store/broker_row.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

static bool load(struct job *job, struct server *s, struct err *err)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    if (!ledger_get(&job->call, s->db, job->broker_call, err) ||
        !run_row_get(&run, s->db, job->live->run, err))
        return false;
    strv_push_all(&job->session, strv_array(&run.desktop));
    AUTO_JSON json_t *logins = keyring_copy(&s->logins, job->live->run);
    const char *name;
    json_t *token;
    json_object_foreach(logins, name, token)
    {
        strv_env_set(&job->session, name, json_string_value(token));
    }
    return true;
}

bool broker_begin(struct job *job, struct server *s, struct err *err)
{
    AUTO_ROLLBACK struct db *db = s->db;
    if (!db_begin(db, err) || !broker_row_begin(&job->broker_call, db, job->live->id, err) ||
        (job->broker_call && !load(job, s, err)))
        return false;
    return db_commit(db, err);
}

void broker_run(struct job *job)
{
    struct carry_result result;
    if (!job->broker_call)
        return;
    const struct carry carry = {.paths = job->paths,
                                .config = job->config,
                                .spec = &job->spec,
                                .session = &job->session,
                                .request = &job->call.request};
    carry_out(&result, &carry);
    job->message = json_incref(result.message);
    job->status = result.status;
    job->has_harvest = result.has_harvest;
    if (result.has_harvest) {
        job->harvest = result.harvest;
        result.harvest = (struct wt_harvest)WT_HARVEST_INIT;
    }
    carry_result_release(&result);
}

/* The row of the log: what was done, and never what it printed. */
static bool write_log(struct db *db, const struct ledger_call *call, int status,
                      const json_t *message, struct err *err)
{
    static const char *const told[] = {"remote", "url", "repo", "ref", "commit"};
    AUTO_JSON json_t *body = json_object();
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call->id);
    jx_set_str(body, "call", name);
    jx_set_str(body, "attempt", call->attempt);
    jx_set_str(body, "tool", call->request.tool);
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        if (jx_str(call->request.args, told[i], NULL))
            jx_set_str(body, told[i], jx_str(call->request.args, told[i], ""));
    if (status >= 0)
        jx_set_int(body, "status", status);
    else
        jx_set_str(body, "failed", jx_str(message, "failed", ""));
    return ledger_log(db, "broker", body, clock_unix_ms(), err);
}

static bool commit(struct server *s, const struct ledger_call *call, int status,
                   const json_t *message, struct err *err)
{
    AUTO_ROLLBACK struct db *db = s->db;
    return db_begin(db, err) && broker_row_end(db, call->id, message, err) &&
           write_log(db, call, status, message, err) && db_commit(db, err);
}

bool broker_settle(struct server *s, struct job *job, struct err *err)
{
    if (!job->broker_call)
        return true;
    if (!commit(s, &job->call, job->status, job->message, err))
        return false;
    link_tell_broker(job->live, &job->call, job->message);
    executor_want(job->live, JOB_BROKER);
    return true;
}

void broker_tell(struct live *live, const struct ledger_call *call)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message = NULL;
    if (strcmp(call->request.source, "broker") != 0)
        return;
    if (!broker_row_message(&message, live->server->db, call->id, &err))
        server_log("c%lld: %s", (long long)call->id, err.text);
    if (message)
        link_tell_broker(live, call, message);
}

static bool give_up(struct server *s, int64_t id, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_JSON json_t *message = carry_lost();
    if (!ledger_get(&call, s->db, id, err))
        return false;
    struct err swept = ERR_INIT;
    if (!carry_sweep(&s->paths, call.attempt, &swept))
        server_log("attempt %s: %s", call.attempt, swept.text);
    return commit(s, &call, -1, message, err);
}

bool broker_recover(struct server *s, struct err *err)
{
    AUTO_STRV struct strv due = STRV_INIT, running = STRV_INIT;
    if (!broker_row_open(&due, &running, s->db, err))
        return false;
    for (size_t i = 0; i < running.n; i++)
        if (!give_up(s, strtoll(running.v[i], NULL, 10), err))
            return false;
    for (size_t i = 0; i < due.n; i++)
        executor_want(live_get(s, due.v[i], strtoll(due.v[i], NULL, 10)), JOB_BROKER);
    return true;
}
