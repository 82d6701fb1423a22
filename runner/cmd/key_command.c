#include "runner/cmd/key_command.h"

#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/cmd/login_file.h"

enum { KEY_COMMAND_MS = 120 * 1000, KEY_BYTES = 16 * 1024 };

static const char *command_of(const struct agent *agent, const struct config *config)
{
    AUTO_FREE char *key = xasprintf("agent.%s.keycommand", agent->name);
    return config_str(config, key, NULL);
}

bool key_command_variable(const char **ret, const struct strv *env, const struct agent *agent,
                          const struct provider *providers, size_t n, const struct config *config,
                          struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.keyenv", agent->name);
    const struct provider *p = providers, *end = providers + n;
    *ret = NULL;
    if (!command_of(agent, config) || login_is_configured(agent, config))
        return true;
    const char *name = config_str(config, key, n ? p->keys[0].variable : NULL);
    if (!name)
        return err_set(err, ERR_USAGE,
                       "agent.%s.keyCommand prints a key, and no variable for it is known: set "
                       "agent.%s.keyEnv",
                       agent->name, agent->name);
    while (p < end && !provider_has(p, name))
        p++;
    if (p == end)
        return err_set(err, ERR_USAGE, "agent.%s.keyEnv: '%s' is no key of %s", agent->name, name,
                       agent->title);
    for (size_t i = 0; p->keys[i].variable; i++)
        if (strv_env_get(env, p->keys[i].variable))
            return true;
    *ret = name;
    return true;
}

bool key_command_run(struct strv *env, const struct agent *agent, const struct config *config,
                     struct err *err)
{
    struct provider all[PROVIDERS_MAX];
    const char *variable;
    size_t n;
    if (!agent_providers(all, &n, agent, config, err) ||
        !key_command_variable(&variable, env, agent, all, n, config, err))
        return false;
    if (!variable)
        return true;
    AUTO_STRV struct strv argv = STRV_INIT, own = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, "/bin/sh");
    strv_push(&argv, "-c");
    strv_push(&argv, command_of(agent, config));
    strv_push_all(&own, environ);
    const struct proc_cmd cmd = {.argv = &argv,
                                 .env = &own,
                                 .inherit_stderr = true,
                                 .timeout_ms = KEY_COMMAND_MS,
                                 .max_output_bytes = KEY_BYTES};
    if (!proc_run(&result, &cmd, err))
        return err_prefix(err, "agent.%s.keyCommand", agent->name);
    buf_rtrim(&result.out);
    bool ok = result.status == 0 && result.out.len > 0;
    if (ok)
        strv_env_set(env, variable, result.out.ptr);
    else
        err_set(err, ERR_FAILED, "agent.%s.keyCommand printed no key (status %d)", agent->name,
                result.status);
    explicit_bzero(result.out.ptr, result.out.len);
    return ok;
}
