/*
 * ops_stats: how much is asked, by whom, how long people take, and what could be a rule.
 */
#include <stdlib.h>

#include "gate/ledger.h"
#include "runner/server/ops.h"

enum { ALWAYS_APPROVED = 3, PROPOSALS = 10 };

/* Step a statement to its end; add is given each row. */
static bool each_row(struct db_stmt *s, void (*add)(json_t *to, struct db_stmt *s), json_t *to,
                     struct err *err)
{
    bool have = true;
    while (have) {
        if (!db_step(s, &have, err))
            return false;
        if (have)
            add(to, s);
    }
    db_reset(s);
    return true;
}

static void add_count(json_t *to, struct db_stmt *s)
{
    jx_set_int(to, db_col_str(s, 0), db_col_int(s, 1));
}

/* name, calls, asked. */
static void add_share(json_t *to, struct db_stmt *s)
{
    json_t *share = json_object();
    int64_t calls = db_col_int(s, 1), asked = db_col_int(s, 2);
    jx_set_int(share, "calls", calls);
    jx_set_int(share, "asked", asked);
    jx_set(share, "asks_per_100", json_real(calls ? 100.0 * (double)asked / (double)calls : 0));
    jx_set(to, db_col_str(s, 0), share);
}

/* A query of the whole table, under a name. */
struct query {
    const char *name, *sql;
    void (*add)(json_t *to, struct db_stmt *s);
};

static const struct query queries[] = {
    {"calls", "SELECT state, count(*) FROM call GROUP BY state", add_count},
    {"why", "SELECT why, count(*) FROM call WHERE why <> '' GROUP BY why", add_count},
    {"asked_because",
     "SELECT ask_why || coalesce(' r' || nullif(rule, 0), ''), count(*) FROM call"
     " WHERE ask_why <> '' GROUP BY 1",
     add_count},
    {"by_agent",
     "SELECT json_extract(request, '$.agent'), count(*), count(ask_why) FROM call GROUP BY 1",
     add_share},
    {"by_tool",
     "SELECT json_extract(request, '$.tool'), count(*), count(ask_why) FROM call GROUP BY 1"
     " ORDER BY 2 DESC LIMIT 50",
     add_share},
    {"by_rule", "SELECT 'r' || id, uses FROM rule WHERE removed_ms IS NULL AND uses > 0",
     add_count},
    {"never_matched",
     "SELECT 'r' || id || ' ' || text, 0 FROM rule WHERE removed_ms IS NULL AND uses = 0",
     add_count},
};

static bool count_all(json_t *stats, struct db *db, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct db_stmt *s;
        json_t *to = json_object();
        jx_set(stats, queries[i].name, to);
        if (!db_stmt(&s, db, queries[i].sql, err) || !each_row(s, queries[i].add, to, err))
            return false;
    }
    return true;
}

static bool number(int64_t *ret, struct db *db, const char *sql, int64_t arg, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db, sql, err))
        return false;
    db_bind_int(s, 1, arg);
    if (!db_step(s, &have, err))
        return false;
    *ret = have ? db_col_int(s, 0) : 0;
    db_reset(s);
    return true;
}

static const char nth_wait[] = "SELECT decided_ms - asked_ms FROM call WHERE why = 'person'"
                               " ORDER BY 1 LIMIT 1 OFFSET ?1";

/* How long people took, over the calls that a person decided. */
static bool count_waits(json_t *stats, struct db *db, struct err *err)
{
    int64_t n, p50, p90, max;
    if (!number(&n, db, "SELECT count(*) FROM call WHERE why = 'person' AND ?1 = 0", 0, err) ||
        !number(&p50, db, nth_wait, n / 2, err) || !number(&p90, db, nth_wait, n * 9 / 10, err) ||
        !number(&max, db, nth_wait, n > 0 ? n - 1 : 0, err))
        return false;
    jx_set_int(stats, "by_person", n);
    jx_set_int(stats, "wait_p50_ms", p50);
    jx_set_int(stats, "wait_p90_ms", p90);
    jx_set_int(stats, "wait_max_ms", max);
    return true;
}

