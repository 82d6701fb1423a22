/*
 * ops_attempt: what is asked of attempts.
 */
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/agents/checked.h"
#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/server/clash.h"
#include "runner/server/events.h"
#include "runner/server/executor.h"
#include "runner/server/gather.h"
#include "runner/server/link.h"
#include "runner/server/ops.h"
#include "runner/server/say.h"
#include "runner/server/settings.h"
#include "runner/server/view.h"
#include "runner/store/store.h"

/* Beyond the second number attempt.show leaves the details away, or no reader could take the
 * answer. */
enum { LISTED_ATTEMPTS = 2000, DETAILED_ATTEMPTS = 100 };

static void answer_attempts(struct request *r, const struct strv *ids, enum view_form form)
{
    struct err err = ERR_INIT;
    json_t *attempts;
    if (view_attempts(&attempts, r->server, ids, form, &err))
        request_answer(r, json_pack("{s:o}", "attempts", attempts));
    else
        request_fail(r, &err);
}

void op_attempt_list(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    if (attempt_row_ids(&ids, r->server->db, ATTEMPTS_ALL, jx_int(r->body, "run", 0),
                        LISTED_ATTEMPTS, &err))
        answer_attempts(r, &ids, VIEW_SHORT);
    else
        request_fail(r, &err);
}

void op_attempt_show(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    if (view_resolve(&ids, r->server, r->body, ATTEMPTS_ALL, &err))
        answer_attempts(r, &ids, ids.n <= DETAILED_ATTEMPTS ? VIEW_WHOLE : VIEW_SHORT);
    else
        request_fail(r, &err);
}

static bool log_act(struct request *r, const char *kind, const struct strv *ids, struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    jx_set(body, "attempts", jx_from_strv(ids));
    jx_set_str(body, "by", r->by);
    return ledger_log(r->server->db, kind, body, clock_unix_ms(), err);
}

void op_attempt_stop(struct request *r)
{
    struct server *s = r->server;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_STRV struct strv waiting = STRV_INIT;
    bool ok = view_resolve(&ids, s, r->body, ATTEMPTS_OPEN, &err) &&
              log_act(r, "attempt.stop", &ids, &err) &&
              executor_post_all(s, &ids, ATTEMPT_EV_STOP, &err);
    for (size_t i = 0; ok && i < ids.n; i++) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        ok = attempt_row_get(&row, s->db, ids.v[i], &err);
        if (ok && row.state != ATTEMPT_DONE)
            strv_push(&waiting, ids.v[i]);
    }
    if (ok)
        gather_open(r, GATHER_ENDED, &ids, &waiting);
    else
        request_fail(r, &err);
}

static void read_env(struct strv *out, const json_t *body)
{
    const char *name;
    json_t *value;
    json_object_foreach(jx_obj(body, "env"), name, value)
    {
        if (json_is_string(value) && name[0] && !strchr(name, '='))
            strv_env_set(out, name, json_string_value(value));
    }
}

static bool needs(const struct agent *agent, const char *name)
{
    for (size_t i = 0; agent && agent->needs_env && agent->needs_env[i]; i++)
        if (strcmp(agent->needs_env[i], name) == 0)
            return true;
    return false;
}

/* The values of today, since tokens may have been renewed, and what the run named stays. Those who
 * resume do not know which agent it is, and bring the credentials of all. */
static void renew_env(struct attempt_spec *spec, const struct strv *today)
{
    const struct agent *own = agent_find(spec->agent);
    for (size_t i = 0; i < today->n; i++) {
        AUTO_FREE char *name = xstrndup(today->v[i], strcspn(today->v[i], "="));
        bool is_foreign = false;
        for (size_t k = 0; agents[k]; k++)
            is_foreign = is_foreign || needs(agents[k], name);
        if (!is_foreign || needs(own, name) || strv_env_get(&spec->env, name))
            strv_env_set(&spec->env, name, today->v[i] + strlen(name) + 1);
    }
}

/* It may be another program by now than the one that it began with. */
static bool check_canary(struct server *s, const struct attempt_spec *spec, struct err *err)
{
    const struct agent *agent = agent_find(spec->agent);
    AUTO_FREE char *program = agent ? agent_program_path(agent, &spec->env) : NULL;
    return !program || spec->has_no_canary ||
           agent_must_be_checked(s->paths.state, agent, program, s->config, err);
}

static bool save_resumed_spec(struct server *s, const char *id, const json_t *body,
                              const char *text, struct err *err)
{
    AUTO_FREE char *message = NULL;
    AUTO_STRV struct strv today = STRV_INIT;
    struct attempt_spec spec;
    if (!say_collect(&message, s, id, text, err) || !attempt_row_spec(&spec, s->db, id, err))
        return false;
    spec.resume = true;
    attempt_row_set(&spec.message, message);
    spec.interactive = jx_bool(body, "interactive", spec.interactive);
    spec.cols = (int)jx_int(body, "cols", spec.cols);
    spec.rows = (int)jx_int(body, "rows", spec.rows);
    read_env(&today, body);
    renew_env(&spec, &today);
    const struct agent *agent;
    struct agent own;
    json_t *keys = NULL;
    bool ok = check_canary(s, &spec, err) &&
              (!agent_named(&agent, &own, spec.agent, s->config) ||
               model_ways_take(&spec.models, &keys, &spec.env, &spec.services, agent, NULL,
                               s->config, err));
    keyring_put(&s->keyring, spec.run, keys);
    keyring_put(&s->secrets, spec.run, json_deep_copy(jx_obj(body, "secrets")));
    ok = ok && attempt_row_save_spec(s->db, &spec, &spec.env, err);
    attempt_spec_release(&spec);
    return ok;
}

