#include "runner/server/create.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "runner/agents/checked.h"
#include "runner/attempt/way_out.h"
#include "runner/base/clock.h"
#include "runner/base/limits.h"
#include "runner/base/text.h"
#include "runner/server/setup.h"
#include "worktree/start.h"

enum { JOBS_DEFAULT = 4, PORT_MAX = 65535 };

struct create *create_new(struct request *r)
{
    struct create *c = xcalloc(1, sizeof(*c));
    c->request = r;
    c->paths = &r->server->paths;
    c->config = r->server->config;
    c->body = r->body;
    c->layers = r->server->layers;
    c->has_layers = r->server->has_layers;
    buf_init(&c->rung_why);
    return c;
}

void create_free(struct create *c)
{
    strv_release(&c->env);
    strv_release(&c->desktop);
    strv_release(&c->secrets);
    model_ways_release(&c->models);
    json_decref(c->keys);
    json_decref(c->logins);
    strv_release(&c->net);
    strv_release(&c->notes);
    strv_release(&c->rules);
    wt_repo_release(&c->repo);
    wt_commit_release(&c->base);
    buf_release(&c->rung_why);
    free(c->require);
    free(c->setup);
    free(c->teardown);
    free(c->consent_digest);
    free(c->consent_asks);
    free(c);
}

/* ---- examine ---- */

/* {"NAME":"value"} */
static void read_env(struct strv *out, const json_t *body, const char *member)
{
    const char *name;
    json_t *value;
    json_object_foreach(jx_obj(body, member), name, value)
    {
        const char *text = json_string_value(value);
        if (text && name[0] && !strchr(name, '=') && strlen(text) == json_string_length(value))
            strv_env_set(out, name, text);
    }
}

static bool check_repository(struct create *c, struct err *err)
{
    const char *path = jx_str(c->body, "repo", "");
    const char *base = jx_str(c->body, "base", config_str(c->config, "run.base", NULL));
    if (path[0] != '/')
        return err_set(err, ERR_USAGE, "the repository must be named by an absolute path");
    if (!wt_repo_open(&c->repo, path, err) || !wt_resolve(&c->base, &c->repo, base, err))
        return false;
    if (jx_str(c->body, "base_name", NULL)) {
        free(c->base.ref);
        c->base.ref = xstrdup(jx_str(c->body, "base_name", ""));
    }
    jx_strv(&c->notes, c->body, "notes");
    return true;
}

static bool check_agent(struct create *c, struct err *err)
{
    const char *name = jx_str(c->body, "agent", NULL);
    bool has_command = json_array_size(jx_arr(c->body, "argv")) > 0;
    if (!name && !has_command)
        return agent_default(&c->agent, &c->own_agent, c->config, &c->env, err);
    if (!name)
        name = "command";
    if (!agent_named(&c->agent, &c->own_agent, name, c->config))
        return err_set(err, ERR_USAGE,
                       "there is no agent '%.64s'; 'headgate agent ls' lists the known ones", name);
    if (has_command && c->agent->program)
        return err_set(err, ERR_USAGE, "agent '%s' and a command exclude each other",
                       c->agent->name);
    if (!has_command && !c->agent->program)
        return err_set(err, ERR_USAGE, "a command is missing: headgate run -- COMMAND [ARG...]");
    AUTO_FREE char *program = agent_program_path(c->agent, &c->env);
    if (c->agent->program && !program)
        return err_set(err, ERR_NOT_FOUND, "%s is not installed: there is no '%s' in your PATH",
                       c->agent->title, c->agent->program);
    const char *lack = agent_lack(c->agent, &c->env);
    if (lack)
        strv_push(&c->notes, lack);
    c->has_no_canary = agent_is_checkable(c->agent) && !jx_bool(c->body, "canary", true);
    if (c->has_no_canary)
        strv_pushf(
            &c->notes,
            "no canary: nothing has shown that %s runs no denied call (--no-canary, run.canary)",
            c->agent->name);
    return !program || c->has_no_canary ||
           agent_must_be_checked(c->paths->state, c->agent, program, c->config, err);
}

