/*
 * checked: which program of an agent has passed its canary (`headgate agent check --canary`), so that another one, or another
 * Headgate, is told from it.
 */
#ifndef AGENTS_CHECKED_H
#define AGENTS_CHECKED_H

#include "runner/agents/agent.h"

/* Remember that this program (a path, links followed) has passed. state: the state folder. */
bool agent_checked_write(const char *state, const struct agent *agent, const char *program, struct err *err) WARN_UNUSED;
enum agent_checked { AGENT_NEVER_CHECKED, AGENT_CHECKED, AGENT_CHANGED };
enum agent_checked agent_checked(const char *state, const struct agent *agent, const char *program);

#endif
