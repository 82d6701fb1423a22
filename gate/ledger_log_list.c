/* Rows of the log, as they are read. */
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

/* A page of an export: with one row or call beyond it, it still fits into a message. */
enum { LIST_DEFAULT = 1000, PAGE_BYTES = LIMIT_LINE_BYTES / 4 };

static json_t *log_row(struct db_stmt *s)
{
    json_t *row = json_object();
    jx_set_int(row, "seq", db_col_int(s, 0));
    jx_set_int(row, "at_ms", db_col_int(s, 1));
    jx_set(row, "kind", ledger_row_text(db_col_str(s, 2)));
    const char *text = db_col_str(s, 3);
    json_t *body = NULL;
    struct err ignored = ERR_INIT;
    /* A body that was tampered with is shown as the text it is. */
    if (!jx_parse(&body, text, strlen(text), &ignored))
        body = ledger_row_text(text);
    jx_set(row, "body", body);
    jx_set(row, "hash", ledger_row_text(db_col_str(s, 4)));
    return row;
}

/* All rows, or with max_bytes those until their bodies have as many. */
static bool collect(json_t **ret, struct db_stmt *s, json_t *(*row)(struct db_stmt *s),
                    size_t max_bytes, struct err *err)
{
    AUTO_JSON json_t *rows = json_array();
    bool has_row = true;
    size_t bytes = 0;
    while (has_row && (max_bytes == 0 || bytes < max_bytes)) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        bytes += strlen(db_col_str(s, 3));
        json_array_append_new(rows, row(s));
    }
    db_reset(s);
    *ret = steal_json(&rows);
    return true;
}

bool ledger_log_list(json_t **ret, struct db *db, int64_t after, int64_t limit, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(
            &s, db,
            "SELECT seq, at_ms, kind, body, hash FROM log WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            err))
        return false;
    db_bind_int(s, 1, after);
    db_bind_int(s, 2, limit > 0 ? limit : LIST_DEFAULT);
    return collect(ret, s, log_row, 0, err);
}

/* A body that is no JSON has no members, and does not end the query. */
#define MEMBER(name) "(CASE WHEN json_valid(body) THEN json_extract(body, '$." name "') END)"
#define OF_ATTEMPT MEMBER("attempt")
#define OF_RUN MEMBER("run")
#define OF_CALL MEMBER("call")
#define OF_AGENT MEMBER("agent")
#define OF_TOOL MEMBER("tool")
#define OF_STATE MEMBER("state")

/* ?3 is an attempt or a run, ?7 is looked for in the call's arguments too. */
static const char find_rows[] =
    "SELECT * FROM (SELECT seq, at_ms, kind, body, hash FROM log WHERE seq > ?1"
    " AND at_ms >= ?2 AND (?10 = 0 OR at_ms <= ?10)"
    " AND (?3 IS NULL OR " OF_ATTEMPT " = ?3"
    "  OR substr(" OF_ATTEMPT ", 1, length(?3) + 1) = ?3 || '.'"
    "  OR CAST(" OF_RUN " AS TEXT) = ?3)"
    " AND (?4 IS NULL OR " OF_AGENT " = ?4)"
    " AND (?5 IS NULL OR " OF_TOOL " = ?5)"
    " AND (?6 IS NULL OR " OF_STATE " = ?6)"
    " AND (?7 IS NULL OR instr(lower(body), lower(?7)) OR instr(kind, ?7)"
    "  OR EXISTS (SELECT 1 FROM call WHERE id = CAST(substr(" OF_CALL ", 2) AS INTEGER)"
    "   AND instr(lower(request), lower(?7))))"
    " ORDER BY seq DESC LIMIT ?8) ORDER BY seq";

/* As the text stands inside a JSON string, which all that is searched is. */
static void add_escaped(struct buf *out, const char *text)
{
    AUTO_JSON json_t *value = jx_bytes(text, strlen(text));
    AUTO_BUF struct buf quoted = BUF_INIT;
    jx_dump(&quoted, value);
    buf_add(out, quoted.ptr + 1, quoted.len - 2);
}

bool ledger_log_find(json_t **ret, struct db *db, const struct ledger_log_filter *f,
                     struct err *err)
{
    struct db_stmt *s;
    AUTO_BUF struct buf text = BUF_INIT;
    if (f->text)
        add_escaped(&text, f->text);
    if (!db_stmt(&s, db, find_rows, err))
        return false;
    db_bind_int(s, 1, f->after);
    db_bind_int(s, 2, f->since_ms);
    db_bind_text(s, 3, f->attempt);
    db_bind_text(s, 4, f->agent);
    db_bind_text(s, 5, f->tool);
    db_bind_text(s, 6, f->state);
    db_bind_text(s, 7, f->text ? text.ptr : NULL);
    db_bind_int(s, 8, f->limit > 0 ? f->limit : LIST_DEFAULT);
    db_bind_int(s, 10, f->until_ms);
    return collect(ret, s, log_row, 0, err);
}

bool ledger_log_told(json_t **ret, struct db *db, const char *attempt, int64_t limit,
                     struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT seq, at_ms, kind, body, hash FROM log WHERE seq IN"
                 " (SELECT seq FROM told WHERE attempt = ?1 ORDER BY seq DESC LIMIT ?2)"
                 " ORDER BY seq",
                 err))
        return false;
    db_bind_text(s, 1, attempt);
    db_bind_int(s, 2, limit);
    return collect(ret, s, log_row, 0, err);
}

