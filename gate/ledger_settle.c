/* Transitions of stored calls. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

struct decision {
    bool allow;
    const char *digest; /* NULL: not compared */
    const char *reason, *by, *why;
    bool grant;
    int64_t at_ms;
};

/* The conditional transition itself: *ret_won tells if this decision is the one. */
static bool transition(bool *ret_won, struct db *db, int64_t id, const struct decision *d,
                       struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "UPDATE call SET state = ?3, decided_ms = ?4, decided_by = ?5, why = ?6, "
                 "reason = ?7, allowed = ?8 "
                 "WHERE id = ?1 AND state = 'pending' AND (?2 IS NULL OR digest = ?2)",
                 err))
        return false;
    db_bind_int(s, 1, id);
    db_bind_text(s, 2, d->digest);
    db_bind_text(s, 3, call_state_name(d->allow ? CALL_APPROVED : CALL_DENIED));
    db_bind_int(s, 4, d->at_ms);
    db_bind_text(s, 5, d->by);
    db_bind_text(s, 6, d->why);
    db_bind_text(s, 7, d->reason);
    db_bind_int(s, 8, d->allow);
    if (!db_run(s, err))
        return false;
    *ret_won = db_changes(db) == 1;
    return true;
}

/* A decision that came after the call ended: nothing to decide, but perhaps a grant to make. */
static bool decide_late(enum ledger_outcome *ret, struct db *db, const struct ledger_call *call,
                        const struct decision *d, struct err *err)
{
    bool makes_grant =
        d->allow && (call->state == CALL_EXPIRED ||
                     ((call->state == CALL_ORPHANED || call->state == CALL_DENIED) && d->grant));
    if (makes_grant && call->dropped_ms > 0)
        return err_set(err, ERR_REFUSED,
                       "the arguments of call c%" PRId64
                       " are gone, so nobody can see what would be "
                       "approved",
                       call->id);
    *ret = makes_grant ? LEDGER_GRANTED : LEDGER_LOST;
    return !makes_grant || ledger_row_grant(db, call, d->by, d->at_ms, err);
}

static bool decide(enum ledger_outcome *ret, struct ledger_call *call, struct db *db, int64_t id,
                   const struct decision *d, struct err *err)
{
    bool won;
    if (!transition(&won, db, id, d, err) || !ledger_get(call, db, id, err))
        return false;
    *ret = LEDGER_WON;
    if (won)
        return ledger_row_log(db, d->allow ? "call.approved" : "call.denied", call, d->at_ms, err);
    if (d->digest && strcmp(d->digest, call->digest) != 0)
        return err_set(err, ERR_CONFLICT,
                       "call c%" PRId64 " is not the one that was shown; look at it again", id);
    return decide_late(ret, db, call, d, err);
}

bool ledger_decide(enum ledger_outcome *ret_outcome, struct ledger_call *ret, struct db *db,
                   int64_t id, const char *digest, bool allow, const char *reason, const char *by,
                   const char *why, bool grant, int64_t at_ms, struct err *err)
{
    const struct decision d = {.allow = allow,
                               .digest = digest,
                               .reason = reason ? reason : "",
                               .by = by,
                               .why = why,
                               .grant = grant,
                               .at_ms = at_ms};
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_LEDGER_TX struct ledger_tx tx;
    enum ledger_outcome outcome;
    if (!ledger_tx_begin(&tx, db, err) || !decide(&outcome, &call, db, id, &d, err) ||
        !ledger_tx_commit(&tx, err))
        return false;
    *ret_outcome = outcome;
    *ret = call;
    call = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

/* The log's word for a call that came to this state. */
static const char *kind_of(enum call_state state)
{
    switch (state) {
    case CALL_EXPIRED:
        return "call.expired";
    case CALL_ORPHANED:
        return "call.orphaned";
    case CALL_CONSUMED:
        return "call.consumed";
    case CALL_PENDING:
    case CALL_APPROVED:
    case CALL_DENIED:
    case CALL_STATE_COUNT:
        break;
    }
    return "call.ignored";
}

/* The state that an event leads to from any state that allows it. */
static enum call_state target_of(enum call_event event)
{
    switch (event) {
    case CALL_EV_APPROVE:
        return CALL_APPROVED;
    case CALL_EV_DENY:
        return CALL_DENIED;
    case CALL_EV_EXPIRE:
        return CALL_EXPIRED;
    case CALL_EV_ORPHAN:
        return CALL_ORPHANED;
    case CALL_EV_CONSUME:
    case CALL_EVENT_COUNT:
        break;
    }
    return CALL_CONSUMED;
}

static bool set_state(struct db *db, int64_t id, enum call_state from, enum call_state to,
                      struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db, "UPDATE call SET state = ?3 WHERE id = ?1 AND state = ?2", err))
        return false;
    db_bind_int(s, 1, id);
    db_bind_text(s, 2, call_state_name(from));
    db_bind_text(s, 3, call_state_name(to));
    return db_run(s, err);
}

static bool settle(struct ledger_call *call, struct db *db, enum call_event event, int64_t at_ms,
                   struct err *err)
{
    enum call_state next, before = call->state;
    if (before == target_of(event))
        return true;
    if (!call_next(&next, before, event))
        return ledger_row_log(db, "call.ignored", call, at_ms, err);
    if (!set_state(db, call->id, before, next, err) || !ledger_row_reload(call, db, err) ||
        !ledger_row_log(db, kind_of(next), call, at_ms, err))
        return false;
    bool was_too_late = before == CALL_APPROVED && next == CALL_EXPIRED;
    return !was_too_late || ledger_row_grant(db, call, call->decided_by, at_ms, err);
}

bool ledger_settle(struct ledger_call *ret, struct db *db, const char *attempt, int64_t local,
                   enum call_event event, int64_t at_ms, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_LEDGER_TX struct ledger_tx tx;
    if (!ledger_tx_begin(&tx, db, err) || !ledger_find(&call, db, attempt, local, err) ||
        !settle(&call, db, event, at_ms, err) || !ledger_tx_commit(&tx, err))
        return false;
    *ret = call;
    call = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

/* *ret_id 0: the attempt has no open call. */
static bool next_open(int64_t *ret_id, struct db *db, const char *attempt, struct err *err)
{
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db,
                 "SELECT id FROM call WHERE attempt = ?1 AND state IN ('pending', 'approved')"
                 " ORDER BY id LIMIT 1",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    if (!db_step(s, &found, err))
        return false;
    *ret_id = found ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

bool ledger_orphan_all(struct db *db, const char *attempt, int64_t at_ms, struct err *err)
{
    AUTO_LEDGER_TX struct ledger_tx tx;
    if (!ledger_tx_begin(&tx, db, err))
        return false;
    for (;;) {
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        int64_t id;
        if (!next_open(&id, db, attempt, err))
            return false;
        if (id == 0)
            break;
        if (!ledger_get(&call, db, id, err) || !settle(&call, db, CALL_EV_ORPHAN, at_ms, err))
            return false;
    }
    return ledger_tx_commit(&tx, err);
}
