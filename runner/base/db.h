/*
 * db: the only place that includes sqlite3.h. A connection in WAL mode with synchronous=FULL,
 * foreign keys on, a busy timeout of 10 s, and statements that are prepared once per connection.
 *
 * One thread per connection. Statements: begin with db_stmt(), bind by 1-based index, step, read
 * columns by 0-based index, and db_reset when done (db_exec_stmt does it). Text columns are
 * borrowed until the next step or reset. A full disk is ERR_SYS with ENOSPC.
 */
#ifndef BASE_DB_H
#define BASE_DB_H

#include <stddef.h>
#include <stdint.h>
#include "runner/base/err.h"

struct db;
struct db_stmt;

enum db_mode { DB_READ_ONLY, DB_READ_WRITE };

bool db_open(struct db **ret, const char *path, enum db_mode mode, struct err *err) WARN_UNUSED;
void db_close(struct db *db);
void auto_db_(struct db **db);
#define AUTO_DB __attribute__((cleanup(auto_db_)))

/* Run one or more statements without results. */
bool db_exec(struct db *db, const char *sql, struct err *err) WARN_UNUSED;
/* BEGIN IMMEDIATE / COMMIT / ROLLBACK. Nesting is a programming error (abort). A commit that fails
 * has rolled back; a rollback without a transaction does nothing. */
bool db_begin(struct db *db, struct err *err) WARN_UNUSED;
bool db_commit(struct db *db, struct err *err) WARN_UNUSED;
void db_rollback(struct db *db);
bool db_in_transaction(const struct db *db);

/* A cached prepared statement for this SQL text (a string literal: the pointer is the cache key).
 * Returns it reset and with bindings cleared. */
bool db_stmt(struct db_stmt **ret, struct db *db, const char *sql, struct err *err) WARN_UNUSED;
void db_bind_int(struct db_stmt *s, int index, int64_t value);
void db_bind_text(struct db_stmt *s, int index, const char *value); /* NULL binds NULL; copied */
/* *ret_row says whether there is a row. */
bool db_step(struct db_stmt *s, bool *ret_row, struct err *err) WARN_UNUSED;
int64_t db_col_int(struct db_stmt *s, int index);
const char *db_col_text(struct db_stmt *s, int index); /* NULL for NULL */
const char *db_col_str(struct db_stmt *s, int index);  /* "" for NULL */
char *db_col_copy(struct db_stmt *s, int index);       /* allocated, NULL for NULL */
void db_reset(struct db_stmt *s);
/* Step to the end, ignoring rows, and reset. */
bool db_run(struct db_stmt *s, struct err *err) WARN_UNUSED;
int64_t db_last_rowid(const struct db *db);
int64_t db_changes(const struct db *db);

/* Apply migrations: steps[i] upgrades schema version i to i+1 (PRAGMA user_version), each in its
 * own transaction. A database of a newer version is ERR_REFUSED with a sentence. */
bool db_migrate(struct db *db, const char *const *steps, int n, struct err *err) WARN_UNUSED;

#endif
