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
    if (ledger_log_list(&rows, r->server->db, jx_int(r->body, "after", 0), limit, &err))
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

static bool count_calls(json_t *stats, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT state, why, count(*) FROM call GROUP BY state, why", err))
        return false;
    json_t *states = json_object();
    json_t *whys = json_object();
    jx_set(stats, "calls", states);
    jx_set(stats, "why", whys);
    while (db_step(s, &have, err)) {
        if (!have) {
            db_reset(s);
            return true;
        }
        const char *state = db_col_str(s, 0), *why = db_col_str(s, 1);
        jx_set_int(states, state, jx_int(states, state, 0) + db_col_int(s, 2));
        if (why[0])
            jx_set_int(whys, why, jx_int(whys, why, 0) + db_col_int(s, 2));
    }
    return false;
}

/* How long people took, over the calls that a person decided. */
static bool count_waits(json_t *stats, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT count(*), coalesce(sum(decided_ms - asked_ms), 0),"
                 " coalesce(max(decided_ms - asked_ms), 0) FROM call WHERE why = 'person'",
                 err) ||
        !db_step(s, &have, err))
        return false;
    int64_t n = db_col_int(s, 0);
    jx_set_int(stats, "by_person", n);
    jx_set_int(stats, "wait_mean_ms", n ? db_col_int(s, 1) / n : 0);
    jx_set_int(stats, "wait_max_ms", db_col_int(s, 2));
    db_reset(s);
    return true;
}

static bool count_rest(json_t *stats, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT (SELECT count(*) FROM rule WHERE removed_ms IS NULL),"
                 " (SELECT coalesce(max(seq), 0) FROM log)",
                 err) ||
        !db_step(s, &have, err))
        return false;
    jx_set_int(stats, "rules", db_col_int(s, 0));
    jx_set_int(stats, "log_rows", db_col_int(s, 1));
    db_reset(s);
    return true;
}

void op_gate_stats(struct request *r)
{
    struct err err = ERR_INIT;
    struct db *db = r->server->db;
    json_t *stats = json_object();
    if (count_calls(stats, db, &err) && count_waits(stats, db, &err) &&
        count_rest(stats, db, &err)) {
        request_answer(r, stats);
        return;
    }
    json_decref(stats);
    request_fail(r, &err);
}
