#include "runner/agents/agent.h"

#include <string.h>

#include "runner/agents/kinds.h"
#include "runner/agents/program.h"
#include "runner/base/mem.h"

const struct agent *const agents[] = {&agent_claude,   &agent_codex,   &agent_gemini,
                                      &agent_opencode, &agent_command, NULL};

const struct agent *agent_find(const char *name)
{
    for (size_t i = 0; agents[i]; i++)
        if (strcmp(agents[i]->name, name) == 0)
            return agents[i];
    return NULL;
}

const struct agent *agent_kind(const char *name)
{
    const struct agent *built_in = agent_find(name);
    return built_in ? built_in : &agent_custom;
}

char *agent_program_path(const struct agent *agent, const struct strv *env)
{
    return agent->program ? program_find(agent->program, env) : NULL;
}

const char *agent_lack(const struct agent *agent, const struct strv *env)
{
    AUTO_FREE char *found = agent->wants ? program_find(agent->wants, env) : NULL;
    return agent->wants && !found ? agent->without : NULL;
}

static bool find_configured(const struct agent **ret, struct agent *own, const char *name,
                            const struct config *config, struct err *err)
{
    const struct agent *found;
    if (!agent_named(&found, own, name, config) || !found->program)
        return err_set(err, ERR_USAGE,
                       "agent.default names '%s', which is not a known agent; 'headgate agent ls' "
                       "lists them",
                       name);
    *ret = found;
    return true;
}

bool agent_default(const struct agent **ret, struct agent *own, const struct config *config,
                   const struct strv *env, struct err *err)
{
    const char *configured = config_str(config, "agent.default", NULL);
    if (configured)
        return find_configured(ret, own, configured, config, err);

    AUTO_BUF struct buf installed = BUF_INIT;
    AUTO_BUF struct buf known = BUF_INIT;
    const struct agent *only = NULL;
    size_t n = 0;
    for (size_t i = 0; agents[i]; i++) {
        if (!agents[i]->program)
            continue;
        buf_addf(&known, "%s%s", known.len ? ", " : "", agents[i]->name);
        AUTO_FREE char *path = agent_program_path(agents[i], env);
        if (!path)
            continue;
        buf_addf(&installed, "%s%s", installed.len ? ", " : "", agents[i]->name);
        only = agents[i];
        n++;
    }
    if (n == 1) {
        *ret = only;
        return true;
    }
    if (n == 0)
        return err_set(
            err, ERR_USAGE,
            "no agent is installed (known: %s); install one, or run a command of your own "
            "with 'headgate run -- COMMAND'",
            known.ptr);
    return err_set(
        err, ERR_USAGE,
        "several agents are installed (%s); choose one with --agent NAME, or set it with "
        "agent.default in the configuration",
        installed.ptr);
}
