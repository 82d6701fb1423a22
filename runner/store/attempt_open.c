/*
 * attempt_row, second part: work that is not merged yet.
 */
#include "runner/store/attempt_row.h"

bool attempt_row_open_work(struct db *db, const char *common, int64_t limit, attempt_open_fn each,
                           void *arg, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT a.id, a.tip, r.base, json_extract(a.spec, '$.into')"
                 " FROM attempt a JOIN run r ON r.id = a.run"
                 " WHERE r.repo = ?1 AND a.tip IS NOT NULL AND a.tip <> r.base"
                 " AND a.merged_into IS NULL ORDER BY a.run DESC, a.n LIMIT ?2",
                 err))
        return false;
    db_bind_text(s, 1, common);
    db_bind_int(s, 2, limit);
    while (db_step(s, &have, err)) {
        if (!have)
            return true;
        each(arg, db_col_str(s, 0), db_col_str(s, 1), db_col_str(s, 2), db_col_text(s, 3));
    }
    return false;
}

bool attempt_row_open_repos(struct strv *ret, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT DISTINCT r.repo FROM attempt a JOIN run r ON r.id = a.run"
                 " WHERE a.tip IS NOT NULL AND a.tip <> r.base AND a.merged_into IS NULL",
                 err))
        return false;
    while (db_step(s, &have, err)) {
        if (!have)
            return true;
        strv_push(ret, db_col_str(s, 0));
    }
    return false;
}
