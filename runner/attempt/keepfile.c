#include "runner/attempt/keepfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/agents/agent.h"
#include "runner/attempt/exec_forms.h"
#include "runner/attempt/way_out.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"

/* A held program or connection is given up by its caller after a minute or two. */
enum {
    DEFAULT_GRACE_MS = 5000,
    DEFAULT_EXEC_DEADLINE_MS = 60 * 1000,
    DEFAULT_HELLO_MS = 60 * 1000,
    DEFAULT_NET_DEADLINE_MS = 60 * 1000
};
/* Hooks of agents are told to wait a day; a person has an hour less. */
const int64_t attempt_ask_max_ms = (int64_t)23 * 3600 * 1000;

static json_t *services_json(const struct strv *services)
{
    json_t *list = json_array();
    for (size_t i = 0; i < services->n; i++) {
        int port = atoi(services->v[i]);
        json_array_append_new(list, json_pack("{s:i, s:i}", "port", port, "target", port));
    }
    return list;
}

static json_t *proxy_json(const struct boxes *b)
{
    json_t *proxy = json_object();
    jx_set_int(proxy, "port", way_out_port(&b->spec->services));
    jx_set(proxy, "net", jx_from_strv(&b->spec->net));
    jx_set_int(proxy, "deadline_ms",
               config_int(b->config, "gate.netdeadline", DEFAULT_NET_DEADLINE_MS));
    return proxy;
}

static json_t *limits_json(const struct boxes *b, const struct box_spec *box)
{
    const struct attempt_spec *s = b->spec;
    json_t *limits = json_object();
    jx_set_int(limits, "memory", box->limits.memory_bytes);
    jx_set_int(limits, "pids", box->limits.pids);
    jx_set_int(limits, "time_ms", s->time_ms);
    jx_set_int(limits, "output",
               s->output_bytes ? s->output_bytes
                               : config_int(b->config, "run.output", LIMIT_LOG_BYTES));
    return limits;
}

static json_t *exec_json(const struct boxes *b)
{
    json_t *exec = json_object();
    jx_set_str(exec, "policy", exec_policy_name(b->spec->exec));
    jx_set_bool(exec, "required", b->spec->exec_required);
    jx_set_bool(exec, "debugger", config_bool(b->config, "gate.debugger", false));
    jx_set_int(exec, "deadline_ms",
               config_int(b->config, "gate.execdeadline", DEFAULT_EXEC_DEADLINE_MS));
    jx_set(exec, "calls", exec_forms_calls(b));
    jx_set(exec, "helpers", exec_forms_helpers(b));
    jx_set(exec, "selves", exec_forms_selves(b));
    return exec;
}

/* How the agent is spoken to while it runs, its task included where it hears that first. */
static json_t *input_json(const struct agent *agent, const struct attempt_spec *s)
{
    const char *task = boxes_task(s);
    json_t *input = json_object();
    jx_set_str(input, "form", agent->hears);
    if (strcmp(agent->hears, "claude") == 0)
        jx_set(input, "task", jx_bytes(task, strlen(task)));
    return input;
}

bool keepfile_write(const struct boxes *b, const struct box_spec *box, const struct policy *policy,
                    struct err *err)
{
    const struct attempt_spec *s = b->spec;
    const struct agent *agent = agent_kind(s->agent);
    AUTO_FREE char *socket = paths_keeper_socket(b->paths, s->id);
    AUTO_FREE char *gate = paths_gate_socket(b->paths, s->id);
    AUTO_JSON json_t *j = json_object();
    jx_set_int(j, "v", 1);
    jx_set_str(j, "attempt", s->id);
    jx_set_int(j, "run", s->run);
    jx_set_str(j, "agent", s->agent);
    jx_set_str(j, "socket", socket);
    jx_set_str(j, "gate_socket", gate);
    jx_set_str(j, "plan", "plan");
    jx_set_bool(j, "interactive", s->interactive);
    AUTO_FREE char *guard = xasprintf(WAY_OUT_HOOK " --agent %s", s->agent);
    jx_set_str(j, "guard", agent->has_hook ? guard : NULL);
    jx_set_bool(j, "guard_strict", agent->needs_guard && s->interactive);
    jx_set_bool(j, "unasked", s->interactive && !s->prompt[0]);
    jx_set_bool(j, "no_canary", s->has_no_canary);
    jx_set_bool(j, "setup", box->setup.n > 0);
    jx_set_int(j, "cols", box->cols);
    jx_set_int(j, "rows", box->rows);
    jx_set_str(j, "worktree", b->tree->tree);
    jx_set_str(j, "home", boxes_home(b));
    jx_set_str(j, "path", strv_env_get(&box->env, "PATH"));
    jx_set_str(j, "output", agent->output);
    if (agent->hears && !s->interactive)
        jx_set(j, "input", input_json(agent, s));
    jx_set(j, "limits", limits_json(b, box));
    jx_set_int(j, "grace_ms", config_int(b->config, "run.grace", DEFAULT_GRACE_MS));
    jx_set_int(j, "deadline_ms",
               s->ask_ms ? s->ask_ms : config_int(b->config, "gate.deadline", attempt_ask_max_ms));
    jx_set_int(j, "hello_ms",
               agent->greets ? config_int(b->config, "gate.hellodeadline", DEFAULT_HELLO_MS) : 0);
    jx_set_int(j, "patience_ms", s->ask_waits ? attempt_ask_max_ms : 0);
    jx_set_bool(j, "freeze", config_bool(b->config, "gate.freeze", false));
    jx_set(j, "exec", exec_json(b));
    jx_set(j, "services", services_json(&s->services));
    jx_set(j, "proxy", proxy_json(b));
    jx_set(j, "models", model_ways_json(&s->models));
    /* The message only borrows them; jansson counts references on const values too. */
    jx_set(j, "broker", json_pack("{s:O}", "remotes", (json_t *)(uintptr_t)b->remotes));
    jx_set(j, "policy", policy_to_json(policy));

    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(b->tree->dir, "keep.json");
    jx_dump(&text, j);
    return fs_write_atomic(AT_FDCWD, path, text.ptr, text.len, 0600, err);
}
