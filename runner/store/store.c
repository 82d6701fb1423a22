#include "runner/store/store.h"

#include "gate/ledger.h"
#include "runner/base/mem.h"
#include "runner/store/comment_row.h"
#include "runner/store/broker_row.h"
#include "runner/store/message_row.h"

static const char runner_schema[] =
    "CREATE TABLE run ("
    "  id INTEGER PRIMARY KEY,"
    "  path TEXT NOT NULL," /* what was named: toplevel or bare folder */
    "  repo TEXT NOT NULL," /* common folder of the repository */
    "  base TEXT NOT NULL,"
    "  base_ref TEXT,"
    "  agent TEXT NOT NULL,"
    "  ladder TEXT NOT NULL,"
    "  jobs INTEGER NOT NULL,"
    "  n INTEGER NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  env TEXT NOT NULL,"    /* JSON array: the environment of its attempts */
    "  desktop TEXT NOT NULL" /* JSON array: for notify-send alone */
    ") STRICT;"
    "CREATE TABLE attempt ("
    "  id TEXT PRIMARY KEY,"
    "  run INTEGER NOT NULL REFERENCES run(id),"
    "  n INTEGER NOT NULL,"
    "  state TEXT NOT NULL,"
    "  outcome TEXT,"
    "  title TEXT NOT NULL,"
    "  task TEXT NOT NULL,"
    "  spec TEXT NOT NULL," /* attempt_spec without prompt and environment */
    "  env TEXT,"           /* JSON array; NULL: the run's */
    "  agent TEXT NOT NULL,"
    "  branch TEXT NOT NULL,"
    "  subdir TEXT NOT NULL,"
    "  interactive INTEGER NOT NULL,"
    "  engine TEXT,"
    "  engine_why TEXT,"
    "  tree TEXT,"
    "  tip TEXT,"
    "  snapshot TEXT,"
    "  commits INTEGER NOT NULL DEFAULT 0,"
    "  files INTEGER NOT NULL DEFAULT 0,"
    "  note TEXT,"
    "  review TEXT," /* JSON array of WHY\tPATH */
    "  layers TEXT," /* JSON array of LAYER */
    "  last_line TEXT,"
    "  exit_status INTEGER,"
    "  error TEXT,"
    "  created_ms INTEGER NOT NULL,"
    "  started_ms INTEGER NOT NULL DEFAULT 0,"
    "  ended_ms INTEGER NOT NULL DEFAULT 0,"
    "  keeper_pid INTEGER NOT NULL DEFAULT 0,"
    "  keeper_ticks INTEGER NOT NULL DEFAULT 0,"
    "  keeper_boot TEXT,"
    "  spool_seq INTEGER NOT NULL DEFAULT 0," /* last record merged */
    "  merged_into TEXT,"
    "  merged_commit TEXT,"
    "  UNIQUE (run, n)"
    ") STRICT;"
    "CREATE INDEX attempt_open ON attempt(state) WHERE state <> 'done';"
    "CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;"
    "CREATE TABLE consent ("
    "  repo TEXT NOT NULL,"
    "  digest TEXT NOT NULL,"
    "  made_by TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (repo, digest)"
    ") STRICT;";

/* Rungs that differ from the run's. */
static const char runner_schema_rungs[] = "CREATE TABLE rung ("
                                          "  attempt TEXT PRIMARY KEY,"
                                          "  ladder TEXT NOT NULL"
                                          ") STRICT;";

/* What an agent tells of itself (runner/agents/pulse.h). */
static const char runner_schema_pulse[] = "ALTER TABLE attempt ADD COLUMN pulse TEXT;"
                                          "ALTER TABLE attempt ADD COLUMN pulse_before TEXT;";

bool store_open(struct db **ret, const char *path, struct err *err)
{
    const char *const steps[] = {ledger_schema,       runner_schema,       ledger_schema_origins,
                                 runner_schema_rungs, broker_schema,       comment_schema,
                                 ledger_schema_told,  runner_schema_pulse, message_schema,
                                 ledger_schema_drop};
    AUTO_DB struct db *db = NULL;
    if (!db_open(&db, path, DB_READ_WRITE, err) || !db_migrate(db, steps, ARRAY_LEN(steps), err))
        return false;
    *ret = steal_ptr(&db);
    return true;
}

void auto_rollback_(struct db **db)
{
    if (*db && db_in_transaction(*db))
        db_rollback(*db);
}

bool store_setting(int64_t *ret, struct db *db, const char *name, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, "SELECT value FROM setting WHERE name = ?", err))
        return false;
    db_bind_text(s, 1, name);
    if (!db_step(s, &have, err))
        return false;
    *ret = have ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

bool store_set_setting(struct db *db, const char *name, int64_t value, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO setting (name, value) VALUES (?, ?)"
                 " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                 err))
        return false;
    db_bind_text(s, 1, name);
    db_bind_int(s, 2, value);
    return db_run(s, err);
}

bool store_has_consent(bool *ret, struct db *db, const char *repo, const char *digest,
                       struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT 1 FROM consent WHERE repo = ?1 AND (?2 IS NULL OR digest = ?2) LIMIT 1",
                 err))
        return false;
    db_bind_text(s, 1, repo);
    db_bind_text(s, 2, digest);
    if (!db_step(s, &have, err))
        return false;
    db_reset(s);
    *ret = have;
    return true;
}

bool store_add_consent(struct db *db, const char *repo, const char *digest, const char *by,
                       int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO consent (repo, digest, made_by, at_ms) VALUES (?, ?, ?, ?)"
                 " ON CONFLICT DO NOTHING",
                 err))
        return false;
    db_bind_text(s, 1, repo);
    db_bind_text(s, 2, digest);
    db_bind_text(s, 3, by);
    db_bind_int(s, 4, at_ms);
    return db_run(s, err);
}
