#include "runner/cmd/run_request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "gate/exec.h"
#include "gate/host.h"
#include "gate/policy.h"
#include "runner/agents/agent.h"
#include "runner/attempt/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/config.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/env.h"
#include "runner/cmd/key_words.h"
#include "runner/cmd/login_file.h"
#include "runner/cmd/tasks.h"
#include "sandbox/profile.h"
#include "worktree/worktree.h"

enum { DEFAULT_COLUMNS = 80, DEFAULT_ROWS = 24 };

static const char *task_file_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool read_task_file(struct buf *out, const char *path, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    bool ok = is_stdin ? fs_read_fd(out, STDIN_FILENO, LIMIT_TASK_FILE_BYTES, err)
                       : fs_read_file(out, AT_FDCWD, path, LIMIT_TASK_FILE_BYTES, err);
    if (ok)
        return true;
    err->code = ERR_USAGE;
    return err_prefix(err, "cannot read the tasks");
}

/* A sentence for the person, among the first lines of the run. */
static void add_note(json_t *request, const char *note)
{
    if (!jx_arr(request, "notes"))
        jx_set(request, "notes", json_array());
    json_array_append_new(jx_arr(request, "notes"), jx_bytes(note, strlen(note)));
}

static bool add_tasks(json_t *request, const struct run_opts *o, struct err *err)
{
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    AUTO_BUF struct buf file = BUF_INIT;
    for (size_t i = 0; i < o->prompts.n; i++)
        if (!tasks_add(&tasks, o->prompts.v[i], NULL, err))
            return o->prompts.n > 1 ? err_prefix(err, "prompt %zu", i + 1) : false;
    if (o->tasks_file && !read_task_file(&file, o->tasks_file, err))
        return false;
    if (o->tasks_file && !tasks_parse(&tasks, file.ptr, file.len, o->template, err))
        return err_prefix(err, "%s", task_file_name(o->tasks_file));
    if (tasks.n == 0) {
        AUTO_BUF struct buf title = BUF_INIT;
        cmd_quote(&title, o->command.v, o->command.n);
        jx_set(request, "tasks",
               json_pack("[{s:s,s:o}]", "text", "", "title", jx_bytes(title.ptr, title.len)));
        return true;
    }
    if ((int64_t)tasks.n * o->n > LIMIT_ATTEMPTS_PER_RUN)
        return err_set(err, ERR_USAGE, "%zu tasks with -n %d are more than %d attempts", tasks.n,
                       (int)o->n, LIMIT_ATTEMPTS_PER_RUN);
    jx_set(request, "tasks", tasks_json(&tasks));
    return true;
}

/* Work that began in a linked worktree goes back to the branch of that one; NULL: it began in the
 * main checkout, whose branch is looked at when it is merged. */
static const char *branch_of_linked(const struct wt_repo *repo)
{
    static const char heads[] = "refs/heads/";
    bool is_linked = strcmp(repo->git_dir, repo->common_dir) != 0;
    bool is_branch = repo->head_ref && strncmp(repo->head_ref, heads, strlen(heads)) == 0;
    return is_linked && is_branch ? repo->head_ref + strlen(heads) : NULL;
}

static bool add_start(json_t *request, struct run_start *start, const struct run_opts *o,
                      const struct config *config, struct err *err)
{
    const char *named = o->base ? o->base : config_str(config, "run.base", NULL);
    const char *into = branch_of_linked(&start->repo);
    struct wt_start *s = &start->start;
    if (!(o->wip  ? wt_start_wip(s, &start->repo, err)
          : o->on ? wt_start_on(s, &into, &start->repo, o->on, o->fetch, err)
                  : wt_start_from(s, &start->repo, named, o->fetch, err)))
        return false;
    jx_set_str(request, "base", s->commit.oid);
    jx_set_str(request, "base_name", s->commit.ref);
    jx_set_bool(request, "base_wip", s->is_wip);
    jx_set_bool(request, "hold", s->held != NULL);
    jx_set_str(request, "into", into);
    if (s->note)
        add_note(request, s->note);
    return true;
}

static bool add_repository(json_t *request, struct run_start *start, struct err *err)
{
    struct wt_repo *repo = &start->repo;
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return err_sys(err, errno, "cannot find the current folder");
    if (!wt_repo_open(repo, here, err))
        return false;
    jx_set_str(request, "repo", repo->is_bare ? repo->common_dir : repo->toplevel);
    jx_set_str(request, "subdir", repo->subdir ? repo->subdir : "");
    return true;
}

void run_start_release(struct run_start *s)
{
    wt_start_let_go(&s->start, &s->repo);
    wt_start_release(&s->start);
    wt_repo_release(&s->repo);
}

