#include "runner/store/broker_row.h"

#include <string.h>

const char broker_schema[] = "CREATE TABLE broker ("
                             "  call INTEGER PRIMARY KEY,"
                             "  attempt TEXT NOT NULL,"
                             "  state TEXT NOT NULL," /* due, running, done */
                             "  at_ms INTEGER NOT NULL,"
                             "  message TEXT" /* what the keeper is told */
                             ") STRICT;"
                             "CREATE INDEX broker_open ON broker(attempt) WHERE state <> 'done';";

bool broker_row_add(struct db *db, int64_t call, const char *attempt, int64_t at_ms,
                    struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO broker (call, attempt, state, at_ms) VALUES (?, ?, 'due', ?)"
                 " ON CONFLICT DO NOTHING",
                 err))
        return false;
    db_bind_int(s, 1, call);
    db_bind_text(s, 2, attempt);
    db_bind_int(s, 3, at_ms);
    return db_run(s, err);
}

static bool oldest(int64_t *ret_call, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(
            &s, db,
            "SELECT call FROM broker WHERE attempt = ? AND state = 'due' ORDER BY call LIMIT 1",
            err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &have, err))
        return false;
    *ret_call = have ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

bool broker_row_begin(int64_t *ret_call, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    int64_t call;
    if (!oldest(&call, db, attempt, err))
        return false;
    *ret_call = call;
    if (!call)
        return true;
    if (!db_stmt(&s, db, "UPDATE broker SET state = 'running' WHERE call = ? AND state = 'due'",
                 err))
        return false;
    db_bind_int(s, 1, call);
    return db_run(s, err);
}

bool broker_row_end(struct db *db, int64_t call, const json_t *message, struct err *err)
{
    struct db_stmt *s;
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, message);
    if (!db_stmt(
            &s, db,
            "UPDATE broker SET state = 'done', message = ? WHERE call = ? AND state = 'running'",
            err))
        return false;
    db_bind_text(s, 1, text.ptr);
    db_bind_int(s, 2, call);
    return db_run(s, err);
}

bool broker_row_message(json_t **ret, struct db *db, int64_t call, struct err *err)
{
    struct db_stmt *s;
    bool have;
    *ret = NULL;
    if (!db_stmt(&s, db, "SELECT message FROM broker WHERE call = ? AND state = 'done'", err))
        return false;
    db_bind_int(s, 1, call);
    if (!db_step(s, &have, err))
        return false;
    const char *text = have ? db_col_str(s, 0) : NULL;
    bool ok = !text || jx_parse(ret, text, strlen(text), err);
    db_reset(s);
    return ok;
}

bool broker_row_open(struct strv *ret_due, struct strv *ret_running, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT call, attempt, state FROM broker WHERE state <> 'done'", err))
        return false;
    for (;;) {
        if (!db_step(s, &have, err))
            return false;
        if (!have)
            break;
        if (strcmp(db_col_str(s, 2), "running") == 0)
            strv_pushf(ret_running, "%lld", (long long)db_col_int(s, 0));
        else if (!strv_has(ret_due, db_col_str(s, 1)))
            strv_push(ret_due, db_col_str(s, 1));
    }
    db_reset(s);
    return true;
}