static bool count_rest(json_t *stats, struct db *db, struct err *err)
{
    int64_t rules, rows, calls, asked;
    if (!number(&rules, db, "SELECT count(*) FROM rule WHERE removed_ms IS NULL AND ?1 = 0", 0,
                err) ||
        !number(&rows, db, "SELECT coalesce(max(seq), ?1) FROM log", 0, err) ||
        !number(&calls, db, "SELECT count(*) FROM call WHERE ?1 = 0", 0, err) ||
        !number(&asked, db, "SELECT count(ask_why) FROM call WHERE ?1 = 0", 0, err))
        return false;
    jx_set_int(stats, "rules", rules);
    jx_set_int(stats, "log_rows", rows);
    jx_set_int(stats, "calls_total", calls);
    jx_set_int(stats, "asked_total", asked);
    jx_set(stats, "asks_per_100", json_real(calls ? 100.0 * (double)asked / (double)calls : 0));
    return true;
}

static void add_habit(json_t *to, struct db_stmt *s)
{
    json_array_append_new(to, json_pack("{s:I, s:I}", "approved", (json_int_t)db_col_int(s, 1),
                                        "id", (json_int_t)db_col_int(s, 2)));
}

/* What people approved each time, as {approved,id} of the newest such call. */
static bool find_habits(json_t **ret, struct db *db, struct err *err)
{
    struct db_stmt *s;
    AUTO_JSON json_t *habits = json_array();
    if (!db_stmt(&s, db,
                 "SELECT action, count(*), max(id) FROM call WHERE why = 'person' GROUP BY action"
                 " HAVING min(allowed) = 1 AND count(*) >= ?1 ORDER BY 2 DESC LIMIT ?2",
                 err))
        return false;
    db_bind_int(s, 1, ALWAYS_APPROVED);
    db_bind_int(s, 2, PROPOSALS);
    if (!each_row(s, add_habit, habits, err))
        return false;
    *ret = steal_json(&habits);
    return true;
}

/* As rules for the repository of each. */
static bool propose(json_t *stats, struct server *server, const json_t *habits, struct err *err)
{
    json_t *proposals = json_array();
    size_t i;
    const json_t *habit;
    jx_set(stats, "proposals", proposals);
    json_array_foreach(habits, i, habit)
    {
        json_t *rules;
        if (!explain_habit(&rules, server, jx_int(habit, "id", 0), err))
            return false;
        if (!rules)
            continue;
        AUTO_FREE char *like = xasprintf("c%lld", (long long)jx_int(habit, "id", 0));
        json_t *proposal = json_object();
        jx_set(proposal, "rules", rules);
        jx_set_int(proposal, "approved", jx_int(habit, "approved", 0));
        jx_set_str(proposal, "like", like);
        json_array_append_new(proposals, proposal);
    }
    return true;
}

/* Every call is read, on a connection of the worker's own. */
struct count {
    struct request *request;
    const char *path;
    json_t *stats, *habits;
    bool ok;
    struct err err;
};

static void count_work(void *arg)
{
    struct count *c = arg;
    AUTO_DB struct db *db = NULL;
    c->ok = db_open(&db, c->path, DB_READ_ONLY, &c->err) && count_all(c->stats, db, &c->err) &&
            count_waits(c->stats, db, &c->err) && count_rest(c->stats, db, &c->err) &&
            find_habits(&c->habits, db, &c->err);
}

static void count_done(void *arg)
{
    struct count *c = arg;
    if (c->ok && propose(c->stats, c->request->server, c->habits, &c->err))
        request_answer(c->request, json_incref(c->stats));
    else
        request_fail(c->request, &c->err);
    json_decref(c->stats);
    json_decref(c->habits);
    free(c);
}

void op_gate_stats(struct request *r)
{
    struct count *c = xcalloc(1, sizeof(*c));
    *c = (struct count){.request = r, .path = r->server->paths.db, .stats = json_object()};
    request_work(r, count_work, count_done, c);
}