static bool choose_agent(const struct agent **ret, struct agent *own, const struct run_opts *o,
                         const struct config *config, const struct strv *env, struct err *err)
{
    const char *name = o->command.n ? "command" : o->agent;
    if (!name)
        return agent_default(ret, own, config, env, err);
    if (agent_named(ret, own, name, config))
        return true;
    AUTO_BUF struct buf known = BUF_INIT;
    agent_add_names(&known, config);
    return err_set(err, ERR_USAGE,
                   "there is no agent '%s'; known are %s (any program: -- COMMAND; your own: "
                   "headgate agent add)",
                   name, known.ptr);
}

/* Absolute and without symlinks, since the box knows nothing of this folder. */
static bool add_paths(json_t *request, const char *key, const struct strv *paths, struct err *err)
{
    json_t *list = json_array();
    jx_set(request, key, list);
    for (size_t i = 0; i < paths->n; i++) {
        AUTO_FREE char *absolute = fs_realpath(paths->v[i], err);
        if (!absolute) {
            err->code = ERR_USAGE;
            return err_prefix(err, "--%s", key);
        }
        if (!text_is_utf8(absolute, strlen(absolute)))
            return err_set(err, ERR_USAGE, "--%s needs a path that is UTF-8", key);
        json_array_append_new(list, json_string(absolute));
    }
    return true;
}

/* A worktree may have what the checkout has not. */
static bool has_in_commit(bool *ret, const struct run_start *start, const char *path,
                          struct err *err)
{
    const char *top = start->repo.toplevel;
    *ret = false;
    return !top || !fs_is_at_or_below(path, top) || strlen(path) == strlen(top) ||
           wt_has_path(ret, start->repo.common_dir, start->start.commit.oid, path + strlen(top) + 1,
                       err);
}

/* A path in the repository stands for the same one in each worktree, so it is passed as it is
 * named, absolute but with its links. */
static bool add_masks(json_t *request, const struct strv *masks, const struct run_start *start,
                      struct err *err)
{
    AUTO_STRV struct strv paths = STRV_INIT;
    AUTO_FREE char *here = fs_realpath(".", err);
    const char *home = getenv("HOME");
    if (!here)
        return false;
    for (size_t i = 0; i < masks->n; i++) {
        AUTO_FREE char *path = profile_path(masks->v[i], home ? home : "/", here, err);
        if (!path)
            return err_prefix(err, "--mask");
        if (!text_is_utf8(path, strlen(path)))
            return err_set(err, ERR_USAGE, "--mask needs a path that is UTF-8");
        bool is_there = fs_exists(path);
        if (!is_there && !has_in_commit(&is_there, start, path, err))
            return false;
        if (!is_there)
            return err_set(err, ERR_USAGE, "--mask: there is no %s to cover", path);
        strv_push(&paths, path);
    }
    jx_set(request, "mask", jx_from_strv(&paths));
    return true;
}

static bool add_login(json_t *request, const struct run_opts *o, const struct config *config,
                      const struct agent *agent, struct err *err)
{
    AUTO_FREE char *file = NULL;
    if (!login_file(&file, agent, o->login, config, err))
        return false;
    if (file)
        jx_set_str(request, "login", file);
    AUTO_FREE char *missing = file ? NULL : key_missing(agent, config);
    if (missing) /* it ends at once, or asks for a login that its box does not have */
        add_note(request, missing);
    return true;
}

/* What the configuration names comes first, so that the command line has the last word. */
static bool add_environment(json_t *request, const struct run_opts *o, const struct config *config,
                            const struct agent *agent, struct err *err)
{
    AUTO_STRV struct strv names = STRV_INIT, configured = STRV_INIT, all = STRV_INIT;
    AUTO_FREE char *key = xasprintf("agent.%s.env", agent->name);
    json_t *env;
    strv_push_all(&all, environ);
    config_list(&configured, config, "run.env");
    config_list(&configured, config, "box.env");
    config_list(&configured, config, key);
    for (size_t i = 0; i < configured.n; i++) /* a name alone is passed where it is set */
        if (strchr(configured.v[i], '=') || strv_env_get(&all, configured.v[i]))
            strv_push(&names, configured.v[i]);
    strv_push_all(&names, strv_array(&o->env));
    if (!env_json(&env, agent, &names, config, err))
        return false;
    jx_set(request, "env", env);
    return true;
}

/* TIME, TIME,deny, TIME,wait or wait. */
static bool add_ask(json_t *request, const char *text, struct err *err)
{
    json_t *ask = json_object();
    AUTO_FREE char *time = xstrndup(text, strcspn(text, ","));
    const char *outcome = text[strlen(time)] ? text + strlen(time) + 1 : "deny";
    int64_t deadline_ms = attempt_ask_max_ms;
    jx_set(request, "ask", ask);
    if (strcmp(text, "wait") == 0)
        outcome = "wait";
    else if (!clock_parse_duration(&deadline_ms, time, err))
        return err_prefix(err, "--ask-deadline");
    if (strcmp(outcome, "deny") != 0 && strcmp(outcome, "wait") != 0)
        return err_set(err, ERR_USAGE, "--ask-deadline ends in ',deny' or ',wait', not in '%s'",
                       outcome);
    if (deadline_ms < 1)
        return err_set(err, ERR_USAGE, "--ask-deadline needs a time above 0, like 30m");
    jx_set_int(ask, "deadline_ms", deadline_ms);
    jx_set_str(ask, "outcome", outcome);
    return true;
}

