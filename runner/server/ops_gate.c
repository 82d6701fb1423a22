/*
 * ops_gate: the log and its proof.
 */
#include <stdlib.h>

#include "gate/ledger.h"
#include "runner/server/ops.h"

enum { LOG_ROWS = 500, LOG_ROWS_MAX = 5000 };

void op_gate_log(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *rows;
    int64_t limit = jx_int(r->body, "limit", LOG_ROWS);
    if (limit <= 0 || limit > LOG_ROWS_MAX)
        limit = LOG_ROWS_MAX;
    const struct ledger_log_filter filter = {
        .attempt = jx_str(r->body, "attempt", NULL),
        .agent = jx_str(r->body, "agent", NULL),
        .tool = jx_str(r->body, "tool", NULL),
        .state = jx_str(r->body, "state", NULL),
        .text = jx_str(r->body, "text", NULL),
        .since_ms = jx_int(r->body, "since_ms", 0),
        .after = jx_int(r->body, "after", 0),
        .limit = limit,
    };
    bool is_all = jx_bool(r->body, "newest", false) || filter.attempt || filter.agent ||
                  filter.tool || filter.state || filter.text || filter.since_ms;
    bool ok = is_all ? ledger_log_find(&rows, r->server->db, &filter, &err)
                     : ledger_log_list(&rows, r->server->db, filter.after, limit, &err);
    if (ok)
        request_answer(r, json_pack("{s:o}", "rows", rows));
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
    struct buf why;
    char tail[DIGEST_HEX_SIZE];
};

static void verify_work(void *arg)
{
    struct verify *v = arg;
    AUTO_DB struct db *db = NULL;
    v->ok = db_open(&db, v->path, DB_READ_ONLY, &v->err) &&
            ledger_verify(&v->rows, &v->bad_seq, &v->why, v->tail, db, &v->err);
}

static void verify_done(void *arg)
{
    struct verify *v = arg;
    if (v->ok) {
        json_t *result = json_object();
        jx_set_bool(result, "ok", v->bad_seq == 0);
        jx_set_int(result, "rows", v->rows);
        jx_set_str(result, "tail", v->tail);
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
