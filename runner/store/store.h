/*
 * store: state.db, which the server alone writes: the gate's tables (gate/ledger.h) and those of
 * runs, attempts, settings and consents. Rows of one noun are in the file of that noun.
 *
 * Functions on rows run inside the caller's transaction when there is one.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "runner/base/db.h"

/* Open for writing and bring the schema up to date. */
bool store_open(struct db **ret, const char *path, struct err *err) WARN_UNUSED;

/* Rolls back what is still open at the end of the scope: db_begin after it, db_commit before the
 * return. */
void auto_rollback_(struct db **db);
#define AUTO_ROLLBACK __attribute__((cleanup(auto_rollback_), unused))

/* A number kept under a name; 0 when never set. */
bool store_setting(int64_t *ret, struct db *db, const char *name, struct err *err) WARN_UNUSED;
bool store_set_setting(struct db *db, const char *name, int64_t value, struct err *err) WARN_UNUSED;

/* Whether somebody accepted the `.headgate` with this SHA-256 (NULL: any) for the repository (its
 * common folder). */
bool store_has_consent(bool *ret, struct db *db, const char *repo, const char *digest,
                       struct err *err) WARN_UNUSED;
/* Idempotent: the first acceptance stands. */
bool store_add_consent(struct db *db, const char *repo, const char *digest, const char *by,
                       int64_t at_ms, struct err *err) WARN_UNUSED;

#endif
