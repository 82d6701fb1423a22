/*
 * key_command: a model's key from a command of the person's (`agent.NAME.keyCommand`, say `pass
 * show anthropic`), where the shell that starts the run has it in no variable.
 */
#ifndef CMD_KEY_COMMAND_H
#define CMD_KEY_COMMAND_H

#include "runner/agents/agent.h"

/* The variable that the agent's command is for, and not asked for here; NULL: there is no command,
 * or no need of one. Borrowed of providers (agent_providers) and config. */
bool key_command_variable(const char **ret, const struct strv *env, const struct agent *agent,
                          const struct provider *providers, size_t n, const struct config *config,
                          struct err *err) WARN_UNUSED;
/* Set the key that agent.NAME.keyEnv names, else the first of the agent's, in env (the allow-listed
 * variables of a run), unless one of the same provider is there or no command is configured.
 * Blocks: it may ask for a passphrase on the terminal. */
bool key_command_run(struct strv *env, const struct agent *agent, const struct config *config,
                     struct err *err) WARN_UNUSED;

#endif
