/*
 * exec: what the gate says of one exec by any process in a box. Pure.
 *
 * `watch` lets everything run that no rule and no floor refuses. `ask` asks a person about what the
 * agent's own process starts; what runs below it follows the rules alone. Precedence: a rule that
 * denies, the floor, a rule that asks, a rule that allows, the policy. `off` judges nothing.
 *
 * The floor is small: programs whose only use is to become another user. They can do nothing in a
 * box, which gives nobody new rights, and a refusal says so. An allowing rule lifts it.
 *
 * A rule's value without a slash is a program's name (the last part of any of its paths), one with
 * a slash is a whole path.
 */
#ifndef GATE_EXEC_H
#define GATE_EXEC_H

#include "gate/policy.h"

enum exec_policy { EXEC_OFF, EXEC_WATCH, EXEC_ASK };
const char *exec_policy_name(enum exec_policy policy);
bool exec_policy_parse(enum exec_policy *ret, const char *name, struct err *err) WARN_UNUSED;

/* names: every name of every program that the exec would start (found, called, interpreters).
 * is_own: it comes from the agent's own process. */
void exec_judge(struct judgement *ret, const struct policy *p, enum exec_policy policy,
                const char *agent, const struct strv *names, bool is_own);

#endif