static bool check_tasks(struct create *c, struct err *err)
{
    const json_t *tasks = jx_arr(c->body, "tasks");
    size_t i;
    const json_t *task;
    json_int_t n = json_is_null(json_object_get(c->body, "n")) ? 1 : jx_int(c->body, "n", 1);
    if (json_array_size(tasks) == 0)
        return err_set(err, ERR_USAGE, "there is no task");
    if (json_array_size(tasks) > LIMIT_TASKS)
        return err_set(err, ERR_LIMIT, "a run has at most %d tasks", LIMIT_TASKS);
    if (n < 1 || n > LIMIT_ATTEMPTS_PER_RUN ||
        (json_int_t)json_array_size(tasks) * n > LIMIT_ATTEMPTS_PER_RUN)
        return err_set(err, ERR_LIMIT,
                       "%zu tasks with %lld attempts each: a run has 1 to %d attempts",
                       json_array_size(tasks), (long long)n, LIMIT_ATTEMPTS_PER_RUN);
    json_array_foreach(tasks, i, task)
    {
        const json_t *text = json_object_get(task, "text");
        if (!json_is_string(text) || !jx_str(task, "text", NULL))
            return err_set(err, ERR_FORMAT, "task %zu has no text", i + 1);
        if (json_string_length(text) > LIMIT_PROMPT_BYTES)
            return err_set(err, ERR_LIMIT, "task %zu is longer than %d bytes", i + 1,
                           LIMIT_PROMPT_BYTES);
    }
    c->n = n;
    return true;
}

static bool check_choices(struct create *c, struct err *err)
{
    size_t i;
    const json_t *port;
    json_array_foreach(jx_arr(c->body, "services"), i, port)
    {
        if (!json_is_integer(port) || json_integer_value(port) < 1 ||
            json_integer_value(port) > PORT_MAX)
            return err_set(err, ERR_USAGE, "a service is a port from 1 to %d", PORT_MAX);
    }
    int64_t jobs = jx_int(c->body, "jobs", config_int(c->config, "run.jobs", 0));
    int cpus = get_nprocs();
    c->jobs = jobs > 0 ? jobs : cpus < JOBS_DEFAULT ? cpus : JOBS_DEFAULT;
    c->time_ms = jx_int(jx_obj(c->body, "limits"), "time_ms", 0);
    const char *timeout = config_str(c->config, "run.timeout", NULL);
    if (c->time_ms == 0 && timeout && !clock_parse_duration(&c->time_ms, timeout, err))
        return err_prefix(err, "run.timeout");
    return attempt_check_engine(c->paths, c->config, jx_str(c->body, "engine", NULL), err);
}

/* The layers that the person or the settings insist on must be in force before anything is made. */
static bool check_required(struct create *c, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_BUF struct buf list = BUF_INIT;
    const char *configured = config_str(c->config, "run.require", NULL);
    unsigned mask;
    jx_strv(&words, c->body, "require");
    for (size_t i = 0; i < words.n; i++)
        buf_addf(&list, "%s%s", i ? "," : "", words.v[i]);
    if (list.len == 0 && configured)
        buf_adds(&list, configured);
    if (list.len == 0)
        return true;
    if (!layer_parse_required(&mask, list.ptr, err))
        return false;
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer_status *status = &c->layers.layer[i];
        if (mask >> i & 1 && status->state != LAYER_ACTIVE)
            return err_set(err, ERR_LAYER, "the required layer %s is %s: %s",
                           layer_name((enum layer_id)i), layer_state_name(status->state),
                           status->reason);
    }
    c->exec_required = mask & LAYER_EXEC_BIT;
    c->require = buf_steal(&list);
    return true;
}

static bool check_layers(struct create *c, struct err *err)
{
    if (!c->has_layers && !attempt_probe_layers(&c->layers, c->paths, c->config, err))
        return false;
    c->has_layers = true;
    return check_required(c, err);
}

/* The rung: as asked, else as configured, else as the layers allow. */
static bool choose_rung(struct create *c, struct err *err)
{
    const char *asked = jx_str(c->body, "ladder", NULL);
    AUTO_FREE char *of_agent = xasprintf("gate.%s.ladder", c->agent->name);
    const char *for_all = config_str(c->config, "gate.ladder", NULL);
    const char *configured = config_str(c->config, of_agent, for_all);
    const char *key = configured == for_all ? "gate.ladder" : of_agent;
    if (!asked && !configured) {
        c->ladder = attempt_default_ladder(&c->layers, &c->rung_why);
        return true;
    }
    if (asked)
        buf_adds(&c->rung_why, "as asked");
    else
        buf_addf(&c->rung_why, "%s of the configuration", key);
    return ladder_parse(&c->ladder, asked ? asked : configured, err) ||
           (asked ? false : err_prefix(err, "%s", key));
}

