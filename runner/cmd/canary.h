/*
 * canary: one tool call of an agent as it is installed, which must be denied and must not run: in a real box, with the real
 * gate, against a model of our own on loopback, in a state and a repository that are made for it and removed.
 */
#ifndef CMD_CANARY_H
#define CMD_CANARY_H

#include "runner/agents/agent.h"

/* ERR_FAILED says what went wrong: no call came, it was not held, or the words did not reach the model. Takes some seconds. */
bool canary(const struct agent *agent, struct err *err) WARN_UNUSED;

#endif
