/*
 * env: which of the person's variables a run takes along. The server's own environment is never
 * used.
 */
#ifndef CMD_ENV_H
#define CMD_ENV_H

#include "runner/agents/agent.h"
#include "runner/base/jx.h"

/* {"NAME":"value"}: the allow-listed names, the credentials of the agent (NULL: of every known
 * one; key_command.h), and names: NAME or NAME=VALUE. ERR_USAGE when a named one is not set. Values
 * that are not UTF-8 are left out with a line on standard error. */
bool env_json(json_t **ret, const struct agent *agent, const struct strv *names,
              const struct config *config, struct err *err) WARN_UNUSED;
/* Set "secrets" of a request: {NAME: VALUE} of variables that are set, by name only, since a value
 * on the command line is everybody's to read. */
bool env_add_secrets(json_t *request, const struct strv *names, struct err *err) WARN_UNUSED;
/* What a notification needs to reach this desktop or to run a command of the person, and the broker
 * to find the person's logins: never in a box of an agent. */
json_t *env_desktop_json(void);

#endif
