/*
 * ops_gate: the log and its proof.
 */
#include <stdlib.h>

#include "gate/ledger.h"
#include "runner/server/ops.h"
#include "runner/server/view.h"

enum { LOG_ROWS = 500, LOG_ROWS_MAX = 5000, EXPORT_CALLS = 500 };

/* For people: what the row's call would do, as `tool`, `args` and `worktree`, long arguments cut.
 */
static void add_calls(json_t *rows, struct db *db)
{
    AUTO_JSON json_t *calls = json_array();
    AUTO_JSON json_t *owners = json_array();
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *name = jx_str(jx_obj(row, "body"), "call", "");
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        struct err ignored = ERR_INIT;
        if (name[0] != 'c' || !ledger_get(&call, db, strtoll(name + 1, NULL, 10), &ignored))
            continue;
        json_array_append_new(calls, ledger_call_json(&call));
        json_array_append(owners, row);
    }
    view_cut_calls(calls);
    json_array_foreach(owners, i, row)
    {
        const json_t *call = json_array_get(calls, i);
        jx_set(row, "does",
               json_pack("{s:O, s:O, s:O, s:O}", "source", json_object_get(call, "source"), "tool",
                         json_object_get(call, "tool"), "args", json_object_get(call, "args"),
                         "worktree", json_object_get(call, "worktree")));
    }
}

/* The rows that a request asks for; a filter may read the whole log and every call, so a worker
 * looks, on a connection of its own. */
struct look {
    struct request *request;
    const char *path;
    json_t *rows;
    bool ok;
    struct err err;
};

static bool look_up(json_t **ret, struct db *db, const json_t *body, struct err *err)
{
    int64_t limit = jx_int(body, "limit", LOG_ROWS);
    const char *state = jx_str(body, "state", NULL);
    enum call_state known;
    if (limit <= 0 || limit > LOG_ROWS_MAX)
        limit = LOG_ROWS_MAX;
    if (state && !call_state_parse(&known, state))
        return err_set(err, ERR_USAGE,
                       "'%s' is no state of a call; these are pending, approved, denied, expired, "
                       "orphaned and consumed",
                       state);
    const struct ledger_log_filter filter = {
        .attempt = jx_str(body, "attempt", NULL),
        .agent = jx_str(body, "agent", NULL),
        .tool = jx_str(body, "tool", NULL),
        .state = state,
        .text = jx_str(body, "text", NULL),
        .since_ms = jx_int(body, "since_ms", 0),
        .until_ms = jx_int(body, "until_ms", 0),
        .after = jx_int(body, "after", 0),
        .limit = limit,
    };
    bool is_filtered = jx_bool(body, "newest", false) || filter.attempt || filter.agent ||
                       filter.tool || filter.state || filter.text || filter.since_ms ||
                       filter.until_ms;
    return is_filtered ? ledger_log_find(ret, db, &filter, err)
                       : ledger_log_list(ret, db, filter.after, limit, err);
}

static void look_work(void *arg)
{
    struct look *l = arg;
    AUTO_DB struct db *db = NULL;
    l->ok = db_open(&db, l->path, DB_READ_ONLY, &l->err) &&
            look_up(&l->rows, db, l->request->body, &l->err);
    if (l->ok)
        add_calls(l->rows, db);
}

static void look_done(void *arg)
{
    struct look *l = arg;
    if (l->ok)
        request_answer(l->request, json_pack("{s:o}", "rows", l->rows));
    else
        request_fail(l->request, &l->err);
    free(l);
}

void op_gate_log(struct request *r)
{
    struct look *l = xcalloc(1, sizeof(*l));
    *l = (struct look){.request = r, .path = r->server->paths.db};
    request_work(r, look_work, look_done, l);
}

void op_gate_export_calls(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *calls;
    int64_t last, limit = jx_int(r->body, "limit", EXPORT_CALLS);
    if (limit <= 0 || limit > EXPORT_CALLS)
        limit = EXPORT_CALLS;
    if (ledger_call_export(&calls, &last, r->server->db, jx_int(r->body, "run", 0),
                           jx_int(r->body, "after", 0), limit, &err))
        request_answer(r, json_pack("{s:o, s:I}", "calls", calls, "last", (json_int_t)last));
    else
        request_fail(r, &err);
}

void op_gate_export(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *rows;
    int64_t limit = jx_int(r->body, "limit", LOG_ROWS);
    if (limit <= 0 || limit > LOG_ROWS_MAX)
        limit = LOG_ROWS_MAX;
    if (ledger_log_export(&rows, r->server->db, jx_int(r->body, "run", 0),
                          jx_int(r->body, "after", 0), limit, &err))
        request_answer(r, json_pack("{s:o}", "rows", rows));
    else
        request_fail(r, &err);
}

/* The whole log is read, on a connection of the worker's own. */
struct verify {
    struct request *request;
    const char *path;
    bool ok;
    struct err err;
    int64_t rows, bad_seq;
    struct ledger_dropped dropped;
    struct buf why;
    char tail[DIGEST_HEX_SIZE];
};

static void verify_work(void *arg)
{
    struct verify *v = arg;
    AUTO_DB struct db *db = NULL;
    v->ok = db_open(&db, v->path, DB_READ_ONLY, &v->err) &&
            ledger_verify(&v->rows, &v->bad_seq, &v->why, v->tail, db, &v->err) &&
            (v->bad_seq != 0 || ledger_verify_store(&v->bad_seq, &v->why, db, &v->err)) &&
            ledger_dropped(&v->dropped, db, &v->err);
}

static void verify_done(void *arg)
{
    struct verify *v = arg;
    if (v->ok) {
        json_t *result = json_object();
        jx_set_bool(result, "ok", v->bad_seq == 0);
        jx_set_int(result, "rows", v->rows);
        jx_set_str(result, "tail", v->tail);
        if (v->dropped.calls > 0)
            jx_set(result, "dropped",
                   json_pack("{s:I, s:I}", "calls", (json_int_t)v->dropped.calls, "last_ms",
                             (json_int_t)v->dropped.last_ms));
        if (v->bad_seq)
            jx_set(result, "bad",
                   json_pack("{s:I, s:o}", "seq", (json_int_t)v->bad_seq, "why",
                             jx_bytes(v->why.ptr, v->why.len)));
        request_answer(v->request, result);
    } else {
        request_fail(v->request, &v->err);
    }
    buf_release(&v->why);
    free(v);
}

void op_gate_verify(struct request *r)
{
    struct verify *v = xcalloc(1, sizeof(*v));
    v->request = r;
    v->path = r->server->paths.db;
    buf_init(&v->why);
    request_work(r, verify_work, verify_done, v);
}
