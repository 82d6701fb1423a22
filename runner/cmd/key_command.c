#include "runner/cmd/key_command.h"

#include <string.h>
#include <unistd.h>

#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { KEY_COMMAND_MS = 120 * 1000, KEY_BYTES = 16 * 1024 };

static bool has_key(const struct strv *env, const struct agent *agent)
{
    for (size_t i = 0; agent->keys && agent->keys[i]; i++)
        if (strv_env_get(env, agent->keys[i]))
            return true;
    return false;
}

bool key_command_run(struct strv *env, const struct agent *agent, const struct config *config,
                     struct err *err)
{
    AUTO_FREE char *key = xasprintf("agent.%s.keycommand", agent->name);
    const char *command = config_str(config, key, NULL);
    if (!command || !agent->keys || has_key(env, agent))
        return true;
    AUTO_STRV struct strv argv = STRV_INIT, own = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, "/bin/sh");
    strv_push(&argv, "-c");
    strv_push(&argv, command);
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
        strv_env_set(env, agent->keys[0], result.out.ptr);
    else
        err_set(err, ERR_FAILED, "agent.%s.keyCommand printed no key (status %d)", agent->name,
                result.status);
    explicit_bzero(result.out.ptr, result.out.len);
    return ok;
}
