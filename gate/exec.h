/*
 * exec: what the gate says of one exec by any process in a box. Pure.
 *
 * `watch` lets everything run that no rule and no floor refuses. `match` asks
 * a person about what the agent's own process starts, unless an approved call stands behind it or
 * it is known as a helper of that agent, so that nobody is asked twice; `ask` asks in these cases
 * too. What runs below follows the rules alone. Precedence: a rule that denies, the floor, a rule
 * that asks, a rule that allows, the policy. `off` judges nothing.
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

enum exec_policy { EXEC_OFF, EXEC_WATCH, EXEC_MATCH, EXEC_ASK };
const char *exec_policy_name(enum exec_policy policy);
bool exec_policy_parse(enum exec_policy *ret, const char *name, struct err *err) WARN_UNUSED;

/* What has no exec of its own, so that no policy sees it: a sentence for people. Static. */
const char *exec_not_covered(void);

/* How an exec stands to the agent. */
enum exec_standing {
    EXEC_BELOW,  /* not by the agent's own process */
    EXEC_OWN,    /* by itself, with nothing known behind it */
    EXEC_HELPER, /* by itself, one of its helpers */
    EXEC_CALLED, /* by itself, what an approved call comes to (exec_form.h) */
};

/* names: every name of every program that the exec would start (found, called, interpreters). sure:
 * those of them that nobody in the box can have lent to another program; only they are allowed by a
 * rule. */
void exec_judge(struct judgement *ret, const struct policy *p, enum exec_policy policy,
                const char *agent, const struct strv *names, const struct strv *sure,
                enum exec_standing standing);
/* The programs that no exec starts unless a rule allows it, static, *ret_n of them, and why: the
 * rest of a sentence that begins with the program. */
const char *const *exec_floor(size_t *ret_n, const char **ret_why);

#endif
