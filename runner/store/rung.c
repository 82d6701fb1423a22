#include "runner/store/rung.h"

bool rung_set(struct db *db, const char *attempt, enum ladder ladder, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO rung (attempt, ladder) VALUES (?, ?)"
                 " ON CONFLICT (attempt) DO UPDATE SET ladder = excluded.ladder",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_text(s, 2, ladder_name(ladder));
    return db_run(s, err);
}

bool rung_clear(struct db *db, int64_t run, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "DELETE FROM rung WHERE attempt IN (SELECT id FROM attempt WHERE run = ?)",
                 err))
        return false;
    db_bind_int(s, 1, run);
    return db_run(s, err);
}

bool rung_get(enum ladder *ret, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT ladder FROM rung WHERE attempt = ?", err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &have, err))
        return false;
    bool ok = !have || ladder_parse(ret, db_col_str(s, 0), err);
    db_reset(s);
    return ok;
}

bool rung_of(enum ladder *ret, bool *ret_found, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT coalesce((SELECT ladder FROM rung WHERE rung.attempt = a.id), r.ladder)"
                 " FROM attempt a JOIN run r ON r.id = a.run WHERE a.id = ?",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &have, err))
        return false;
    bool ok = !have || ladder_parse(ret, db_col_str(s, 0), err);
    db_reset(s);
    if (ok)
        *ret_found = have;
    return ok;
}