/* As asked, else as configured for this kind of agent or for all; then it must work. Else execs are
 * watched where that is possible. */
static bool choose_exec(struct create *c, struct err *err)
{
    const char *asked = jx_str(c->body, "exec", NULL);
    AUTO_FREE char *of_agent = xasprintf("gate.%s.exec", c->agent->name);
    const char *for_all = config_str(c->config, "gate.exec", NULL);
    const char *configured = config_str(c->config, of_agent, for_all);
    const char *name = asked ? asked : configured;
    c->exec = EXEC_WATCH;
    if (name && !exec_policy_parse(&c->exec, name, err))
        return asked ? false
                     : err_prefix(err, "%s", configured == for_all ? "gate.exec" : of_agent);
    if (c->exec_required && c->exec == EXEC_OFF)
        return err_set(
            err, ERR_LAYER,
            "the layer exec is required, but execs are not gated (--exec off, gate.exec); "
            "name another policy: watch, match or ask");
    c->exec_required |= name && c->exec != EXEC_OFF;
    return true;
}

/* What the repository's .headgate says, unless the person wants none of it. */
static bool read_setup(struct setup *ret, struct create *c, struct err *err)
{
    if (strcmp(jx_str(c->body, "consent", ""), "none") == 0) {
        strv_push(&c->notes, "the repository's .headgate, if it has one, counts for nothing here");
        return true;
    }
    if (c->repo.toplevel && !setup_read(ret, c->repo.toplevel, err))
        return false;
    strv_push_all(&c->notes, strv_array(&ret->notes));
    return true;
}

/* The person's own settings need no consent; what the repository brings does. */
static bool choose_setup(struct create *c, struct err *err)
{
    AUTO_SETUP struct setup setup = SETUP_INIT;
    AUTO_BUF struct buf asks = BUF_INIT, ignored = BUF_INIT;
    const char *own = config_str(c->config, "worktree.setup", NULL);
    const char *own_teardown = config_str(c->config, "worktree.teardown", NULL);
    c->loosest = LADDER_AUTO;
    if (!read_setup(&setup, c, err))
        return false;
    if (setup.ladder && (!setup_tighten(&c->loosest, &ignored, &setup, err) ||
                         !setup_tighten(&c->ladder, &c->rung_why, &setup, err)))
        return false;
    if (config_str(c->config, "gate.rule", NULL))
        return err_set(
            err, ERR_USAGE,
            "gate.rule is for a repository's .headgate; yours are kept with 'headgate gate rule "
            "add'");
    strv_push_all(&c->rules, strv_array(&setup.rules));
    if (setup_asks(&setup)) {
        setup_describe(&asks, &setup);
        c->consent_digest = xstrdup(setup.digest);
        c->consent_asks = buf_steal(&asks);
    }
    if (setup.command || own)
        c->setup = xstrdup(setup.command ? setup.command : own);
    if (setup.teardown || own_teardown)
        c->teardown = xstrdup(setup.teardown ? setup.teardown : own_teardown);
    if (c->secrets.n > 0 && !c->setup)
        return err_set(
            err, ERR_USAGE,
            "--secret gives a variable to the set-up command alone, and there is none; set "
            "worktree.setup, or give it to the agent with --env");
    return true;
}

/* Tasks may have rungs of their own, which the first lines of a run tell too. */
static bool choose_task_rungs(struct create *c, struct err *err)
{
    size_t count[LADDER_AUTO + 1] = {0}, i;
    const json_t *task;
    json_array_foreach(jx_arr(c->body, "tasks"), i, task)
    {
        enum ladder ladder = c->ladder;
        if (!create_task_rung(&ladder, c, task, err))
            return err_prefix(err, "task %zu", i + 1);
        count[ladder] += ladder != c->ladder;
    }
    for (enum ladder ladder = LADDER_CONFIRM; ladder <= LADDER_AUTO; ladder++)
        if (count[ladder])
            strv_pushf(&c->notes, "%zu of the tasks %s a rung of %s own: '%s'", count[ladder],
                       count[ladder] == 1 ? "has" : "have", count[ladder] == 1 ? "its" : "their",
                       ladder_name(ladder));
    return true;
}

