/*
 * ops_explain: why calls were decided as they were, and which rules would decide such calls.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gate/explain.h"
#include "gate/ledger.h"
#include "runner/server/epoch.h"
#include "runner/server/ops.h"
#include "runner/server/view.h"
#include "runner/store/run_row.h"

enum { PREVIEW_CALLS = 100 };

/* The folders of a call's attempt, as its box sees them. Strings are the run's and the call's. */
static bool place_of(struct policy_place *ret, struct run_row *run, struct db *db,
                     const struct ledger_call *call, struct err *err)
{
    if (!run_row_get(run, db, strtoll(call->attempt, NULL, 10), err))
        return false;
    const char *home = strv_env_get(&run->env, "HOME");
    const char *tree = call->request.worktree;
    *ret = (struct policy_place){.worktree = tree && tree[0] ? tree : "/worktree",
                                 .home = home && home[0] == '/' ? home : "/home"};
    return true;
}

static json_t *judgement_json(const struct judgement *j)
{
    static const char *const words[] = {
        [VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask", [VERDICT_DENY] = "deny"};
    json_t *out = json_object();
    jx_set_str(out, "verdict", words[j->verdict]);
    jx_set_str(out, "why", j->why);
    jx_set_int(out, "rule", j->rule);
    jx_set_str(out, "reason", j->reason);
    return out;
}

/* The rules in force that are not among those of the policy. */
static bool list_elsewhere(json_t **ret, struct db *db, const struct policy *policy,
                           struct err *err)
{
    json_t *rules;
    if (!ledger_rule_list(&rules, db, err))
        return false;
    for (size_t i = json_array_size(rules); i-- > 0;) {
        int64_t id = jx_int(json_array_get(rules, i), "id", 0);
        for (size_t k = 0; k < policy->n_rules; k++)
            if (policy->rules[k].id == id) {
                json_array_remove(rules, i);
                break;
            }
    }
    *ret = rules;
    return true;
}

static bool explain(json_t **ret, struct server *s, const struct ledger_call *call, struct err *err)
{
    __attribute__((cleanup(policy_release))) struct policy policy = POLICY_INIT;
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    struct policy_place place;
    struct judgement j;
    json_t *elsewhere;
    if (!place_of(&place, &run, s->db, call, err) ||
        !epoch_policy(&policy, s, call->attempt, err) ||
        !list_elsewhere(&elsewhere, s->db, &policy, err))
        return false;
    policy_judge(&j, &policy, &call->request, &place);
    json_t *now = judgement_json(&j);
    jx_set(now, "rules", explain_rules(&policy, &call->request, &place));
    *ret = json_pack("{s:o, s:o, s:o}", "call", ledger_call_json(call), "now", now, "elsewhere",
                     elsewhere);
    return true;
}

static bool get_call(struct ledger_call *ret, struct request *r, struct err *err)
{
    int64_t id;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    if (!request_call_id(&id, jx_str(r->body, "call", ""), err) ||
        !ledger_get(&call, r->server->db, id, err))
        return false;
    if (call.dropped_ms > 0)
        return err_set(err, ERR_REFUSED,
                       "the arguments of c%lld were dropped by 'headgate clean', so nothing can be "
                       "said of it",
                       (long long)id);
    *ret = call;
    call = (struct ledger_call)LEDGER_CALL_INIT;
    return true;
}

void op_call_explain(struct request *r)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    struct err err = ERR_INIT;
    json_t *result;
    if (get_call(&call, r, &err) && explain(&result, r->server, &call, &err))
        request_answer(r, result);
    else
        request_fail(r, &err);
}

/* ---- proposals ---- */

struct recent {
    struct ledger_call *v;
    size_t n;
};

static void recent_release(struct recent *r)
{
    for (size_t i = 0; i < r->n; i++)
        ledger_call_release(&r->v[i]);
    free(r->v);
}

/* A policy of a proposal's rules alone, where nothing else lets a call pass. */
static void policy_of(struct policy *ret, const json_t *texts)
{
    size_t i;
    const json_t *text;
    *ret = (struct policy){.ladder = LADDER_CONFIRM};
    ret->rules = xcalloc(json_array_size(texts) + 1, sizeof(*ret->rules));
    json_array_foreach(texts, i, text)
    {
        struct err ignored = ERR_INIT;
        struct rule *rule = &ret->rules[ret->n_rules];
        if (rule_parse(rule, json_string_value(text), &ignored))
            rule->id = (int64_t)++ret->n_rules;
    }
}

static json_t *preview(const json_t *texts, struct db *db, const struct recent *recent)
{
    __attribute__((cleanup(policy_release))) struct policy policy;
    json_t *calls = json_array();
    int64_t denied = 0;
    policy_of(&policy, texts);
    for (size_t i = 0; i < recent->n; i++) {
        const struct ledger_call *call = &recent->v[i];
        AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
        struct policy_place place;
        struct judgement j;
        struct err ignored = ERR_INIT;
        if (!place_of(&place, &run, db, call, &ignored))
            continue;
        policy_judge(&j, &policy, &call->request, &place);
        if (j.verdict != VERDICT_ALLOW || j.rule == 0)
            continue;
        denied += call->state == CALL_DENIED;
        json_array_append_new(calls, ledger_call_json(call));
    }
    json_t *out = json_object();
    jx_set(out, "rules", json_incref((json_t *)(uintptr_t)texts));
    jx_set(out, "calls", view_cut_calls(calls));
    jx_set_int(out, "denied", denied);
    return out;
}

static bool propose(json_t **ret, struct server *s, const struct ledger_call *call, struct err *err)
{
    __attribute__((cleanup(recent_release))) struct recent recent = {NULL, 0};
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    struct policy_place place;
    const char *why;
    size_t i;
    const json_t *texts;
    if (!place_of(&place, &run, s->db, call, err) ||
        !ledger_recent(&recent.v, &recent.n, s->db, PREVIEW_CALLS, err))
        return false;
    AUTO_JSON json_t *sets = explain_proposals(&why, &call->request, &place, call->attempt);
    json_t *result = json_object(), *proposals = json_array();
    json_array_foreach(sets, i, texts)
    {
        json_array_append_new(proposals, preview(texts, s->db, &recent));
    }
    AUTO_FREE char *name = xasprintf("c%lld", (long long)call->id);
    jx_set_str(result, "call", name);
    jx_set(result, "proposals", proposals);
    jx_set_int(result, "of", (int64_t)recent.n);
    jx_set_int(result, "run", run.id);
    jx_set_str(result, "repo", run.repo);
    jx_set_str(result, "why", why);
    *ret = result;
    return true;
}

void op_rule_propose(struct request *r)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    struct err err = ERR_INIT;
    json_t *result;
    if (get_call(&call, r, &err) && propose(&result, r->server, &call, &err))
        request_answer(r, result);
    else
        request_fail(r, &err);
}

