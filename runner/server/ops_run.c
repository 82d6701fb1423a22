/*
 * ops_run: runs, from the request to the queue.
 */
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/attempt/way_out.h"
#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/server/create.h"
#include "runner/server/events.h"
#include "runner/server/ops.h"
#include "runner/server/sched.h"
#include "runner/server/settings.h"
#include "runner/server/view.h"
#include "runner/store/rung.h"
#include "runner/store/store.h"

enum { LISTED_RUNS = 1000, SHOWN_ATTEMPTS = 2000 };

static void fail(struct create *c)
{
    request_fail(c->request, &c->err);
    create_free(c);
}

/* Whether the repository's .headgate counts: accepted before, or by this request. */
static bool has_consent(bool *ret, struct create *c, struct err *err)
{
    const char *given = jx_str(c->body, "consent", "");
    *ret = !c->consent_digest || strcmp(given, c->consent_digest) == 0;
    return *ret || store_has_consent(ret, c->request->server->db, c->repo.common_dir,
                                     c->consent_digest, err);
}

static bool require_consent(struct create *c, struct err *err)
{
    bool ok;
    if (!has_consent(&ok, c, err))
        return false;
    if (ok)
        return true;
    bool had_another;
    if (!store_has_consent(&had_another, c->request->server->db, c->repo.common_dir, NULL, err))
        return false;
    return err_set(err, ERR_REFUSED,
                   "the repository's .headgate %s for %s; read the file, then accept exactly this "
                   "content with --consent %s, or go without it with --consent none",
                   had_another ? "changed since it was accepted and asks" : "asks", c->consent_asks,
                   c->consent_digest);
}

static bool insert_run(struct create *c, int64_t n, int64_t at_ms, struct err *err)
{
    const struct run_row run = {
        .id = c->number,
        .path = c->repo.toplevel ? c->repo.toplevel : c->repo.common_dir,
        .repo = c->repo.common_dir,
        .base = c->base.oid,
        .base_ref = c->base.ref,
        .agent = (char *)(uintptr_t)c->agent->name,
        .ladder = c->ladder,
        .jobs = c->jobs,
        .n = n,
        .created_ms = at_ms,
        .env = c->env,
        .desktop = c->desktop,
    };
    return run_row_insert(c->request->server->db, &run, err);
}

static bool set_task_rung(struct create *c, const json_t *task, const char *id, struct err *err)
{
    enum ladder ladder = c->ladder;
    if (!create_task_rung(&ladder, c, task, err))
        return false;
    return ladder == c->ladder || rung_set(c->request->server->db, id, ladder, err);
}

static bool insert_attempts(struct create *c, int64_t at_ms, struct err *err)
{
    struct db *db = c->request->server->db;
    int64_t n = 0;
    size_t i;
    const json_t *task;
    json_array_foreach(jx_arr(c->body, "tasks"), i, task)
    {
        AUTO_FREE char *title = create_title(c, task);
        for (int64_t k = 0; k < c->n; k++) {
            struct attempt_spec spec;
            create_spec(&spec, c, task, ++n);
            bool ok = attempt_row_insert(db, &spec, title, at_ms, err) &&
                      set_task_rung(c, task, spec.id, err);
            attempt_spec_release(&spec);
            if (!ok)
                return false;
        }
    }
    return true;
}

static bool log_run(struct create *c, int64_t n, int64_t at_ms, struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    jx_set_int(body, "run", c->number);
    jx_set_str(body, "by", c->request->by);
    jx_set_str(body, "repo", c->repo.common_dir);
    jx_set_str(body, "base", c->base.oid);
    jx_set_str(body, "agent", c->agent->name);
    jx_set_str(body, "ladder", ladder_name(c->ladder));
    jx_set_int(body, "attempts", n);
    jx_set_str(body, "setup", c->consent_digest);
    return ledger_log(c->request->server->db, "run.create", body, at_ms, err);
}

/* What the repository's .headgate denies and asks holds for this run. */
static bool insert_rules(struct create *c, int64_t at_ms, struct err *err)
{
    const struct ledger_origin origin = {.by = ".headgate of the repository", .at_ms = at_ms};
    for (size_t i = 0; i < c->rules.n; i++) {
        AUTO_RULE struct rule rule = RULE_INIT;
        int64_t id;
        if (!rule_parse(&rule, c->rules.v[i], err))
            return false;
        rule.scope = RULE_RUN;
        rule.scope_value = xasprintf("%lld", (long long)c->number);
        if (!ledger_rule_add(&id, c->request->server->db, &rule, &origin, err))
            return false;
    }
    return true;
}

