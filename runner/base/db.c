#include "runner/base/db.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

enum { BUSY_TIMEOUT_MS = 10 * 1000, CACHE_SLOTS_MIN = 64 };

struct db_stmt {
    struct db *db;
    const char *key; /* the literal's address */
    sqlite3_stmt *stmt;
};

struct db {
    sqlite3 *handle;
    char *path;
    struct db_stmt **slots; /* open addressing by address; at most half full */
    size_t n_slots;
    size_t n_stmts;
};

static _Noreturn void misuse(const char *what, const char *sql)
{
    fprintf(stderr, "headgate: database misuse: %s: %s\n", what, sql ? sql : "");
    abort();
}

/* Fill err from the connection's last error. Always returns false. */
static bool fail(const struct db *db, int rc, struct err *err)
{
    int cause = sqlite3_system_errno(db->handle);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return err_sys(err, ENOSPC, "cannot write %s", db->path);
    case SQLITE_IOERR:
        return err_sys(err, cause ? cause : EIO, "cannot read or write %s", db->path);
    case SQLITE_READONLY:
        return err_sys(err, EROFS, "%s cannot be written; check its owner, mode and file system",
                       db->path);
    case SQLITE_CANTOPEN:
        return err_sys(err, cause ? cause : ENOENT, "cannot open %s", db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_FORMAT,
                       "%s is damaged (%s); move it away and restore a copy, or start afresh",
                       db->path, sqlite3_errmsg(db->handle));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_CONFLICT, "%s is held by another process for more than %d seconds",
                       db->path, BUSY_TIMEOUT_MS / 1000);
    case SQLITE_CONSTRAINT:
        return err_set(err, ERR_CONFLICT, "%s: %s", db->path, sqlite3_errmsg(db->handle));
    default: /* SQLite's numbers, not an enum of ours */
        return err_set(err, ERR_INTERNAL, "%s: %s", db->path, sqlite3_errmsg(db->handle));
    }
}

static bool set_up(struct db *db, enum db_mode mode, struct err *err)
{
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    if (!db_exec(db, "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF", err))
        return false;
    if (mode == DB_READ_ONLY)
        return true;
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db, "PRAGMA journal_mode=WAL", err) || !db_step(s, &has_row, err))
        return false;
    bool is_wal = has_row && strcmp(db_col_str(s, 0), "wal") == 0;
    db_reset(s);
    if (!is_wal)
        return err_set(err, ERR_LAYER, "%s: the file system does not support SQLite's WAL mode",
                       db->path);
    return db_exec(db, "PRAGMA synchronous=FULL", err);
}

bool db_open(struct db **ret, const char *path, enum db_mode mode, struct err *err)
{
    AUTO_DB struct db *db = xcalloc(1, sizeof(*db));
    db->path = xstrdup(path);
    int flags =
        SQLITE_OPEN_NOMUTEX |
        (mode == DB_READ_ONLY ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int rc = sqlite3_open_v2(path, &db->handle, flags, NULL);
    if (rc != SQLITE_OK)
        return fail(db, rc, err);
    if (!set_up(db, mode, err))
        return false;
    *ret = steal_ptr(&db);
    return true;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < db->n_slots; i++) {
        if (!db->slots[i])
            continue;
        sqlite3_finalize(db->slots[i]->stmt);
        free(db->slots[i]);
    }
    free(db->slots);
    sqlite3_close(db->handle);
    free(db->path);
    free(db);
}

void auto_db_(struct db **db)
{
    db_close(*db);
}

bool db_exec(struct db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || fail(db, rc, err);
}

