/* Whether the calls, the rules and the grants are what the log says of them. */
#include <inttypes.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

/* Of each call its newest row, with the call as it is stored. */
static const char last_rows[] =
    "WITH said AS (SELECT max(seq) AS seq, json_extract(body, '$.call') AS name,"
    " json_extract(body, '$.digest') AS digest, json_extract(body, '$.state') AS state, body FROM "
    "log"
    " WHERE kind LIKE 'call.%' AND json_extract(body, '$.digest') IS NOT NULL GROUP BY 2)"
    " SELECT said.seq, said.name, said.digest, said.state, call.id, call.attempt, call.local,"
    " call.request, call.state, said.body, call.decided_by, call.why, call.reason,"
    " call.dropped_ms, call.digest FROM said"
    " LEFT JOIN call ON call.id = CAST(substr(said.name, 2) AS INTEGER) ORDER BY said.seq";

/* Calls of an attempt that lost their arguments at one time, where no row says so of as many. */
static const char undeclared[] =
    "SELECT attempt, count(*), (SELECT coalesce(max(seq), 0) + 1 FROM log),"
    " (SELECT json_extract(body, '$.calls') FROM log WHERE kind = '" LEDGER_DROPPED "'"
    "  AND at_ms = dropped_ms AND json_extract(body, '$.attempt') = attempt) AS told"
    " FROM call WHERE dropped_ms IS NOT NULL GROUP BY attempt, dropped_ms"
    " HAVING told IS NOT count(*) LIMIT 1";

/* Of each rule its newest row, with the rule as it is stored. */
static const char last_rule_rows[] =
    "WITH said AS (SELECT max(seq) AS seq, json_extract(body, '$.rule') AS id, kind, body FROM log"
    " WHERE kind IN ('rule.added', 'rule.removed') GROUP BY 2)"
    " SELECT said.seq, said.id, said.kind, said.body, rule.text, rule.scope, rule.scope_value,"
    " rule.id IS NOT NULL AND rule.removed_ms IS NULL FROM said LEFT JOIN rule ON rule.id = said.id"
    " ORDER BY said.seq";

/* What is in force and no row made: the name, and the row behind the last. */
static const char unsaid[] =
    "SELECT name, (SELECT coalesce(max(seq), 0) + 1 FROM log) FROM ("
    " SELECT 'rule r' || id AS name FROM rule WHERE removed_ms IS NULL AND id NOT IN"
    "  (SELECT json_extract(body, '$.rule') FROM log WHERE kind = 'rule.added')"
    " UNION ALL SELECT 'the grant of call c' || call FROM grant_once AS g WHERE used_ms IS NULL AND"
    "  NOT EXISTS (SELECT 1 FROM log WHERE kind = 'call.granted'"
    "   AND json_extract(body, '$.call') = 'c' || g.call AND json_extract(body, '$.action') = "
    "g.action"
    "   AND json_extract(body, '$.attempt') = g.attempt)) LIMIT 1";

/* Whether the member of a row's body is the text that is stored. */
static bool is_said(const json_t *body, const char *key, const char *stored)
{
    AUTO_JSON json_t *text = stored[0] ? ledger_row_text(stored) : json_null();
    return json_equal(json_object_get(body, key), text);
}

/* Who decided the call at hand, and why; of an open one there is nothing to compare. */
static bool is_decided_as_said(struct db_stmt *s)
{
    AUTO_JSON json_t *body = NULL;
    struct err ignored = ERR_INIT;
    const char *text = db_col_str(s, 9);
    if (strcmp(db_col_str(s, 8), call_state_name(CALL_PENDING)) == 0)
        return true;
    return jx_parse(&body, text, strlen(text), &ignored) &&
           is_said(body, "decided_by", db_col_str(s, 10)) &&
           is_said(body, "why", db_col_str(s, 11)) && is_said(body, "reason", db_col_str(s, 12));
}

/* What is left of a call without its arguments, as far as its rows tell it. */
static bool is_stub_as_said(struct db_stmt *s, const struct call_request *request)
{
    AUTO_JSON json_t *body = NULL;
    struct err ignored = ERR_INIT;
    const char *text = db_col_str(s, 9);
    return strcmp(db_col_str(s, 14), db_col_str(s, 2)) == 0 &&
           json_object_size(request->args) == 0 && jx_parse(&body, text, strlen(text), &ignored) &&
           is_said(body, "attempt", db_col_str(s, 5)) && is_said(body, "agent", request->agent) &&
           is_said(body, "subagent", request->sub_id) && is_said(body, "tool", request->tool);
}

