#include "gate/ledger_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

bool ledger_tx_begin(struct ledger_tx *tx, struct db *db, struct err *err)
{
    bool is_own = !db_in_transaction(db);
    tx->db = NULL;
    if (is_own && !db_begin(db, err))
        return false;
    tx->db = is_own ? db : NULL;
    return true;
}

bool ledger_tx_commit(struct ledger_tx *tx, struct err *err)
{
    struct db *db = steal_ptr(&tx->db);
    return !db || db_commit(db, err);
}

void ledger_tx_end(struct ledger_tx *tx)
{
    if (tx->db)
        db_rollback(tx->db);
}

void ledger_call_release(struct ledger_call *c)
{
    free(c->attempt);
    free(c->ask_why);
    free(c->ask_reason);
    call_request_release(&c->request);
    free(c->decided_by);
    free(c->why);
    free(c->reason);
    *c = (struct ledger_call)LEDGER_CALL_INIT;
}

json_t *ledger_row_text(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : jx_bytes(text, strlen(text));
}

static void copy_digest(char to[DIGEST_HEX_SIZE], const char *from)
{
    memcpy(to, from, strnlen(from, DIGEST_HEX_SIZE - 1));
}

bool ledger_row_read(struct ledger_call *ret, struct db_stmt *s, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call c = LEDGER_CALL_INIT;
    c.id = db_col_int(s, 0);
    const char *request = db_col_str(s, 4);
    if (!call_state_parse(&c.state, db_col_str(s, 3)))
        return err_set(err, ERR_FORMAT, "call c%" PRId64 " has a state that is not known", c.id);
    if (!call_request_parse(&c.request, request, strlen(request), err))
        return err_prefix(err, "the stored call c%" PRId64, c.id);
    c.attempt = xstrdup(db_col_str(s, 1));
    c.local = db_col_int(s, 2);
    copy_digest(c.action, db_col_str(s, 5));
    copy_digest(c.digest, db_col_str(s, 6));
    c.asked_ms = db_col_int(s, 7);
    c.deadline_ms = db_col_int(s, 8);
    c.decided_ms = db_col_int(s, 9);
    c.decided_by = xstrdup(db_col_str(s, 10));
    c.why = xstrdup(db_col_str(s, 11));
    c.reason = xstrdup(db_col_str(s, 12));
    c.allowed = db_col_int(s, 13) != 0;
    c.rule = db_col_int(s, 14);
    c.ask_why = xstrdup(db_col_str(s, 15));
    c.ask_reason = xstrdup(db_col_str(s, 16));
    c.dropped_ms = db_col_int(s, 17);
    *ret = c;
    c = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

bool ledger_row_one(struct ledger_call *ret, bool *ret_found, struct db_stmt *s, struct err *err)
{
    bool found;
    if (!db_step(s, &found, err))
        return false;
    bool ok = !found || ledger_row_read(ret, s, err);
    db_reset(s);
    if (ok)
        *ret_found = found;
    return ok;
}

bool ledger_row_reload(struct ledger_call *call, struct db *db, struct err *err)
{
    int64_t id = call->id;
    ledger_call_release(call);
    return ledger_get(call, db, id, err);
}

static void set_text(json_t *obj, const char *key, const char *text)
{
    jx_set(obj, key, text && text[0] ? ledger_row_text(text) : json_null());
}

static void set_time(json_t *obj, const char *key, int64_t at_ms)
{
    jx_set(obj, key, at_ms > 0 ? json_integer(at_ms) : json_null());
}

static void set_id(json_t *obj, const char *key, int64_t id)
{
    AUTO_FREE char *name = xasprintf("c%" PRId64, id);
    jx_set_str(obj, key, name);
}

static void set_decision(json_t *obj, const struct ledger_call *c)
{
    set_text(obj, "decided_by", c->decided_by);
    bool is_open = c->state == CALL_PENDING;
    set_text(obj, "why", is_open ? c->ask_why : c->why);
    set_text(obj, "reason", is_open ? c->ask_reason : c->reason);
    jx_set(obj, "rule", c->rule > 0 ? json_integer(c->rule) : json_null());
}

json_t *ledger_call_json(const struct ledger_call *c)
{
    json_t *obj = json_object();
    set_id(obj, "id", c->id);
    set_text(obj, "attempt", c->attempt);
    jx_set_str(obj, "state", call_state_name(c->state));
    AUTO_JSON json_t *request = call_request_json(&c->request);
    static const char *const members[] = {"source",   "agent",   "tool",    "args",    "cwd",
                                          "worktree", "call_id", "session", "subagent"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_t *value = json_object_get(request, members[i]);
        jx_set(obj, members[i], value ? json_incref(value) : json_null());
    }
    jx_set_str(obj, "action", c->action);
    jx_set_str(obj, "digest", c->digest);
    set_time(obj, "asked_ms", c->asked_ms);
    set_time(obj, "deadline_ms", c->deadline_ms);
    set_time(obj, "decided_ms", c->decided_ms);
    set_decision(obj, c);
    set_text(obj, "ask_why", c->ask_why);
    set_text(obj, "ask_reason", c->ask_reason);
    if (c->dropped_ms > 0)
        jx_set_int(obj, "dropped_ms", c->dropped_ms);
    return obj;
}

bool ledger_row_log(struct db *db, const char *kind, const struct ledger_call *c, int64_t at_ms,
                    struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    set_id(body, "call", c->id);
    set_text(body, "attempt", c->attempt);
    jx_set_int(body, "local", c->local);
    set_text(body, "agent", c->request.agent);
    set_text(body, "subagent", c->request.sub_id);
    set_text(body, "tool", c->request.tool);
    jx_set_str(body, "state", call_state_name(c->state));
    jx_set_str(body, "action", c->action);
    jx_set_str(body, "digest", c->digest);
    set_decision(body, c);
    return ledger_log(db, kind, body, at_ms, err);
}

bool ledger_row_grant(struct db *db, const struct ledger_call *c, const char *by, int64_t at_ms,
                      struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO grant_once(attempt, action, call, made_by, made_ms) "
                 "VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                 err))
        return false;
    db_bind_text(s, 1, c->attempt);
    db_bind_text(s, 2, c->action);
    db_bind_int(s, 3, c->id);
    db_bind_text(s, 4, by);
    db_bind_int(s, 5, at_ms);
    if (!db_run(s, err))
        return false;
    if (db_changes(db) == 0)
        return true;
    AUTO_JSON json_t *body = json_object();
    set_id(body, "call", c->id);
    set_text(body, "attempt", c->attempt);
    jx_set_str(body, "action", c->action);
    set_text(body, "by", by);
    return ledger_log(db, "call.granted", body, at_ms, err);
}