bool attempt_resume(struct request *r, const char *id, const char *message, struct err *err)
{
    struct server *s = r->server;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    const struct live *live = live_find(s, id);
    if (!attempt_row_get(&row, s->db, id, err))
        return false;
    if (row.state != ATTEMPT_DONE)
        return err_set(err, ERR_CONFLICT, "attempt %s is %s; 'headgate attach %s' shows it", id,
                       attempt_state_name(row.state), id);
    if (live && (live->job || live->wanted))
        return err_set(err, ERR_CONFLICT, "something else is being done with attempt %s; try again",
                       id);
    return save_resumed_spec(s, id, r->body, message, err) && say_taken(s, id, err) &&
           executor_post(NULL, s, id, ATTEMPT_EV_RESUME, NULL, NULL, err);
}

void op_attempt_resume(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    bool ok = settings_refresh(r->server, &err) &&
              view_resolve(&ids, r->server, r->body, ATTEMPTS_DONE, &err) &&
              log_act(r, "attempt.resume", &ids, &err);
    for (size_t i = 0; ok && i < ids.n; i++)
        ok = attempt_resume(r, ids.v[i], NULL, &err);
    if (ok)
        answer_attempts(r, &ids, VIEW_SHORT);
    else
        request_fail(r, &err);
}

bool request_attempt(struct strv *ret, struct request *r, struct err *err)
{
    const char *word = jx_str(r->body, "attempt", "");
    if (!attempt_row_resolve(ret, r->server->db, word, err))
        return false;
    return ret->n == 1 ||
           err_set(err, ERR_USAGE, "'%s' means %zu attempts; name one", word, ret->n);
}

/* Only what has a worktree can be harvested; an attempt that has ended is harvested with what it
 * left uncommitted. */
static bool want_harvest(struct strv *waiting, struct server *s, const char *id, struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!attempt_row_get(&row, s->db, id, err))
        return false;
    bool is_over = row.state == ATTEMPT_DONE || row.state == ATTEMPT_HARVESTING;
    if (!row.tree || (!is_over && row.state != ATTEMPT_RUNNING && row.state != ATTEMPT_STOPPING))
        return true;
    strv_push(waiting, id);
    return true;
}

void op_attempt_harvest(struct request *r)
{
    struct server *s = r->server;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    AUTO_STRV struct strv waiting = STRV_INIT;
    bool ok = view_resolve(&ids, s, r->body, ATTEMPTS_OPEN, &err);
    for (size_t i = 0; ok && i < ids.n; i++)
        ok = want_harvest(&waiting, s, ids.v[i], &err);
    if (!ok) {
        request_fail(r, &err);
        return;
    }
    gather_open(r, GATHER_HARVESTED, &ids, &waiting);
    for (size_t i = 0; i < waiting.n; i++) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        struct err lost = ERR_INIT;
        if (!attempt_row_get(&row, s->db, waiting.v[i], &lost)) {
            gather_met(s, GATHER_HARVESTED, waiting.v[i]);
            continue;
        }
        bool is_over = row.state == ATTEMPT_DONE || row.state == ATTEMPT_HARVESTING;
        executor_want(live_get(s, row.id, row.run), is_over ? JOB_HARVEST_END : JOB_HARVEST);
    }
}

static void fill_merged(struct attempt_row *row, void *arg)
{
    const json_t *body = arg;
    attempt_row_set(&row->merged_into, jx_str(body, "into", NULL));
    attempt_row_set(&row->merged_commit, jx_str(body, "commit", NULL));
}

/* Where a person's branch moved to. */
static bool tell_merged(struct request *r, const char *id, struct err *err)
{
    AUTO_JSON json_t *body = json_object();
    AUTO_FREE char *ref = xasprintf("refs/heads/%s", jx_str(r->body, "into", ""));
    jx_set_str(body, "attempt", id);
    jx_set_str(body, "ref", ref);
    jx_set_str(body, "to", jx_str(r->body, "commit", ""));
    jx_set_str(body, "by", r->by);
    return ledger_tell(r->server->db, id, "refs", body, clock_unix_ms(), err);
}

void op_attempt_merged(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    if (request_attempt(&ids, r, &err) &&
        executor_update(r->server, ids.v[0], fill_merged, r->body, &err) &&
        log_act(r, "attempt.merged", &ids, &err) && tell_merged(r, ids.v[0], &err)) {
        clash_touch(r->server, ids.v[0]);
        request_answer(r, NULL);
        return;
    }
    request_fail(r, &err);
}
