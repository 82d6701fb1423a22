#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "runner/base/db.h"

static struct db *opened(const char *path, enum db_mode mode)
{
    struct err err = ERR_INIT;
    struct db *db = NULL;
    assert_ok(db_open(&db, path, mode, &err));
    return db;
}

static int64_t int_of(struct db *db, const char *sql)
{
    struct err err = ERR_INIT;
    struct db_stmt *s;
    bool has_row;
    assert_ok(db_stmt(&s, db, sql, &err));
    assert_ok(db_step(s, &has_row, &err));
    assert_true(has_row);
    int64_t value = db_col_int(s, 0);
    db_reset(s);
    return value;
}

static void connections_are_durable_and_strict(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_int_equal(int_of(db, "PRAGMA synchronous"), 2);
    assert_int_equal(int_of(db, "PRAGMA foreign_keys"), 1);
    assert_int_equal(int_of(db, "PRAGMA busy_timeout"), 10000);
    assert_int_equal(int_of(db, "PRAGMA wal_autocheckpoint"), 1000);
    assert_ok(db_exec(db, "CREATE TABLE t (x)", &err));
    assert_true(fs_exists("db-wal"));
}

static void values_go_in_and_out(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_ok(db_exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, i, s, n)", &err));
    struct db_stmt *insert, *select;
    assert_ok(db_stmt(&insert, db, "INSERT INTO t (i, s, n) VALUES (?, ?, ?)", &err));
    char volatile_text[] = "text";
    db_bind_int(insert, 1, INT64_MIN);
    db_bind_text(insert, 2, volatile_text);
    db_bind_text(insert, 3, NULL);
    volatile_text[0] = 'X'; /* bound text was copied */
    assert_ok(db_run(insert, &err));
    assert_int_equal(db_last_rowid(db), 1);
    assert_int_equal(db_changes(db), 1);
    bool has_row;
    assert_ok(db_stmt(&select, db, "SELECT i, s, n FROM t", &err));
    assert_ok(db_step(select, &has_row, &err));
    assert_true(has_row);
    assert_true(db_col_int(select, 0) == INT64_MIN);
    assert_string_equal(db_col_text(select, 1), "text");
    assert_null(db_col_text(select, 2));
    assert_string_equal(db_col_str(select, 2), "");
    AUTO_FREE char *copy = db_col_copy(select, 1);
    assert_null(db_col_copy(select, 2));
    assert_ok(db_step(select, &has_row, &err));
    assert_false(has_row);
    assert_string_equal(copy, "text");
}

static void statements_are_cached_and_come_fresh(void **state)
{
    (void)state;
    static const char sql[] = "SELECT ?";
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    struct db_stmt *first, *again;
    bool has_row;
    assert_ok(db_stmt(&first, db, sql, &err));
    db_bind_int(first, 1, 5);
    assert_ok(db_step(first, &has_row, &err));
    assert_ok(db_stmt(&again, db, sql, &err));
    assert_ptr_equal(first, again);
    assert_ok(db_step(again, &has_row, &err));
    assert_null(db_col_text(again, 0)); /* the binding of before is gone */
    assert_false(db_stmt(&again, db, "SELECT nonsense FROM nowhere", &err));
    assert_int_equal(err.code, ERR_INTERNAL);
}

static void the_cache_grows(void **state)
{
    (void)state;
    static char sql[300][16];
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 300; i++) {
            snprintf(sql[i], sizeof(sql[i]), "SELECT %d", i);
            assert_int_equal(int_of(db, sql[i]), i);
        }
    }
    struct db_stmt *a, *b;
    assert_ok(db_stmt(&a, db, sql[7], &err));
    assert_ok(db_stmt(&b, db, sql[7], &err));
    assert_ptr_equal(a, b);
}

static void transactions_hold_or_vanish(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_ok(db_exec(db, "CREATE TABLE t (x)", &err));
    assert_ok(db_begin(db, &err));
    assert_true(db_in_transaction(db));
    assert_ok(db_exec(db, "INSERT INTO t VALUES (1)", &err));
    db_rollback(db);
    assert_false(db_in_transaction(db));
    db_rollback(db);
    assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 0);
    assert_ok(db_begin(db, &err));
    assert_ok(db_exec(db, "INSERT INTO t VALUES (1)", &err));
    assert_ok(db_commit(db, &err));
    AUTO_DB struct db *other = opened("db", DB_READ_ONLY);
    assert_int_equal(int_of(other, "SELECT count(*) FROM t"), 1);
    assert_false(db_exec(other, "DELETE FROM t", &err));
    assert_int_equal(err.sys_errno, EROFS);
}

