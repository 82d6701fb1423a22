/* Whether the calls are what the log says of them. */
#include <inttypes.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

/* Of each call its newest row, with the call as it is stored. */
static const char last_rows[] =
    "WITH said AS (SELECT max(seq) AS seq, json_extract(body, '$.call') AS name,"
    " json_extract(body, '$.digest') AS digest, json_extract(body, '$.state') AS state FROM log"
    " WHERE kind LIKE 'call.%' AND json_extract(body, '$.digest') IS NOT NULL GROUP BY 2)"
    " SELECT said.seq, said.name, said.digest, said.state, call.id, call.attempt, call.local,"
    " call.request, call.state FROM said"
    " LEFT JOIN call ON call.id = CAST(substr(said.name, 2) AS INTEGER) ORDER BY said.seq";

/* What is wrong with the call at hand; NULL: nothing. */
static const char *find_fault(struct db_stmt *s)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct err ignored = ERR_INIT;
    char digest[DIGEST_HEX_SIZE];
    const char *text = db_col_str(s, 7);
    if (db_col_int(s, 4) == 0)
        return "is not in the store any more";
    if (strcmp(db_col_str(s, 3), db_col_str(s, 8)) != 0)
        return "is in another state than the log says";
    if (!call_request_parse(&request, text, strlen(text), &ignored))
        return "cannot be read any more";
    call_digest(digest, db_col_str(s, 5), db_col_int(s, 6), &request);
    return strcmp(digest, db_col_str(s, 2)) == 0 ? NULL : "asks something else than the log says";
}

static bool check_said(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row = true;
    if (!db_stmt(&s, db, last_rows, err))
        return false;
    while (*ret_bad_seq == 0) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        const char *fault = find_fault(s);
        if (!fault)
            continue;
        *ret_bad_seq = db_col_int(s, 0);
        buf_addf(why, "call %s, which it is about, %s", db_col_str(s, 1), fault);
    }
    db_reset(s);
    return true;
}

/* A call that no row is about was put there by somebody else. */
static bool check_silent(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(
            &s, db,
            "SELECT call.id, (SELECT coalesce(max(seq), 0) + 1 FROM log) FROM call WHERE id NOT IN"
            " (SELECT CAST(substr(json_extract(body, '$.call'), 2) AS INTEGER) FROM log"
            "  WHERE kind LIKE 'call.%') LIMIT 1",
            err) ||
        !db_step(s, &has_row, err))
        return false;
    if (has_row) {
        *ret_bad_seq = db_col_int(s, 1);
        buf_addf(why, "no row is about call c%" PRId64, db_col_int(s, 0));
    }
    db_reset(s);
    return true;
}

bool ledger_verify_calls(int64_t *ret_bad_seq, struct buf *ret_why, struct db *db, struct err *err)
{
    int64_t bad = 0;
    buf_clear(ret_why);
    /* One view of both tables, while the server goes on writing. */
    if (!db_exec(db, "BEGIN", err))
        return false;
    bool ok =
        check_said(&bad, ret_why, db, err) && (bad != 0 || check_silent(&bad, ret_why, db, err));
    db_rollback(db);
    if (ok)
        *ret_bad_seq = bad;
    return ok;
}
