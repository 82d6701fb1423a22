/*
 * custom: an agent of the person's own, by configuration alone (`headgate agent add`):
 *
 *   agent.NAME.program      what is looked up in PATH
 *   agent.NAME.run          its words for a task, one for each value; `{task}` in one is the task's
 * text agent.NAME.interactive  the same for its own terminal agent.NAME.resume       the same to go
 * on where it was; absent: as it was started agent.NAME.keyEnv ...   the keys of its models
 * (provider.h)
 *
 * It is gated as a command is: by what it asks with headgate-hook or headgate-mcp, and by the exec
 * gate and the proxy.
 */
#include "runner/agents/kinds.h"

#include <string.h>

#include "runner/agents/program.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

static const char *setting(const struct config *config, const char *name, const char *what)
{
    AUTO_FREE char *key = xasprintf("agent.%s.%s", name, what);
    return config_str(config, key, NULL);
}

static void words_of(struct strv *out, const struct agent_start *start, const char *what)
{
    AUTO_FREE char *key = xasprintf("agent.%s.%s", start->agent_name, what);
    config_list(out, start->config, key);
}

/* A word with the task in its place. */
static void add_word(struct strv *out, const char *word, const char *task)
{
    static const char mark[] = "{task}";
    AUTO_BUF struct buf text = BUF_INIT;
    for (const char *found; (found = strstr(word, mark)); word = found + sizeof(mark) - 1) {
        buf_add(&text, word, (size_t)(found - word));
        buf_adds(&text, task);
    }
    buf_adds(&text, word);
    strv_push(out, text.ptr ? text.ptr : "");
}

static bool prepare(struct box_spec *spec, const struct agent_start *start, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    const char *program = setting(start->config, start->agent_name, "program");
    const char *what = start->interactive ? "interactive" : "run";
    AUTO_FREE char *found = program ? program_find(program, start->caller_env) : NULL;
    if (!found)
        return err_set(err, ERR_FAILED, "there is no '%s' in PATH, which agent.%s.program names",
                       program ? program : "program", start->agent_name);
    AUTO_FREE char *shown = program_show(spec, found, err);
    if (!shown)
        return false;
    if (start->resume)
        words_of(&words, start, "resume");
    if (words.n == 0)
        words_of(&words, start, what);
    if (words.n == 0 && start->interactive)
        return err_set(err, ERR_USAGE,
                       "agent '%s' has no words for its own terminal: headgate agent add "
                       "--interactive %s -- %s [WORD...]",
                       start->agent_name, start->agent_name, program);
    strv_push(&spec->argv, shown);
    for (size_t i = 0; i < words.n; i++)
        add_word(&spec->argv, words.v[i], start->prompt);
    return true;
}

static const struct agent_form no_calls[] = {
    {{"sh", "-c", "%c", NULL}}, {{"bash", "-c", "%c", NULL}}, {{NULL}}};
static const struct agent_form helpers[] = {{{"%k", "%*", NULL}}, {{NULL}}};

const struct agent agent_custom = {
    .name = "custom",
    .title = "an agent of your own",
    .gated = "By what it asks with headgate-hook or headgate-mcp, by the exec gate and by the "
             "proxy; the box "
             "contains the rest.",
    .gaps = "Whatever it does not ask.",
    .output = "lines",
    .exec_calls = no_calls,
    .exec_helpers = helpers,
    .prepare = prepare,
};

bool agent_name_is_valid(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= 64 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

bool agent_named(const struct agent **ret, struct agent *own, const char *name,
                 const struct config *config)
{
    const struct agent *built_in = agent_find(name);
    const char *program = agent_name_is_valid(name) ? setting(config, name, "program") : NULL;
    if (!built_in && !program)
        return false;
    if (!built_in) {
        *own = agent_custom;
        own->name = name;
        own->program = program;
    }
    *ret = built_in ? built_in : own;
    return true;
}

struct visit {
    const struct config *config;
    void (*visit)(const struct agent *own, void *arg);
    void *arg;
};

/* agent.NAME.program */
static void visit_program(const char *key, const char *value, void *arg)
{
    static const char head[] = "agent.", tail[] = ".program";
    const struct visit *v = arg;
    size_t len = strlen(key);
    const struct agent *agent;
    struct agent own;
    (void)value;
    if (len <= strlen(head) + strlen(tail) || strncmp(key, head, strlen(head)) != 0 ||
        strcmp(key + len - strlen(tail), tail) != 0)
        return;
    AUTO_FREE char *name = xstrndup(key + strlen(head), len - strlen(head) - strlen(tail));
    if (!agent_find(name) && agent_named(&agent, &own, name, v->config))
        v->visit(agent, v->arg);
}

void agent_each_own(const struct config *config, void (*visit)(const struct agent *own, void *arg),
                    void *arg)
{
    struct visit v = {config, visit, arg};
    config_each(config, visit_program, &v);
}

static void add_name(const struct agent *agent, void *arg)
{
    struct buf *out = arg;
    buf_addf(out, "%s%s", out->len > 0 ? ", " : "", agent->name);
}

void agent_add_names(struct buf *out, const struct config *config)
{
    AUTO_BUF struct buf names = BUF_INIT;
    for (size_t i = 0; agents[i]; i++)
        add_name(agents[i], &names);
    agent_each_own(config, add_name, &names);
    buf_add(out, names.ptr, names.len);
}