static void a_failed_commit_leaves_nothing_open(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_ok(db_exec(db,
                      "CREATE TABLE p (id INTEGER PRIMARY KEY);"
                      "CREATE TABLE c (p REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
                      &err));
    assert_ok(db_begin(db, &err));
    assert_ok(db_exec(db, "INSERT INTO c VALUES (9)", &err));
    assert_false(db_commit(db, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_false(db_in_transaction(db));
    assert_int_equal(int_of(db, "SELECT count(*) FROM c"), 0);
}

static int misuse_nested(void)
{
    struct err err = ERR_INIT;
    struct db *db = NULL;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    if (db_open(&db, "db", DB_READ_WRITE, &err) && db_begin(db, &err))
        (void)!db_begin(db, &err);
    return 1;
}

static int misuse_changed_text(void)
{
    char sql[] = "SELECT 1";
    struct err err = ERR_INIT;
    struct db *db = NULL;
    struct db_stmt *s;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    if (!db_open(&db, "db", DB_READ_WRITE, &err) || !db_stmt(&s, db, sql, &err))
        return 1;
    sql[7] = '2';
    (void)!db_stmt(&s, db, sql, &err);
    return 1;
}

static int misuse_binding(void)
{
    struct err err = ERR_INIT;
    struct db *db = NULL;
    struct db_stmt *s;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    if (db_open(&db, "db", DB_READ_WRITE, &err) && db_stmt(&s, db, "SELECT ?", &err))
        db_bind_int(s, 2, 1);
    return 1;
}

static void misuse_aborts(void **state)
{
    (void)state;
    int (*const cases[])(void) = {misuse_nested, misuse_changed_text, misuse_binding};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(cases[i]());
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

static const char *const steps[] = {
    "CREATE TABLE a (x); INSERT INTO a VALUES (1)",
    "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = 2",
};

static void migrations_run_once_and_in_order(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_ok(db_migrate(db, steps, 1, &err));
    assert_int_equal(int_of(db, "PRAGMA user_version"), 1);
    assert_ok(db_migrate(db, steps, 2, &err));
    assert_ok(db_migrate(db, steps, 2, &err));
    assert_int_equal(int_of(db, "SELECT sum(y) FROM a"), 2);
    assert_false(db_migrate(db, steps, 1, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.text, "newer"));
}

static void a_failed_migration_leaves_no_trace(void **state)
{
    (void)state;
    static const char *const broken[] = {"CREATE TABLE a (x)", "CREATE TABLE b (x); nonsense"};
    struct err err = ERR_INIT;
    AUTO_DB struct db *db = opened("db", DB_READ_WRITE);
    assert_false(db_migrate(db, broken, 2, &err));
    assert_non_null(strstr(err.text, "schema version 2"));
    assert_false(db_in_transaction(db));
    assert_int_equal(int_of(db, "PRAGMA user_version"), 1);
    assert_int_equal(int_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void troubles_have_sentences(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct db *db = NULL;
    assert_false(db_open(&db, "absent/db", DB_READ_WRITE, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    assert_false(db_open(&db, "absent", DB_READ_ONLY, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    char junk[4096];
    memset(junk, 'j', sizeof(junk));
    assert_ok(fs_write_plain(AT_FDCWD, "junk", junk, sizeof(junk), 0600, &err));
    assert_false(db_open(&db, "junk", DB_READ_WRITE, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_non_null(strstr(err.text, "damaged"));
    assert_null(db);
}

/* A file system of 1 MiB that fills up in the middle of a transaction. */
static int fill_the_disk(void)
{
    struct err err = ERR_INIT;
    if (!enter_mount_namespace() || mkdir("small", 0700) != 0 ||
        mount("tmpfs", "small", "tmpfs", 0, "size=1m") != 0)
        return CHILD_SKIPS;
    AUTO_DB struct db *db = NULL;
    struct db_stmt *insert;
    CHILD_ASSERT(db_open(&db, "small/db", DB_READ_WRITE, &err));
    CHILD_ASSERT(db_exec(db, "CREATE TABLE t (x)", &err));
    CHILD_ASSERT(db_stmt(&insert, db, "INSERT INTO t VALUES (zeroblob(65536))", &err));
    bool ok = db_begin(db, &err);
    for (int i = 0; ok && i < 100; i++)
        ok = db_run(insert, &err);
    ok = ok && db_commit(db, &err);
    CHILD_ASSERT(!ok);
    CHILD_ASSERT(err.code == ERR_SYS && err.sys_errno == ENOSPC);
    db_rollback(db);
    CHILD_ASSERT(!db_in_transaction(db));
    CHILD_ASSERT(int_of(db, "SELECT count(*) FROM t") == 0);
    return CHILD_OK;
}

static void a_full_disk_is_told_and_loses_nothing(void **state)
{
    (void)state;
    run_in_child(fill_the_disk);
}

#define DB_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DB_TEST(connections_are_durable_and_strict),
        DB_TEST(values_go_in_and_out),
        DB_TEST(statements_are_cached_and_come_fresh),
        DB_TEST(the_cache_grows),
        DB_TEST(transactions_hold_or_vanish),
        DB_TEST(a_failed_commit_leaves_nothing_open),
        DB_TEST(misuse_aborts),
        DB_TEST(migrations_run_once_and_in_order),
        DB_TEST(a_failed_migration_leaves_no_trace),
        DB_TEST(troubles_have_sentences),
        DB_TEST(a_full_disk_is_told_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
