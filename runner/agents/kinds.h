/*
 * kinds: the adapters that are built in, one file each.
 */
#ifndef AGENTS_KINDS_H
#define AGENTS_KINDS_H

#include "runner/agents/agent.h"

extern const struct agent agent_claude;
extern const struct agent agent_codex;
extern const struct agent agent_gemini;
extern const struct agent agent_opencode;
extern const struct agent agent_command;
/* Of all agents that the person has added: what does not depend on which it is. */
extern const struct agent agent_custom;

#endif