static json_t *export_row(struct db_stmt *s)
{
    json_t *row = json_object();
    jx_set_int(row, "seq", db_col_int(s, 0));
    if (db_col_int(s, 6)) {
        jx_set_int(row, "at_ms", db_col_int(s, 1));
        jx_set(row, "kind", ledger_row_text(db_col_str(s, 2)));
        jx_set(row, "body", ledger_row_text(db_col_str(s, 3)));
    }
    jx_set(row, "prev", ledger_row_text(db_col_str(s, 4)));
    jx_set(row, "hash", ledger_row_text(db_col_str(s, 5)));
    return row;
}

bool ledger_log_export(json_t **ret, struct db *db, int64_t run, int64_t after, int64_t limit,
                       struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT seq, at_ms, kind, body, prev, hash, ?1 = 0 OR kind LIKE 'rule.%'"
                 " OR coalesce(" OF_RUN " = ?1, 0) OR coalesce(" OF_ATTEMPT " LIKE ?1 || '.%', 0)"
                 " FROM log WHERE seq > ?2 ORDER BY seq LIMIT ?3",
                 err))
        return false;
    db_bind_int(s, 1, run);
    db_bind_int(s, 2, after);
    db_bind_int(s, 3, limit > 0 ? limit : LIST_DEFAULT);
    return collect(ret, s, export_row, PAGE_BYTES, err);
}

static json_t *call_row(const struct ledger_call *call)
{
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call->id);
    json_t *row = json_object();
    jx_set_str(row, "call", name);
    jx_set(row, "attempt", ledger_row_text(call->attempt));
    jx_set_int(row, "local", call->local);
    if (call->dropped_ms > 0)
        jx_set_int(row, "dropped_ms", call->dropped_ms);
    else
        jx_set(row, "request", call_request_json(&call->request));
    return row;
}

bool ledger_call_export(json_t **ret, int64_t *ret_last, struct db *db, int64_t run, int64_t after,
                        int64_t limit, struct err *err)
{
    struct db_stmt *s;
    AUTO_JSON json_t *rows = json_array();
    bool has_row = true, ok = true;
    size_t bytes = 0;
    if (!db_stmt(&s, db,
                 "SELECT " LEDGER_CALL_COLUMNS " FROM call WHERE id > ?2"
                 " AND (?1 = 0 OR attempt LIKE ?1 || '.%') ORDER BY id LIMIT ?3",
                 err))
        return false;
    db_bind_int(s, 1, run);
    db_bind_int(s, 2, after);
    db_bind_int(s, 3, limit > 0 ? limit : LIST_DEFAULT);
    while (ok && has_row && bytes < PAGE_BYTES) {
        AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
        ok = db_step(s, &has_row, err) && (!has_row || ledger_row_read(&call, s, err));
        if (!ok || !has_row)
            break;
        bytes += strlen(db_col_str(s, 4)); /* the request's text */
        json_array_append_new(rows, call_row(&call));
        after = call.id;
    }
    db_reset(s);
    if (!ok)
        return false;
    *ret_last = after;
    *ret = steal_json(&rows);
    return true;
}
