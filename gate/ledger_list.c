#include <stdlib.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

enum { LIST_DEFAULT = 1000 };

/* Names of the states in a mask as ",pending,denied,"; "" for all. */
static void mask_names(struct buf *out, unsigned state_mask)
{
    for (int state = 0; state < CALL_STATE_COUNT; state++)
        if (state_mask & 1U << state)
            buf_addf(out, "%s%s,", out->len == 0 ? "," : "",
                     call_state_name((enum call_state)state));
}

/* Three queries, for three indices: what is open, what an attempt has, everything. */
static bool list_stmt(struct db_stmt **ret, struct db *db, unsigned state_mask, const char *attempt,
                      struct err *err)
{
    const unsigned open = 1U << CALL_PENDING | 1U << CALL_APPROVED;
    if (state_mask != 0 && (state_mask & ~open) == 0)
        return db_stmt(ret, db,
                       "SELECT * FROM (SELECT " LEDGER_CALL_COLUMNS
                       " FROM call INDEXED BY call_open WHERE state IN ('pending', 'approved')"
                       " AND instr(?1, ',' || state || ',') AND (?2 IS NULL OR attempt = ?2)"
                       " ORDER BY id DESC LIMIT ?3) ORDER BY id",
                       err);
    if (attempt)
        return db_stmt(ret, db,
                       "SELECT * FROM (SELECT " LEDGER_CALL_COLUMNS " FROM call WHERE attempt = ?2"
                       " AND (?1 = '' OR instr(?1, ',' || state || ','))"
                       " ORDER BY id DESC LIMIT ?3) ORDER BY id",
                       err);
    return db_stmt(ret, db,
                   "SELECT * FROM (SELECT " LEDGER_CALL_COLUMNS
                   " FROM call WHERE ?1 = '' OR instr(?1, ',' || state || ',')"
                   " ORDER BY id DESC LIMIT ?3) ORDER BY id",
                   err);
}

bool ledger_list(json_t **ret, struct db *db, unsigned state_mask, const char *attempt,
                 int64_t limit, struct err *err)
{
    AUTO_BUF struct buf states = BUF_INIT;
    mask_names(&states, state_mask);
    struct db_stmt *s;
    if (!list_stmt(&s, db, state_mask, attempt, err))
        return false;
    db_bind_text(s, 1, states.ptr);
    db_bind_text(s, 2, attempt);
    db_bind_int(s, 3, limit > 0 ? limit : LIST_DEFAULT);
    AUTO_JSON json_t *calls = json_array();
    bool has_row = true, ok = true;
    while (ok && has_row) {
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        ok = db_step(s, &has_row, err);
        if (ok && has_row)
            ok = ledger_row_read(&call, s, err);
        if (ok && has_row)
            json_array_append_new(calls, ledger_call_json(&call));
    }
    db_reset(s);
    if (!ok)
        return false;
    *ret = steal_json(&calls);
    return true;
}

static void release_calls(struct ledger_call *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ledger_call_release(&calls[i]);
    free(calls);
}

bool ledger_recent(struct ledger_call **ret, size_t *ret_n, struct db *db, int64_t limit,
                   struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT " LEDGER_CALL_COLUMNS
                 " FROM call WHERE dropped_ms IS NULL ORDER BY id DESC LIMIT ?1",
                 err))
        return false;
    db_bind_int(s, 1, limit);
    struct ledger_call *calls = NULL;
    size_t n = 0;
    bool has_row = true, ok = true;
    while (ok && has_row) {
        ok = db_step(s, &has_row, err);
        if (!ok || !has_row)
            break;
        calls = xreallocarray(calls, n + 1, sizeof(*calls));
        ok = ledger_row_read(&calls[n], s, err);
        n += ok;
    }
    db_reset(s);
    if (!ok) {
        release_calls(calls, n);
        return false;
    }
    *ret = calls;
    *ret_n = n;
    return true;
}

bool ledger_equal(struct strv *ret, struct db *db, const char *action, struct err *err)
{
    struct db_stmt *s;
    bool has_row = true, ok = true;
    if (!db_stmt(&s, db,
                 "SELECT id FROM call INDEXED BY call_open WHERE state IN ('pending', 'approved')"
                 " AND state = 'pending' AND action = ?1 ORDER BY id",
                 err))
        return false;
    db_bind_text(s, 1, action);
    while (ok && has_row) {
        ok = db_step(s, &has_row, err);
        if (ok && has_row)
            strv_pushf(ret, "c%lld", (long long)db_col_int(s, 0));
    }
    db_reset(s);
    return ok;
}

bool ledger_count_pending(int64_t *ret, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db,
                 "SELECT count(*) FROM call WHERE state IN ('pending', 'approved')"
                 " AND state = 'pending' AND (?1 IS NULL OR attempt = ?1)",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &has_row, err))
        return false;
    *ret = has_row ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}
