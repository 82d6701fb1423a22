/*
 * canary: one tool call of an agent as it is installed, which must be denied and must not run: in a
 * real box, with the real gate, against a model of our own on loopback, in a state and a repository
 * that are made for it and removed.
 */
#ifndef CMD_CANARY_H
#define CMD_CANARY_H

#include "runner/agents/agent.h"

/* ERR_FAILED says what went wrong: no call came, it was not held, or the words did not reach the
 * model. Takes some seconds. */
bool canary(const struct agent *agent, const struct config *config, struct err *err) WARN_UNUSED;
/* The same for the program that PATH names, unless it has passed as it is (checked.h); says on
 * standard error that it takes a moment. Agents of whom nobody knows what they say to a model have
 * none. */
bool canary_once(const struct agent *agent, const struct paths *paths, const struct config *config,
                 struct err *err) WARN_UNUSED;

#endif
