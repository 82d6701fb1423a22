/*
 * Arguments that are not needed any more. The log has the digest of each call and not its
 * arguments, so its chain stays as it is; that they went, of how many calls and when, is a row of
 * the log itself.
 */
#include <inttypes.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

const char ledger_schema_drop[] = "ALTER TABLE call ADD COLUMN dropped_ms INTEGER;";

/* Final, and nothing of it is carried out any more: what the broker is asked is short and stays.
 * Looked for in the text, since reading megabytes of JSON takes longer. */
#define DROPPABLE                                                                        \
    "asked_ms < ?1 AND dropped_ms IS NULL AND state NOT IN ('pending', 'approved') AND " \
    "NOT instr(request, '\"source\":\"broker\"') AND NOT instr(request, '\"args\":{}')"

bool ledger_droppable(struct strv *ret, struct db *db, int64_t before_ms, struct err *err)
{
    struct db_stmt *s;
    bool has_row = true, ok = true;
    if (!db_stmt(&s, db, "SELECT DISTINCT attempt FROM call WHERE " DROPPABLE " ORDER BY id", err))
        return false;
    db_bind_int(s, 1, before_ms);
    while (ok && has_row) {
        ok = db_step(s, &has_row, err);
        if (ok && has_row)
            strv_push(ret, db_col_str(s, 0));
    }
    db_reset(s);
    return ok;
}

static bool measure(struct ledger_dropped *ret, struct db *db, const char *attempt,
                    int64_t before_ms, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db,
                 "SELECT count(*), coalesce(sum(length(CAST(request AS BLOB))), 0) FROM call"
                 " WHERE attempt = ?2 AND " DROPPABLE,
                 err))
        return false;
    db_bind_int(s, 1, before_ms);
    db_bind_text(s, 2, attempt);
    if (!db_step(s, &has_row, err))
        return false;
    *ret = (struct ledger_dropped){.calls = db_col_int(s, 0), .bytes = db_col_int(s, 1)};
    db_reset(s);
    return true;
}

static bool drop(struct db *db, const char *attempt, int64_t before_ms, int64_t at_ms,
                 struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "UPDATE call SET request = json_set(request, '$.args', json('{}')), dropped_ms = "
                 "?3 WHERE attempt = ?2 AND " DROPPABLE,
                 err))
        return false;
    db_bind_int(s, 1, before_ms);
    db_bind_text(s, 2, attempt);
    db_bind_int(s, 3, at_ms);
    return db_run(s, err);
}

bool ledger_drop(struct ledger_dropped *ret, struct db *db, const char *attempt, int64_t before_ms,
                 const char *by, int64_t at_ms, bool dry_run, struct err *err)
{
    AUTO_LEDGER_TX struct ledger_tx tx;
    AUTO_JSON json_t *body = json_object();
    if (!ledger_tx_begin(&tx, db, err) || !measure(ret, db, attempt, before_ms, err))
        return false;
    if (dry_run || ret->calls == 0)
        return true;
    ret->last_ms = at_ms;
    jx_set_str(body, "attempt", attempt);
    jx_set_int(body, "calls", ret->calls);
    jx_set_int(body, "before_ms", before_ms);
    jx_set_str(body, "by", by);
    return drop(db, attempt, before_ms, at_ms, err) &&
           ledger_log(db, LEDGER_DROPPED, body, at_ms, err) && ledger_tx_commit(&tx, err);
}

bool ledger_dropped(struct ledger_dropped *ret, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db,
                 "SELECT count(*), coalesce(max(dropped_ms), 0) FROM call"
                 " WHERE dropped_ms IS NOT NULL",
                 err) ||
        !db_step(s, &has_row, err))
        return false;
    *ret = (struct ledger_dropped){.calls = db_col_int(s, 0), .last_ms = db_col_int(s, 1)};
    db_reset(s);
    return true;
}
