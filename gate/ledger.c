#include "gate/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

/* Calls wait in `call` under their state's name; the partial indices keep what is open quick to
 * list however long the history grows. */
const char ledger_schema[] =
    "CREATE TABLE call("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " attempt TEXT NOT NULL,"
    " local INTEGER NOT NULL,"
    " state TEXT NOT NULL CHECK(state IN"
    "  ('pending', 'approved', 'denied', 'expired', 'orphaned', 'consumed')),"
    " request TEXT NOT NULL,"
    " action TEXT NOT NULL,"
    " digest TEXT NOT NULL,"
    " asked_ms INTEGER NOT NULL,"
    " deadline_ms INTEGER NOT NULL DEFAULT 0,"
    " decided_ms INTEGER,"
    " decided_by TEXT,"
    " why TEXT,"
    " reason TEXT,"
    " allowed INTEGER,"
    " rule INTEGER,"
    " UNIQUE(attempt, local));"
    "CREATE INDEX call_open ON call(attempt, state) WHERE state IN ('pending', 'approved');"
    "CREATE TABLE rule("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " text TEXT NOT NULL,"
    " scope INTEGER NOT NULL,"
    " scope_value TEXT NOT NULL,"
    " made_by TEXT NOT NULL,"
    " made_ms INTEGER NOT NULL,"
    " removed_ms INTEGER,"
    " last_used_ms INTEGER,"
    " uses INTEGER NOT NULL DEFAULT 0);"
    "CREATE UNIQUE INDEX rule_in_force ON rule(text) WHERE removed_ms IS NULL;"
    "CREATE TABLE grant_once("
    " id INTEGER PRIMARY KEY,"
    " attempt TEXT NOT NULL,"
    " action TEXT NOT NULL,"
    " call INTEGER NOT NULL REFERENCES call(id),"
    " made_by TEXT NOT NULL,"
    " made_ms INTEGER NOT NULL,"
    " used_ms INTEGER,"
    " used_by INTEGER REFERENCES call(id));"
    "CREATE UNIQUE INDEX grant_unused ON grant_once(attempt, action) WHERE used_ms IS NULL;"
    "CREATE TABLE log("
    " seq INTEGER PRIMARY KEY,"
    " at_ms INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " body TEXT NOT NULL,"
    " prev TEXT NOT NULL,"
    " hash TEXT NOT NULL);"
    "CREATE TRIGGER log_no_update BEFORE UPDATE ON log"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;"
    "CREATE TRIGGER log_no_delete BEFORE DELETE ON log"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;"
    "CREATE TRIGGER log_in_order BEFORE INSERT ON log"
    " WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM log)"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;";

/* Why a call is asked, and from which call a rule was made. */
const char ledger_schema_origins[] = "ALTER TABLE call ADD COLUMN ask_why TEXT;"
                                     "ALTER TABLE call ADD COLUMN ask_reason TEXT;"
                                     "ALTER TABLE rule ADD COLUMN from_call INTEGER;"
                                     "CREATE INDEX call_by_person ON call(attempt, action)"
                                     " WHERE why = 'person';";

/* Rows of the log that tell what an attempt did besides its calls. */
const char ledger_schema_told[] =
    "CREATE TABLE told(attempt TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(attempt, seq))"
    " WITHOUT ROWID;"
    "INSERT INTO told SELECT json_extract(body, '$.attempt'), seq FROM log"
    " WHERE kind = 'net' AND json_valid(body) AND json_extract(body, '$.attempt') IS NOT NULL;";

bool ledger_get(struct ledger_call *ret, struct db *db, int64_t id, struct err *err)
{
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db, "SELECT " LEDGER_CALL_COLUMNS " FROM call WHERE id = ?1", err))
        return false;
    db_bind_int(s, 1, id);
    if (!ledger_row_one(ret, &found, s, err))
        return false;
    return found || err_set(err, ERR_NOT_FOUND, "there is no call c%" PRId64, id);
}

/* ledger_find without its error for an absent call. */
static bool look_up(struct ledger_call *ret, bool *ret_found, struct db *db, const char *attempt,
                    int64_t local, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT " LEDGER_CALL_COLUMNS " FROM call WHERE attempt = ?1 AND local = ?2", err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_int(s, 2, local);
    return ledger_row_one(ret, ret_found, s, err);
}