/* The run, its attempts, its rules, the consent and the log row: all or nothing. */
static bool store_run(struct create *c, struct err *err)
{
    AUTO_ROLLBACK struct db *db = c->request->server->db;
    int64_t at_ms = clock_unix_ms();
    int64_t n = (int64_t)json_array_size(jx_arr(c->body, "tasks")) * c->n;
    return db_begin(db, err) && insert_run(c, n, at_ms, err) && insert_attempts(c, at_ms, err) &&
           insert_rules(c, at_ms, err) &&
           (!c->consent_digest || store_add_consent(db, c->repo.common_dir, c->consent_digest,
                                                    c->request->by, at_ms, err)) &&
           log_run(c, n, at_ms, err) && db_commit(db, err);
}

static char *network_text(const struct create *c)
{
    AUTO_STRV struct strv services = STRV_INIT;
    create_add_services(&services, c);
    return way_out_text(&c->net, &services);
}

static json_t *base_json(const struct wt_commit *base)
{
    json_t *j = json_object();
    jx_set_str(j, "oid", base->oid);
    jx_set_str(j, "ref", base->ref);
    jx_set_str(j, "subject", base->subject);
    return j;
}

static bool describe(json_t **ret, struct create *c, struct err *err)
{
    struct server *s = c->request->server;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_FREE char *network = network_text(c);
    AUTO_BUF struct buf asks = BUF_INIT;
    json_t *attempts;
    if (!attempt_row_ids(&ids, s->db, ATTEMPTS_ALL, c->number, SHOWN_ATTEMPTS, err) ||
        !view_attempts(&attempts, s, &ids, VIEW_SHORT, err))
        return false;
    json_t *result = json_object();
    create_add_ask(&asks, c);
    jx_set_int(result, "run", c->number);
    jx_set(result, "attempts", attempts);
    jx_set_str(result, "rung", ladder_name(c->ladder));
    jx_set_str(result, "rung_why", c->rung_why.ptr);
    jx_set(result, "base", base_json(&c->base));
    jx_set_str(result, "exec", exec_policy_name(c->exec));
    jx_set_str(result, "asks", asks.ptr);
    jx_set_str(result, "network", network);
    jx_set(result, "layers", view_layers(&c->layers));
    jx_set_int(result, "n", (int64_t)json_array_size(jx_arr(c->body, "tasks")) * c->n);
    jx_set_int(result, "jobs", c->jobs);
    jx_set(result, "notes", jx_from_strv(&c->notes));
    *ret = result;
    return true;
}

static void tell(struct server *s, int64_t run)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    struct err err = ERR_INIT;
    events_run(s, run);
    if (!events_has_audience(s, run))
        return;
    if (!attempt_row_ids(&ids, s->db, ATTEMPTS_ALL, run, SHOWN_ATTEMPTS, &err))
        server_log("cannot tell of run %lld: %s", (long long)run, err.text);
    for (size_t i = 0; i < ids.n; i++)
        events_attempt(s, ids.v[i]);
}

static void on_numbered(void *arg);

static void number(struct create *c)
{
    c->wish = ++c->request->server->last_run;
    request_work(c->request, create_number, on_numbered, c);
}

static void on_held(void *arg)
{
    struct create *c = arg;
    struct server *s = c->request->server;
    json_t *result;
    if (!c->ok || !store_run(c, &c->err)) {
        fail(c);
        return;
    }
    keyring_put(&s->keyring, c->number, steal_json(&c->keys));
    keyring_put(&s->secrets, c->number, json_deep_copy(jx_obj(c->body, "secrets")));
    keyring_put(&s->logins, c->number, steal_json(&c->logins));
    sched_kick(s);
    tell(s, c->number);
    if (!describe(&result, c, &c->err)) {
        fail(c);
        return;
    }
    request_answer(c->request, result);
    create_free(c);
}

/* A number that skipped some may have been given out meanwhile; then the next is tried. */
static void on_numbered(void *arg)
{
    struct create *c = arg;
    struct server *s = c->request->server;
    if (!c->ok) {
        fail(c);
        return;
    }
    if (c->number > c->wish && c->number <= s->last_run) {
        number(c);
        return;
    }
    if (c->number > s->last_run)
        s->last_run = c->number;
    if (jx_bool(c->body, "hold", false))
        request_work(c->request, create_hold, on_held, c);
    else
        on_held(c);
}

static void on_examined(void *arg)
{
    struct create *c = arg;
    struct server *s = c->request->server;
    if (c->has_layers && !s->has_layers) {
        s->layers = c->layers;
        s->has_layers = true;
    }
    if (!c->ok || !require_consent(c, &c->err))
        fail(c);
    else
        number(c);
}

void op_run_create(struct request *r)
{
    struct err err = ERR_INIT;
    if (settings_refresh(r->server, &err))
        request_work(r, create_examine, on_examined, create_new(r));
    else
        request_fail(r, &err);
}

void op_run_list(struct request *r)
{
    struct err err = ERR_INIT;
    json_t *runs = json_array();
    if (run_row_list(runs, r->server->db, 0, LISTED_RUNS, &err)) {
        request_answer(r, json_pack("{s:o}", "runs", runs));
        return;
    }
    json_decref(runs);
    request_fail(r, &err);
}