bool db_in_transaction(const struct db *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

bool db_begin(struct db *db, struct err *err)
{
    if (db_in_transaction(db))
        misuse("a transaction is already open", db->path);
    return db_exec(db, "BEGIN IMMEDIATE", err);
}

bool db_commit(struct db *db, struct err *err)
{
    if (db_exec(db, "COMMIT", err))
        return true;
    db_rollback(db);
    return false;
}

void db_rollback(struct db *db)
{
    /* SQLite has already rolled back by itself after some errors (full disk, I/O). */
    if (db_in_transaction(db))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

static size_t slot_of(const struct db *db, const char *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (db->n_slots - 1);
    while (db->slots[i] && db->slots[i]->key != key)
        i = (i + 1) & (db->n_slots - 1);
    return i;
}

static void grow_cache(struct db *db)
{
    struct db_stmt **old = db->slots;
    size_t n_old = db->n_slots;
    db->n_slots = n_old ? n_old * 2 : CACHE_SLOTS_MIN;
    db->slots = xcalloc(db->n_slots, sizeof(struct db_stmt *));
    for (size_t i = 0; i < n_old; i++)
        if (old[i])
            db->slots[slot_of(db, old[i]->key)] = old[i];
    free(old);
}

bool db_stmt(struct db_stmt **ret, struct db *db, const char *sql, struct err *err)
{
    if (db->n_stmts * 2 >= db->n_slots)
        grow_cache(db);
    size_t i = slot_of(db, sql);
    struct db_stmt *s = db->slots[i];
    if (!s) {
        sqlite3_stmt *stmt;
        const char *rest;
        int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &rest);
        if (rc != SQLITE_OK)
            return fail(db, rc, err);
        if (!stmt || *rest)
            misuse("not exactly one statement", sql);
        s = xcalloc(1, sizeof(*s));
        *s = (struct db_stmt){.db = db, .key = sql, .stmt = stmt};
        db->slots[i] = s;
        db->n_stmts++;
    } else if (strcmp(sqlite3_sql(s->stmt), sql) != 0) {
        misuse("the text of a statement must be a literal", sql);
    }
    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
    *ret = s;
    return true;
}

/* Binding fails only for an index that the statement does not have. */
static void bound(const struct db_stmt *s, int rc)
{
    if (rc != SQLITE_OK)
        misuse(sqlite3_errstr(rc), sqlite3_sql(s->stmt));
}

void db_bind_int(struct db_stmt *s, int index, int64_t value)
{
    bound(s, sqlite3_bind_int64(s->stmt, index, value));
}

void db_bind_text(struct db_stmt *s, int index, const char *value)
{
    bound(s, value ? sqlite3_bind_text(s->stmt, index, value, -1, SQLITE_TRANSIENT)
                   : sqlite3_bind_null(s->stmt, index));
}

bool db_step(struct db_stmt *s, bool *ret_row, struct err *err)
{
    int rc = sqlite3_step(s->stmt);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        *ret_row = rc == SQLITE_ROW;
        return true;
    }
    fail(s->db, rc, err);
    sqlite3_reset(s->stmt);
    return false;
}

int64_t db_col_int(struct db_stmt *s, int index)
{
    return sqlite3_column_int64(s->stmt, index);
}

const char *db_col_text(struct db_stmt *s, int index)
{
    return (const char *)sqlite3_column_text(s->stmt, index);
}

const char *db_col_str(struct db_stmt *s, int index)
{
    const char *text = db_col_text(s, index);
    return text ? text : "";
}

char *db_col_copy(struct db_stmt *s, int index)
{
    const char *text = db_col_text(s, index);
    return text ? xstrdup(text) : NULL;
}

void db_reset(struct db_stmt *s)
{
    sqlite3_reset(s->stmt);
}

bool db_run(struct db_stmt *s, struct err *err)
{
    bool has_row = true;
    while (has_row)
        if (!db_step(s, &has_row, err))
            return false;
    db_reset(s);
    return true;
}

int64_t db_last_rowid(const struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}

int64_t db_changes(const struct db *db)
{
    return sqlite3_changes64(db->handle);
}

static bool read_version(struct db *db, int64_t *ret, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db, "PRAGMA user_version", err) || !db_step(s, &has_row, err))
        return false;
    *ret = has_row ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

/* Apply the step that the database is due for. *ret_version is its version afterwards. */
static bool migrate_once(struct db *db, const char *const *steps, int n, int64_t *ret_version,
                         struct err *err)
{
    int64_t version;
    /* Read inside the transaction: another process may be migrating too. */
    if (!db_begin(db, err))
        return false;
    bool ok = read_version(db, &version, err);
    if (ok && version < n) {
        AUTO_FREE char *bump = xasprintf("PRAGMA user_version=%lld", (long long)version + 1);
        ok = db_exec(db, steps[version], err) && db_exec(db, bump, err);
        if (!ok)
            err_prefix(err, "cannot upgrade to schema version %lld", (long long)version + 1);
        version++;
    }
    if (!ok) {
        db_rollback(db);
        return false;
    }
    if (!db_commit(db, err))
        return false;
    *ret_version = version;
    return true;
}

bool db_migrate(struct db *db, const char *const *steps, int n, struct err *err)
{
    int64_t version;
    if (!read_version(db, &version, err))
        return false;
    while (version < n)
        if (!migrate_once(db, steps, n, &version, err))
            return false;
    if (version > n)
        return err_set(err, ERR_REFUSED,
                       "%s was written by a newer Headgate (schema %lld, this one knows %d); "
                       "upgrade Headgate or set HEADGATE_STATE to another folder",
                       db->path, (long long)version, n);
    return true;
}
