/*
 * canary_config: the configuration of a canary: what of the person's reaches the agent's box, and
 * nothing that would tell anyone, ask anyone or start anything else. Pure.
 */
#ifndef CMD_CANARY_CONFIG_H
#define CMD_CANARY_CONFIG_H

#include "runner/agents/agent.h"

/* Append the text of a file. */
void canary_config(struct buf *out, const struct agent *agent, const struct config *config);

#endif