/* As asked, else as configured: how long a call waits for a person, and what is then. */
static bool choose_ask(struct create *c, struct err *err)
{
    static const char *const outcomes[] = {"deny", "wait"};
    const json_t *ask = jx_obj(c->body, "ask");
    const char *outcome =
        jx_str(ask, "outcome", config_str(c->config, "gate.outcome", outcomes[0]));
    c->ask_ms = jx_int(ask, "deadline_ms", 0);
    c->ask_waits = strcmp(outcome, outcomes[1]) == 0;
    if (!c->ask_waits && strcmp(outcome, outcomes[0]) != 0)
        return err_set(err, ERR_USAGE, "gate.outcome: '%.32s' is neither deny nor wait", outcome);
    if (c->ask_ms < 0 || c->ask_ms > attempt_ask_max_ms)
        return err_set(
            err, ERR_USAGE,
            "a call waits 23 hours at most, since the agents' own hooks give up after a day");
    return true;
}

void create_add_ask(struct buf *out, const struct create *c)
{
    int64_t ms = c->ask_ms ? c->ask_ms : config_int(c->config, "gate.deadline", attempt_ask_max_ms);
    clock_add_duration(out, ms);
    bool goes_on = c->ask_waits && ms < attempt_ask_max_ms;
    buf_adds(out, goes_on ? ", then said again and waiting on" : ", then denied as a timeout");
}

void create_add_services(struct strv *out, const struct create *c)
{
    size_t i;
    const json_t *port;
    json_array_foreach(jx_arr(c->body, "services"), i, port)
    {
        strv_pushf(out, "%lld", (long long)json_integer_value(port));
    }
}

/* Before anything of the environment is stored. */
static bool take_keys(struct create *c, struct err *err)
{
    AUTO_STRV struct strv services = STRV_INIT;
    create_add_services(&services, c);
    return model_ways_take(&c->models, &c->keys, &c->env, &services, c->agent,
                           jx_str(c->body, "login", NULL), c->config, err);
}

static bool choose_net(struct create *c, struct err *err)
{
    AUTO_STRV struct strv asked = STRV_INIT;
    jx_strv(&asked, c->body, "net");
    if (asked.n != json_array_size(jx_arr(c->body, "net")))
        return err_set(err, ERR_USAGE, "'net' is a list of hosts");
    return way_out_hosts(&c->net, &asked, c->config, c->agent, &c->env, err);
}

/* Tokens among what the broker is told are never stored; where they are forgotten, it asks `gh` and
 * `glab` for them. */
static void take_logins(struct create *c)
{
    static const char suffix[] = "_TOKEN";
    struct strv kept = STRV_INIT;
    for (size_t i = 0; i < c->desktop.n; i++) {
        const char *entry = c->desktop.v[i];
        size_t len = strcspn(entry, "=");
        bool is_token = len >= strlen(suffix) &&
                        strncmp(entry + len - strlen(suffix), suffix, strlen(suffix)) == 0;
        if (!is_token) {
            strv_push(&kept, entry);
            continue;
        }
        AUTO_FREE char *name = xstrndup(entry, len);
        c->logins = c->logins ? c->logins : json_object();
        jx_set_str(c->logins, name, entry + len + 1);
    }
    strv_release(&c->desktop);
    c->desktop = kept;
}

void create_examine(void *arg)
{
    struct create *c = arg;
    read_env(&c->env, c->body, "env");
    read_env(&c->desktop, c->body, "desktop");
    take_logins(c);
    read_env(&c->secrets, c->body, "secrets");
    c->ok = check_repository(c, &c->err) && check_tasks(c, &c->err) && check_choices(c, &c->err) &&
            check_agent(c, &c->err) && check_layers(c, &c->err) && choose_rung(c, &c->err) &&
            choose_exec(c, &c->err) && choose_ask(c, &c->err) && take_keys(c, &c->err) &&
            choose_net(c, &c->err) && choose_setup(c, &c->err) && choose_task_rungs(c, &c->err);
}

void create_number(void *arg)
{
    struct create *c = arg;
    c->ok = wt_free_run_number(&c->number, &c->repo, c->wish, &c->err);
}

void create_hold(void *arg)
{
    struct create *c = arg;
    AUTO_STRV struct strv branches = STRV_INIT;
    int64_t n = (int64_t)json_array_size(jx_arr(c->body, "tasks")) * c->n;
    for (int64_t i = 1; i <= n; i++)
        strv_pushf(&branches, CREATE_BRANCH_FORMAT, (long long)c->number, (long long)i);
    c->ok = wt_pin(c->repo.common_dir, &branches, c->base.oid, &c->err);
}