/* The narrowest proposal that outlives the run, or NULL. */
static json_t *for_the_repository(const json_t *sets)
{
    size_t i;
    json_t *set;
    json_array_foreach(sets, i, set)
    {
        AUTO_RULE struct rule rule = RULE_INIT;
        struct err ignored = ERR_INIT;
        const char *text = json_string_value(json_array_get(set, 0));
        if (text && rule_parse(&rule, text, &ignored) && rule.scope == RULE_REPO)
            return set;
    }
    return NULL;
}

bool explain_habit(json_t **ret, struct server *s, int64_t id, struct err *err)
{
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    struct policy_place place;
    const char *why;
    if (!ledger_get(&call, s->db, id, err))
        return false;
    *ret = NULL;
    struct err gone = ERR_INIT;
    if (!place_of(&place, &run, s->db, &call, &gone))
        return true;
    AUTO_JSON json_t *sets = explain_proposals(&why, &call.request, &place, call.attempt);
    *ret = json_incref(for_the_repository(sets));
    return true;
}

static bool is_covered(bool *ret, struct server *s, int64_t id, bool by_rule, struct err *err)
{
    __attribute__((cleanup(policy_release))) struct policy policy = POLICY_INIT;
    AUTO_LEDGER_CALL struct ledger_call call = LEDGER_CALL_INIT;
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    struct policy_place place;
    struct judgement j;
    if (!ledger_get(&call, s->db, id, err) || !place_of(&place, &run, s->db, &call, err) ||
        !epoch_policy(&policy, s, call.attempt, err))
        return false;
    policy_judge(&j, &policy, &call.request, &place);
    *ret = strcmp(call.request.source, "hook") == 0 && j.verdict == VERDICT_ALLOW &&
           (!by_rule || j.rule > 0);
    return true;
}

bool explain_covered(json_t **ret, struct server *s, bool by_rule, struct err *err)
{
    AUTO_JSON json_t *waiting = NULL;
    AUTO_JSON json_t *covered = json_array();
    size_t i;
    const json_t *call;
    if (!ledger_list(&waiting, s->db, 1U << CALL_PENDING, NULL, PREVIEW_CALLS, err))
        return false;
    json_array_foreach(waiting, i, call)
    {
        const char *name = jx_str(call, "id", "c0");
        bool is_one;
        if (!is_covered(&is_one, s, strtoll(name + 1, NULL, 10), by_rule, err))
            return false;
        if (is_one)
            json_array_append_new(covered, json_string(name));
    }
    *ret = steal_json(&covered);
    return true;
}
