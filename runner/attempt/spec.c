#include "runner/attempt/attempt.h"

#include <stdlib.h>

#include "runner/base/mem.h"

void attempt_spec_release(struct attempt_spec *s)
{
    free(s->id);
    free(s->repo);
    free(s->subdir);
    free(s->branch);
    free(s->base);
    free(s->base_ref);
    free(s->into);
    free(s->engine);
    free(s->agent);
    free(s->prompt);
    free(s->message);
    free(s->require);
    free(s->setup);
    free(s->teardown);
    strv_release(&s->command);
    strv_release(&s->env);
    strv_release(&s->services);
    strv_release(&s->net);
    strv_release(&s->ro);
    strv_release(&s->rw);
    strv_release(&s->mask);
    strv_release(&s->secrets);
    model_ways_release(&s->models);
    *s = (struct attempt_spec)ATTEMPT_SPEC_INIT;
}

void attempt_place_release(struct attempt_place *p)
{
    free(p->tree);
    free(p->engine);
    free(p->engine_why);
    *p = (struct attempt_place){0};
}

json_t *attempt_spec_json(const struct attempt_spec *s)
{
    json_t *j = json_object();
    jx_set_str(j, "id", s->id);
    jx_set_int(j, "run", s->run);
    jx_set_int(j, "n", s->n);
    jx_set_str(j, "repo", s->repo);
    jx_set_str(j, "subdir", s->subdir);
    jx_set_str(j, "branch", s->branch);
    jx_set_str(j, "base", s->base);
    jx_set_str(j, "base_ref", s->base_ref);
    jx_set_str(j, "into", s->into);
    jx_set_bool(j, "base_held", s->is_base_held);
    jx_set_bool(j, "base_wip", s->is_base_wip);
    jx_set_str(j, "engine", s->engine);
    jx_set_str(j, "agent", s->agent);
    jx_set_str(j, "prompt", s->prompt);
    jx_set_str(j, "message", s->message);
    jx_set(j, "command", jx_from_strv(&s->command));
    jx_set(j, "env", jx_from_strv(&s->env));
    jx_set_bool(j, "interactive", s->interactive);
    jx_set_bool(j, "resume", s->resume);
    jx_set_int(j, "cols", s->cols);
    jx_set_int(j, "rows", s->rows);
    jx_set_str(j, "ladder", ladder_name(s->ladder));
    jx_set_str(j, "exec", exec_policy_name(s->exec));
    jx_set_bool(j, "exec_required", s->exec_required);
    jx_set_bool(j, "no_canary", s->has_no_canary);
    jx_set_int(j, "memory", s->memory_bytes);
    jx_set_int(j, "pids", s->pids);
    jx_set_int(j, "time_ms", s->time_ms);
    jx_set_int(j, "output", s->output_bytes);
    jx_set_int(j, "ask_ms", s->ask_ms);
    jx_set_bool(j, "ask_waits", s->ask_waits);
    jx_set(j, "services", jx_from_strv(&s->services));
    jx_set(j, "net", jx_from_strv(&s->net));
    jx_set(j, "ro", jx_from_strv(&s->ro));
    jx_set(j, "rw", jx_from_strv(&s->rw));
    jx_set(j, "mask", jx_from_strv(&s->mask));
    jx_set_str(j, "require", s->require);
    jx_set_str(j, "setup", s->setup);
    jx_set_str(j, "teardown", s->teardown);
    jx_set(j, "secrets", jx_from_strv(&s->secrets));
    jx_set(j, "models", model_ways_json(&s->models));
    return j;
}

static char *dup_member(const json_t *j, const char *key, const char *fallback)
{
    const char *value = jx_str(j, key, fallback);
    return value ? xstrdup(value) : NULL;
}

static void read_texts(struct attempt_spec *s, const json_t *j)
{
    s->id = dup_member(j, "id", "");
    s->repo = dup_member(j, "repo", "");
    s->subdir = dup_member(j, "subdir", "");
    s->branch = dup_member(j, "branch", "");
    s->base = dup_member(j, "base", "");
    s->base_ref = dup_member(j, "base_ref", "");
    s->into = dup_member(j, "into", NULL);
    s->engine = dup_member(j, "engine", NULL);
    s->agent = dup_member(j, "agent", "");
    s->prompt = dup_member(j, "prompt", "");
    s->message = dup_member(j, "message", NULL);
    s->require = dup_member(j, "require", NULL);
    s->setup = dup_member(j, "setup", NULL);
    s->teardown = dup_member(j, "teardown", NULL);
}

static void read_lists(struct attempt_spec *s, const json_t *j)
{
    jx_strv(&s->command, j, "command");
    jx_strv(&s->env, j, "env");
    jx_strv(&s->services, j, "services");
    jx_strv(&s->net, j, "net");
    jx_strv(&s->ro, j, "ro");
    jx_strv(&s->rw, j, "rw");
    jx_strv(&s->mask, j, "mask");
    jx_strv(&s->secrets, j, "secrets");
}

bool attempt_spec_parse(struct attempt_spec *ret, const json_t *j, struct err *err)
{
    struct attempt_spec s = ATTEMPT_SPEC_INIT;
    if (!ladder_parse(&s.ladder, jx_str(j, "ladder", ""), err) ||
        !exec_policy_parse(&s.exec, jx_str(j, "exec", exec_policy_name(EXEC_OFF)), err))
        return false;
    read_texts(&s, j);
    read_lists(&s, j);
    model_ways_parse(&s.models, jx_arr(j, "models"));
    s.run = jx_int(j, "run", 0);
    s.n = jx_int(j, "n", 0);
    s.exec_required = jx_bool(j, "exec_required", false);
    s.has_no_canary = jx_bool(j, "no_canary", false);
    s.is_base_held = jx_bool(j, "base_held", false);
    s.is_base_wip = jx_bool(j, "base_wip", false);
    s.interactive = jx_bool(j, "interactive", false);
    s.resume = jx_bool(j, "resume", false);
    s.cols = (int)jx_int(j, "cols", 80);
    s.rows = (int)jx_int(j, "rows", 24);
    s.memory_bytes = jx_int(j, "memory", 0);
    s.pids = jx_int(j, "pids", 0);
    s.time_ms = jx_int(j, "time_ms", 0);
    s.output_bytes = jx_int(j, "output", 0);
    s.ask_ms = jx_int(j, "ask_ms", 0);
    s.ask_waits = jx_bool(j, "ask_waits", false);
    if (!s.id[0] || !s.repo[0] || !s.branch[0] || !s.base[0] || !s.agent[0]) {
        attempt_spec_release(&s);
        return err_set(err, ERR_INTERNAL,
                       "a stored attempt lacks id, repository, branch, base or agent");
    }
    *ret = s;
    return true;
}
