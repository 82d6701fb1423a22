#include "runner/store/message_row.h"

const char message_schema[] =
    "CREATE TABLE message ("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* agents know them by it: never twice */
    "  attempt TEXT NOT NULL,"
    "  text TEXT NOT NULL,"
    "  made_by TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  heard_ms INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE INDEX message_waiting ON message(attempt) WHERE heard_ms = 0;";

bool message_row_add(int64_t *ret_id, struct db *db, const char *attempt, const char *text,
                     const char *by, int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "INSERT INTO message (attempt, text, made_by, at_ms) VALUES (?, ?, ?, ?)",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_text(s, 2, text);
    db_bind_text(s, 3, by);
    db_bind_int(s, 4, at_ms);
    if (!db_run(s, err))
        return false;
    *ret_id = db_last_rowid(db);
    return true;
}

bool message_row_waiting(json_t *array, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT id, text FROM message WHERE attempt = ? AND heard_ms = 0 ORDER BY id",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    while (db_step(s, &have, err)) {
        if (!have)
            return true;
        json_t *m = json_object();
        jx_set_int(m, "id", db_col_int(s, 0));
        jx_set_str(m, "text", db_col_str(s, 1));
        json_array_append_new(array, m);
    }
    return false;
}

bool message_row_set_heard(struct db *db, const char *attempt, int64_t id, int64_t at_ms,
                           struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "UPDATE message SET heard_ms = ? WHERE attempt = ? AND id <= ? AND heard_ms = 0",
                 err))
        return false;
    db_bind_int(s, 1, at_ms);
    db_bind_text(s, 2, attempt);
    db_bind_int(s, 3, id);
    return db_run(s, err);
}

bool message_row_attempts(struct strv *ret, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT DISTINCT attempt FROM message WHERE heard_ms = 0", err))
        return false;
    while (db_step(s, &have, err)) {
        if (!have)
            return true;
        strv_push(ret, db_col_str(s, 0));
    }
    return false;
}

bool message_row_remove_all(struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "DELETE FROM message WHERE attempt = ?", err))
        return false;
    db_bind_text(s, 1, attempt);
    return db_run(s, err);
}
