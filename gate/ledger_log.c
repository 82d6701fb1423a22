#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

void ledger_log_hash(char ret[DIGEST_HEX_SIZE], const char *prev, int64_t seq, int64_t at_ms,
                     const char *kind, const char *body)
{
    char number[24], time[24];
    snprintf(number, sizeof(number), "%" PRId64, seq);
    snprintf(time, sizeof(time), "%" PRId64, at_ms);
    const struct digest_part parts[] = {
        {prev, strlen(prev)}, {number, strlen(number)}, {time, strlen(time)},
        {kind, strlen(kind)}, {body, strlen(body)},
    };
    digest_parts(ret, parts, ARRAY_LEN(parts));
}

static bool last_row(int64_t *ret_seq, char ret_hash[DIGEST_HEX_SIZE], struct db *db,
                     struct err *err)
{
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db, "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1", err) ||
        !db_step(s, &found, err))
        return false;
    *ret_seq = found ? db_col_int(s, 0) : 0;
    snprintf(ret_hash, DIGEST_HEX_SIZE, "%s", found ? db_col_str(s, 1) : "");
    db_reset(s);
    return true;
}

static bool insert_row(struct db *db, const char *kind, const char *body, int64_t at_ms,
                       struct err *err)
{
    int64_t seq;
    char prev[DIGEST_HEX_SIZE], hash[DIGEST_HEX_SIZE];
    struct db_stmt *s;
    if (!last_row(&seq, prev, db, err) ||
        !db_stmt(&s, db,
                 "INSERT INTO log(seq, at_ms, kind, body, prev, hash) "
                 "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                 err))
        return false;
    ledger_log_hash(hash, prev, seq + 1, at_ms, kind, body);
    db_bind_int(s, 1, seq + 1);
    db_bind_int(s, 2, at_ms);
    db_bind_text(s, 3, kind);
    db_bind_text(s, 4, body);
    db_bind_text(s, 5, prev);
    db_bind_text(s, 6, hash);
    return db_run(s, err);
}

bool ledger_log(struct db *db, const char *kind, const json_t *body, int64_t at_ms, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    jx_canonical(&text, body);
    AUTO_LEDGER_TX struct ledger_tx tx;
    return ledger_tx_begin(&tx, db, err) && insert_row(db, kind, text.ptr, at_ms, err) &&
           ledger_tx_commit(&tx, err);
}

bool ledger_tell(struct db *db, const char *attempt, const char *kind, const json_t *body,
                 int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    AUTO_LEDGER_TX struct ledger_tx tx;
    if (!ledger_tx_begin(&tx, db, err) || !ledger_log(db, kind, body, at_ms, err) ||
        !db_stmt(&s, db, "INSERT INTO told(attempt, seq) SELECT ?1, max(seq) FROM log", err))
        return false;
    db_bind_text(s, 1, attempt);
    return db_run(s, err) && ledger_tx_commit(&tx, err);
}

/* What is wrong with the row at hand, which should have number want and follow prev; NULL: nothing.
 */
static const char *find_fault(struct db_stmt *s, int64_t want, const char *prev,
                              char ret_hash[DIGEST_HEX_SIZE])
{
    int64_t seq = db_col_int(s, 0);
    if (seq != want)
        return "a row is missing before it";
    ledger_log_hash(ret_hash, prev, seq, db_col_int(s, 1), db_col_str(s, 2), db_col_str(s, 3));
    if (strcmp(db_col_str(s, 4), prev) != 0)
        return "it does not follow the row before it";
    if (strcmp(db_col_str(s, 5), ret_hash) != 0)
        return "it was changed";
    return NULL;
}

bool ledger_verify(int64_t *ret_rows, int64_t *ret_bad_seq, struct buf *ret_why,
                   char ret_tail[DIGEST_HEX_SIZE], struct db *db, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "SELECT seq, at_ms, kind, body, prev, hash FROM log ORDER BY seq", err))
        return false;
    char prev[DIGEST_HEX_SIZE] = "", hash[DIGEST_HEX_SIZE] = "";
    int64_t rows = 0, bad = 0;
    const char *fault = NULL;
    bool has_row = true;
    while (!fault) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        fault = find_fault(s, rows + 1, prev, hash);
        bad = fault ? db_col_int(s, 0) : 0;
        memcpy(prev, hash, sizeof(prev));
        rows++;
    }
    db_reset(s);
    buf_clear(ret_why);
    if (fault)
        buf_adds(ret_why, fault);
    if (!last_row(&(int64_t){0}, ret_tail, db, err))
        return false;
    *ret_rows = rows;
    *ret_bad_seq = bad;
    return true;
}
