#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger_row.h"
#include "runner/base/mem.h"

static bool log_rule(struct db *db, const char *kind, int64_t id, const char *text, const char *by,
                     int64_t at_ms, struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    jx_set_int(body, "rule", id);
    jx_set(body, "text", ledger_row_text(text));
    jx_set(body, "by", ledger_row_text(by));
    return ledger_log(db, kind, body, at_ms, err);
}

/* The number of the rule in force with this text, 0: none. */
static bool find_text(int64_t *ret, struct db *db, const char *text, struct err *err)
{
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db, "SELECT id FROM rule WHERE text = ?1 AND removed_ms IS NULL", err))
        return false;
    db_bind_text(s, 1, text);
    if (!db_step(s, &found, err))
        return false;
    *ret = found ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

static bool insert_rule(int64_t *ret, struct db *db, const struct rule *rule, const char *text,
                        const struct ledger_origin *origin, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "INSERT INTO rule(text, scope, scope_value, made_by, made_ms, from_call) "
                 "VALUES(?1, ?2, ?3, ?4, ?5, nullif(?6, 0))",
                 err))
        return false;
    db_bind_text(s, 1, text);
    db_bind_int(s, 2, rule->scope);
    db_bind_text(s, 3, rule->scope_value ? rule->scope_value : "");
    db_bind_text(s, 4, origin->by);
    db_bind_int(s, 5, origin->at_ms);
    db_bind_int(s, 6, origin->from_call);
    if (!db_run(s, err))
        return false;
    *ret = db_last_rowid(db);
    return log_rule(db, "rule.added", *ret, text, origin->by, origin->at_ms, err);
}

bool ledger_rule_add(int64_t *ret_id, struct db *db, const struct rule *rule,
                     const struct ledger_origin *origin, struct err *err)
{
    if (rule->scope != RULE_ALWAYS && !rule->scope_value)
        return err_set(err, ERR_USAGE, "the rule's scope does not say which one it means");
    AUTO_BUF struct buf text = BUF_INIT;
    rule_text(&text, rule);
    AUTO_LEDGER_TX struct ledger_tx tx;
    int64_t id;
    if (!ledger_tx_begin(&tx, db, err) || !find_text(&id, db, text.ptr, err))
        return false;
    if (id == 0 && !insert_rule(&id, db, rule, text.ptr, origin, err))
        return false;
    if (!ledger_tx_commit(&tx, err))
        return false;
    *ret_id = id;
    return true;
}

static bool text_of(struct buf *out, struct db *db, int64_t id, struct err *err)
{
    struct db_stmt *s;
    bool found;
    if (!db_stmt(&s, db, "SELECT text FROM rule WHERE id = ?1 AND removed_ms IS NULL", err))
        return false;
    db_bind_int(s, 1, id);
    if (!db_step(s, &found, err))
        return false;
    if (found)
        buf_adds(out, db_col_str(s, 0));
    db_reset(s);
    return found || err_set(err, ERR_NOT_FOUND, "there is no rule %" PRId64, id);
}

bool ledger_rule_rm(struct db *db, int64_t id, const char *by, int64_t at_ms, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_LEDGER_TX struct ledger_tx tx;
    struct db_stmt *s;
    if (!ledger_tx_begin(&tx, db, err) || !text_of(&text, db, id, err) ||
        !db_stmt(&s, db, "UPDATE rule SET removed_ms = ?2 WHERE id = ?1", err))
        return false;
    db_bind_int(s, 1, id);
    db_bind_int(s, 2, at_ms);
    return db_run(s, err) && log_rule(db, "rule.removed", id, text.ptr, by, at_ms, err) &&
           ledger_tx_commit(&tx, err);
}

bool ledger_rule_list(json_t **ret, struct db *db, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT id, text, made_by, made_ms, last_used_ms, uses, from_call FROM rule "
                 "WHERE removed_ms IS NULL ORDER BY id",
                 err))
        return false;
    AUTO_JSON json_t *rules = json_array();
    bool has_row;
    for (;;) {
        if (!db_step(s, &has_row, err))
            return false;
        if (!has_row)
            break;
        json_t *row = json_object();
        jx_set_int(row, "id", db_col_int(s, 0));
        jx_set(row, "text", ledger_row_text(db_col_str(s, 1)));
        jx_set(row, "by", ledger_row_text(db_col_str(s, 2)));
        jx_set_int(row, "made_ms", db_col_int(s, 3));
        jx_set_int(row, "last_used_ms", db_col_int(s, 4));
        jx_set_int(row, "count", db_col_int(s, 5));
        jx_set_int(row, "from_call", db_col_int(s, 6));
        json_array_append_new(rules, row);
    }
    db_reset(s);
    *ret = steal_json(&rules);
    return true;
}

struct rule_array {
    struct rule *v;
    size_t n;
};

static void release_rules(struct rule_array *a)
{
    for (size_t i = 0; i < a->n; i++)
        rule_release(&a->v[i]);
    free(a->v);
}

static bool add_rule(struct rule_array *a, struct db_stmt *s, struct err *err)
{
    struct rule rule = RULE_INIT;
    int64_t id = db_col_int(s, 0);
    if (!rule_parse(&rule, db_col_str(s, 1), err))
        return err_prefix(err,
                          "rule r%" PRId64 " of the store cannot be read ('headgate gate rule rm "
                          "r%" PRId64 "' removes it)",
                          id, id);
    rule.id = id;
    a->v = xreallocarray(a->v, a->n + 1, sizeof(*a->v));
    a->v[a->n++] = rule;
    return true;
}

bool ledger_rules_for(struct rule **ret, size_t *ret_n, struct db *db, const char *run,
                      const char *attempt, const char *repo, struct err *err)
{
    struct db_stmt *s;
    if (!db_stmt(&s, db,
                 "SELECT id, text FROM rule WHERE removed_ms IS NULL AND (scope = ?1 OR "
                 "(scope = ?2 AND scope_value = ?3) OR (scope = ?4 AND scope_value = ?5) OR "
                 "(scope = ?6 AND scope_value = ?7)) ORDER BY id",
                 err))
        return false;
    db_bind_int(s, 1, RULE_ALWAYS);
    db_bind_int(s, 2, RULE_RUN);
    db_bind_text(s, 3, run);
    db_bind_int(s, 4, RULE_ATTEMPT);
    db_bind_text(s, 5, attempt);
    db_bind_int(s, 6, RULE_REPO);
    db_bind_text(s, 7, repo);
    __attribute__((cleanup(release_rules))) struct rule_array rules = {NULL, 0};
    bool has_row = true, ok = true;
    while (ok && has_row) {
        ok = db_step(s, &has_row, err);
        if (ok && has_row)
            ok = add_rule(&rules, s, err);
    }
    db_reset(s);
    if (!ok)
        return false;
    *ret_n = rules.n;
    *ret = steal_ptr(&rules.v);
    rules.n = 0;
    return true;
}