/* What is wrong with the call at hand; NULL: nothing. */
static const char *find_fault(struct db_stmt *s)
{
    AUTO_CALL_REQUEST struct call_request request = CALL_REQUEST_INIT;
    struct err ignored = ERR_INIT;
    char digest[DIGEST_HEX_SIZE];
    const char *text = db_col_str(s, 7);
    if (db_col_int(s, 4) == 0)
        return "is not in the store any more";
    if (strcmp(db_col_str(s, 3), db_col_str(s, 8)) != 0)
        return "is in another state than the log says";
    if (!call_request_parse(&request, text, strlen(text), &ignored))
        return "cannot be read any more";
    if (db_col_int(s, 13) > 0) {
        if (!is_stub_as_said(s, &request))
            return "asks something else than the log says, and its arguments are gone";
        return is_decided_as_said(s) ? NULL : "was decided otherwise than the log says";
    }
    call_digest(digest, db_col_str(s, 5), db_col_int(s, 6), &request);
    if (strcmp(digest, db_col_str(s, 2)) != 0)
        return "asks something else than the log says";
    return is_decided_as_said(s) ? NULL : "was decided otherwise than the log says";
}

/* What is wrong with the rule at hand; NULL: nothing. The scope is kept beside the text, for
 * look-ups. */
static const char *find_rule_fault(struct db_stmt *s)
{
    AUTO_RULE struct rule rule = RULE_INIT;
    AUTO_JSON json_t *body = NULL;
    struct err ignored = ERR_INIT;
    const char *said = db_col_str(s, 3);
    bool is_in_force = db_col_int(s, 7) != 0;
    if (strcmp(db_col_str(s, 2), "rule.removed") == 0)
        return is_in_force ? "is in force, which the log says was removed" : NULL;
    if (!is_in_force)
        return "is not in force any more, which no row says";
    bool is_same =
        jx_parse(&body, said, strlen(said), &ignored) && is_said(body, "text", db_col_str(s, 4)) &&
        rule_parse(&rule, db_col_str(s, 4), &ignored) && (int64_t)rule.scope == db_col_int(s, 5) &&
        strcmp(rule.scope_value ? rule.scope_value : "", db_col_str(s, 6)) == 0;
    return is_same ? NULL : "says something else than the log";
}

static bool check_rules(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row = true;
    if (!db_stmt(&s, db, last_rule_rows, err))
        return false;
    while (*ret_bad_seq == 0) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        const char *fault = find_rule_fault(s);
        if (!fault)
            continue;
        *ret_bad_seq = db_col_int(s, 0);
        buf_addf(why, "rule r%" PRId64 ", which it is about, %s", db_col_int(s, 1), fault);
    }
    db_reset(s);
    return true;
}

static bool check_unsaid(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db, unsaid, err) || !db_step(s, &has_row, err))
        return false;
    if (has_row) {
        *ret_bad_seq = db_col_int(s, 1);
        buf_addf(why, "no row made %s", db_col_str(s, 0));
    }
    db_reset(s);
    return true;
}

static bool check_said(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row = true;
    if (!db_stmt(&s, db, last_rows, err))
        return false;
    while (*ret_bad_seq == 0) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        const char *fault = find_fault(s);
        if (!fault)
            continue;
        *ret_bad_seq = db_col_int(s, 0);
        buf_addf(why, "call %s, which it is about, %s", db_col_str(s, 1), fault);
    }
    db_reset(s);
    return true;
}

static bool check_undeclared(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(&s, db, undeclared, err) || !db_step(s, &has_row, err))
        return false;
    if (has_row) {
        *ret_bad_seq = db_col_int(s, 2);
        buf_addf(why, "no row says that the arguments of %" PRId64 " of the calls of %s are gone",
                 db_col_int(s, 1), db_col_str(s, 0));
    }
    db_reset(s);
    return true;
}

/* A call that no row is about was put there by somebody else. */
static bool check_silent(int64_t *ret_bad_seq, struct buf *why, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool has_row;
    if (!db_stmt(
            &s, db,
            "SELECT call.id, (SELECT coalesce(max(seq), 0) + 1 FROM log) FROM call WHERE id NOT IN"
            " (SELECT CAST(substr(json_extract(body, '$.call'), 2) AS INTEGER) FROM log"
            "  WHERE kind LIKE 'call.%') LIMIT 1",
            err) ||
        !db_step(s, &has_row, err))
        return false;
    if (has_row) {
        *ret_bad_seq = db_col_int(s, 1);
        buf_addf(why, "no row is about call c%" PRId64, db_col_int(s, 0));
    }
    db_reset(s);
    return true;
}

bool ledger_verify_store(int64_t *ret_bad_seq, struct buf *ret_why, struct db *db, struct err *err)
{
    int64_t bad = 0;
    buf_clear(ret_why);
    /* One view of all tables, while the server goes on writing. */
    if (!db_exec(db, "BEGIN", err))
        return false;
    bool ok = check_said(&bad, ret_why, db, err) &&
              (bad != 0 || check_undeclared(&bad, ret_why, db, err)) &&
              (bad != 0 || check_silent(&bad, ret_why, db, err)) &&
              (bad != 0 || check_rules(&bad, ret_why, db, err)) &&
              (bad != 0 || check_unsaid(&bad, ret_why, db, err));
    db_rollback(db);
    if (ok)
        *ret_bad_seq = bad;
    return ok;
}