bool ledger_find(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                 struct err *err)
{
    bool found;
    if (!look_up(ret, &found, db, attempt, local, err))
        return false;
    return found ||
           err_set(err, ERR_NOT_FOUND, "attempt %s has no call number %" PRId64, attempt, local);
}

/* What a new row says about its decision. */
struct birth {
    enum call_state state;
    int64_t asked_ms, deadline_ms;
    const char *by, *why, *reason; /* NULL while pending */
    int64_t rule;
    const char *ask_why, *ask_reason; /* NULL: not asked */
};

static void bind_decision(struct db_stmt *s, const struct birth *b)
{
    db_bind_int(s, 14, b->rule);
    if (b->state == CALL_PENDING)
        return;
    db_bind_int(s, 9, b->asked_ms);
    db_bind_text(s, 10, b->by);
    db_bind_text(s, 11, b->why);
    db_bind_text(s, 12, b->reason);
    db_bind_int(s, 13, b->state != CALL_DENIED);
}

static bool insert_call(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                        const struct call_request *r, const struct birth *b, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(
            &s, db,
            "INSERT INTO call(attempt, local, state, request, action, digest, asked_ms, "
            "deadline_ms, decided_ms, decided_by, why, reason, allowed, rule, ask_why, ask_reason) "
            "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            err))
        return false;
    AUTO_JSON json_t *request = call_request_json(r);
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, request);
    char action[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
    call_action_digest(action, r);
    call_digest(digest, attempt, local, r);
    db_bind_text(s, 1, attempt);
    db_bind_int(s, 2, local);
    db_bind_text(s, 3, call_state_name(b->state));
    db_bind_text(s, 4, text.ptr);
    db_bind_text(s, 5, action);
    db_bind_text(s, 6, digest);
    db_bind_int(s, 7, b->asked_ms);
    db_bind_int(s, 8, b->deadline_ms);
    bind_decision(s, b);
    db_bind_text(s, 15, b->ask_why);
    db_bind_text(s, 16, b->ask_reason);
    return db_run(s, err) && ledger_get(ret, db, db_last_rowid(db), err);
}

/* Find the row that an earlier delivery of the same record made. */
static bool find_same(struct ledger_call *ret, bool *ret_found, struct db *db, const char *attempt,
                      int64_t local, const struct call_request *r, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    if (!look_up(&call, ret_found, db, attempt, local, err))
        return false;
    if (!*ret_found)
        return true;
    char digest[DIGEST_HEX_SIZE];
    call_digest(digest, attempt, local, r);
    if (strcmp(digest, call.digest) != 0)
        return err_set(err, ERR_CONFLICT, "attempt %s used its call number %" PRId64 " twice",
                       attempt, local);
    *ret = call;
    call = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

/* Use up a grant for this attempt and action. *ret_by is who made it, NULL: there is none. */
static bool take_grant(char **ret_by, int64_t *ret_id, struct db *db, const char *attempt,
                       const struct call_request *r, struct err *err)
{
    char action[DIGEST_HEX_SIZE];
    call_action_digest(action, r);
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db,
                 "SELECT id, made_by FROM grant_once WHERE attempt = ?1 AND action = ?2 "
                 "AND used_ms IS NULL",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_text(s, 2, action);
    if (!db_step(s, &found, err))
        return false;
    *ret_id = found ? db_col_int(s, 0) : 0;
    *ret_by = found ? xstrdup(db_col_str(s, 1)) : NULL;
    db_reset(s);
    return true;
}

static bool use_grant(struct db *db, int64_t grant, const struct ledger_call *call, int64_t at_ms,
                      struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE grant_once SET used_ms = ?2, used_by = ?3 WHERE id = ?1", err))
        return false;
    db_bind_int(s, 1, grant);
    db_bind_int(s, 2, at_ms);
    db_bind_int(s, 3, call->id);
    return db_run(s, err) && ledger_row_log(db, "call.approved", call, at_ms, err);
}

static bool count_use(struct db *db, int64_t rule, int64_t at_ms, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE rule SET last_used_ms = ?2, uses = uses + 1 WHERE id = ?1", err))
        return false;
    db_bind_int(s, 1, rule);
    db_bind_int(s, 2, at_ms);
    return db_run(s, err);
}

/* The person's newest word on this action of this attempt, when it was a denial. */
struct refusal {
    int64_t call; /* 0: none */
    char *by, *reason;
};

static void refusal_release(struct refusal *r)
{
    free(r->by);
    free(r->reason);
}

static bool find_refusal(struct refusal *ret, struct db *db, const char *attempt,
                         const struct call_request *r, struct err *err)
{
    char action[DIGEST_HEX_SIZE];
    call_action_digest(action, r);
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db,
                 "SELECT id, allowed, decided_by, reason FROM call WHERE attempt = ?1"
                 " AND action = ?2 AND why = 'person' ORDER BY decided_ms DESC, id DESC LIMIT 1",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_text(s, 2, action);
    if (!db_step(s, &found, err))
        return false;
    if (found && db_col_int(s, 1) == 0) {
        ret->call = db_col_int(s, 0);
        ret->by = xstrdup(db_col_str(s, 2));
        ret->reason = xasprintf("The same was denied before, as c%" PRId64 "%s%s", ret->call,
                                *db_col_str(s, 3) ? ": " : "", db_col_str(s, 3));
    }
    db_reset(s);
    return true;
}

/* Deny by the refusal: the agent hears the same words again, and nobody is asked twice. */
static void refuse_again(struct birth *b, const struct refusal *refusal)
{
    b->state = CALL_DENIED;
    b->by = refusal->by;
    b->why = "repeat";
    b->reason = refusal->reason;
}

static bool insert_asked(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                         const struct call_request *r, const struct ledger_question *q,
                         struct err *err)
{
    AUTO_FREE char *by = NULL;
    __attribute__((cleanup(refusal_release))) struct refusal refusal = {0};
    int64_t grant;
    if (!take_grant(&by, &grant, db, attempt, r, err) ||
        !find_refusal(&refusal, db, attempt, r, err))
        return false;
    struct birth birth = {.state = by ? CALL_APPROVED : CALL_PENDING,
                          .asked_ms = q->asked_ms,
                          .deadline_ms = q->deadline_ms,
                          .by = by,
                          .why = "person",
                          .reason = "",
                          .rule = q->rule,
                          .ask_why = q->why,
                          .ask_reason = q->reason};
    bool is_repeat = !by && refusal.call > 0;
    if (is_repeat)
        refuse_again(&birth, &refusal);
    if (!insert_call(ret, db, attempt, local, r, &birth, err))
        return false;
    bool ok = ledger_row_log(db, "call.asked", ret, q->asked_ms, err) &&
              (!by || use_grant(db, grant, ret, q->asked_ms, err)) &&
              (!is_repeat || ledger_row_log(db, "call.denied", ret, q->asked_ms, err)) &&
              (q->rule <= 0 || count_use(db, q->rule, q->asked_ms, err));
    if (!ok)
        ledger_call_release(ret);
    return ok;
}

bool ledger_ask(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                const struct call_request *r, const struct ledger_question *q, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_LEDGER_TX struct ledger_tx tx;
    bool found;
    if (!ledger_tx_begin(&tx, db, err) || !find_same(&call, &found, db, attempt, local, r, err) ||
        (!found && !insert_asked(&call, db, attempt, local, r, q, err)) ||
        !ledger_tx_commit(&tx, err))
        return false;
    *ret = call;
    call = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

bool ledger_record_decided(int64_t *ret_id, struct db *db, const char *attempt, int64_t local,
                           const struct call_request *r, int64_t at_ms, bool allowed,
                           const char *why, int64_t rule, const char *reason, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_LEDGER_TX struct ledger_tx tx;
    struct birth birth = {.state = allowed ? CALL_CONSUMED : CALL_DENIED,
                          .asked_ms = at_ms,
                          .by = "policy",
                          .why = why,
                          .reason = reason,
                          .rule = rule};
    bool found;
    if (!ledger_tx_begin(&tx, db, err) || !find_same(&call, &found, db, attempt, local, r, err))
        return false;
    if (!found &&
        (!insert_call(&call, db, attempt, local, r, &birth, err) ||
         !ledger_row_log(db, allowed ? "call.allowed" : "call.denied", &call, at_ms, err) ||
         (rule > 0 && !count_use(db, rule, at_ms, err))))
        return false;
    int64_t id = call.id;
    if (!ledger_tx_commit(&tx, err))
        return false;
    *ret_id = id;
    return true;
}
