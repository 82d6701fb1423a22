/*
 * checked: which program of an agent has passed its canary (`headgate agent check --canary`), as it
 * stands with us and with the settings that reach its box.
 *
 * What passed is known twice: by where its files are, how large and of when, which costs nothing to
 * look at, and by what is in them, for a program that was only installed anew. state/checked/AGENT
 * holds a line of both for each, the newest first.
 */
#ifndef AGENTS_CHECKED_H
#define AGENTS_CHECKED_H

#include "runner/agents/agent.h"

/* Agents whose protocol is known, and that therefore can be checked. */
bool agent_is_checkable(const struct agent *agent);
/* This program (a path, links followed) has passed, and nothing has been touched since. state: the
 * state folder. */
bool agent_checked(const char *state, const struct agent *agent, const char *program,
                   const struct config *config);
/* The same; ERR_REFUSED says what to do. An agent that cannot be checked need not be. */
bool agent_must_be_checked(const char *state, const struct agent *agent, const char *program,
                           const struct config *config, struct err *err) WARN_UNUSED;
/* It has, also where it was touched since but is what it was, which is then remembered. Reads the
 * whole program. */
bool agent_checked_content(const char *state, const struct agent *agent, const char *program,
                           const struct config *config);
/* Remember that it has passed. */
bool agent_checked_write(const char *state, const struct agent *agent, const char *program,
                         const struct config *config, struct err *err) WARN_UNUSED;

#endif