static bool add_choices(json_t *request, const struct run_opts *o, struct err *err)
{
    enum ladder ladder;
    enum wt_engine engine;
    enum exec_policy exec;
    unsigned mask;
    AUTO_STRV struct strv require = STRV_INIT;
    if (o->ladder && !ladder_parse(&ladder, o->ladder, err))
        return false;
    if (o->exec && !exec_policy_parse(&exec, o->exec, err))
        return false;
    if (o->engine && !wt_engine_parse(&engine, o->engine, err))
        return false;
    if (o->require && !layer_parse_required(&mask, o->require, err))
        return false;
    if (o->ask_deadline && !add_ask(request, o->ask_deadline, err))
        return false;
    if (o->ladder)
        jx_set_str(request, "ladder", o->ladder);
    if (o->exec)
        jx_set_str(request, "exec", o->exec);
    if (o->engine)
        jx_set_str(request, "engine", o->engine);
    if (o->require)
        strv_split(&require, o->require, ',', false);
    jx_set(request, "require", jx_from_strv(&require));
    if (o->consent)
        jx_set_str(request, "consent", o->consent);
    return true;
}

static void add_limits(json_t *request, const struct run_opts *o)
{
    json_t *limits = json_object();
    const struct {
        const char *key;
        int64_t value;
    } all[] = {{"memory", o->memory_bytes},
               {"pids", o->pids},
               {"time_ms", o->time_ms},
               {"output", o->output_bytes}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].value > 0)
            jx_set_int(limits, all[i].key, all[i].value);
    jx_set(request, "limits", limits);
}

static void add_services(json_t *request, const struct run_opts *o)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->services.n; i++)
        json_array_append_new(list, json_integer(strtol(o->services.v[i], NULL, 10)));
    jx_set(request, "services", list);
}

static bool check_net(const struct strv *patterns, struct err *err)
{
    for (size_t i = 0; i < patterns->n; i++) {
        struct host_pattern pattern;
        if (!host_pattern_parse(&pattern, patterns->v[i], err)) {
            err->code = ERR_USAGE;
            return err_prefix(err, "--net");
        }
    }
    return true;
}

static void add_terminal(json_t *request, const struct run_opts *o)
{
    struct winsize size;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    jx_set_bool(request, "interactive", o->interactive);
    jx_set_int(request, "cols", is_known ? size.ws_col : DEFAULT_COLUMNS);
    jx_set_int(request, "rows", is_known ? size.ws_row : DEFAULT_ROWS);
}

static bool add_command(json_t *request, const struct run_opts *o, struct err *err)
{
    for (size_t i = 0; i < o->command.n; i++)
        if (!text_is_utf8(o->command.v[i], strlen(o->command.v[i])))
            return err_set(err, ERR_USAGE, "word %zu of the command is not UTF-8", i + 1);
    if (o->command.n && !*o->command.v[0])
        return err_set(err, ERR_USAGE, "the command behind -- is empty: headgate run -- make test");
    if (o->command.n)
        jx_set(request, "argv", jx_from_strv(&o->command));
    return true;
}

bool run_request(json_t **ret, struct run_start *start, const struct run_opts *o,
                 const struct config *config, struct err *err)
{
    AUTO_JSON json_t *request = json_object();
    AUTO_STRV struct strv env = STRV_INIT;
    const struct agent *agent;
    struct agent own;
    strv_push_all(&env, environ);
    if (!add_tasks(request, o, err) || !add_choices(request, o, err) ||
        !add_command(request, o, err) || !add_repository(request, start, err) ||
        !choose_agent(&agent, &own, o, config, &env, err) ||
        !add_environment(request, o, config, agent, err) ||
        !add_login(request, o, config, agent, err) || !env_add_secrets(request, &o->secrets, err) ||
        !add_paths(request, "ro", &o->ro, err) || !add_paths(request, "rw", &o->rw, err) ||
        !check_net(&o->net, err) || !add_start(request, start, o, config, err) ||
        !add_masks(request, &o->mask, start, err))
        return false;
    jx_set_str(request, "agent", agent->name);
    jx_set_bool(request, "canary", !o->no_canary && config_bool(config, "run.canary", true));
    jx_set(request, "desktop", env_desktop_json());
    jx_set_int(request, "n", o->n);
    if (o->jobs)
        jx_set_int(request, "jobs", o->jobs);
    add_limits(request, o);
    add_services(request, o);
    jx_set(request, "net", jx_from_strv(&o->net));
    add_terminal(request, o);
    *ret = steal_json(&request);
    return true;
}
