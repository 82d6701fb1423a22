#include "gate/exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/mem.h"

static const char *const policy_names[] = {
    [EXEC_OFF] = "off", [EXEC_WATCH] = "watch", [EXEC_MATCH] = "match", [EXEC_ASK] = "ask"};

static const char *const becomes_another[] = {"sudo", "doas", "pkexec", "su", "runuser"};
static const char why_another[] = "asks for another user's rights, which nothing in a box can have";

const char *exec_policy_name(enum exec_policy policy)
{
    return policy_names[policy];
}

bool exec_policy_parse(enum exec_policy *ret, const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(policy_names); i++)
        if (strcmp(policy_names[i], name) == 0) {
            *ret = (enum exec_policy)i;
            return true;
        }
    return err_set(err, ERR_USAGE, "'%s' is no policy for execs; there are off, watch, match, ask",
                   name);
}

const char *exec_not_covered(void)
{
    return "not covered: what a persistent shell is fed on its standard input, what an interpreter "
           "is told to do";
}

static bool is_program(const char *name, const char *program)
{
    const char *slash = strrchr(name, '/');
    return strcmp(!strchr(program, '/') && slash ? slash + 1 : name, program) == 0;
}

static const struct rule *find_rule(const struct policy *p, enum rule_effect effect,
                                    const char *agent, const struct strv *names)
{
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct rule *r = &p->rules[i];
        if (r->what != RULE_EXEC || r->effect != effect ||
            (r->agent && strcmp(r->agent, agent) != 0))
            continue;
        for (size_t k = 0; k < names->n; k++)
            if (is_program(names->v[k], r->value.v[0]))
                return r;
    }
    return NULL;
}

static const char *find_floor(const struct strv *names)
{
    for (size_t i = 0; i < ARRAY_LEN(becomes_another); i++)
        for (size_t k = 0; k < names->n; k++)
            if (is_program(names->v[k], becomes_another[i]))
                return becomes_another[i];
    return NULL;
}

static void say(struct judgement *ret, enum verdict verdict, const char *why,
                const struct rule *rule, const char *fmt, ...) PRINTF_LIKE(5, 6);
static void say(struct judgement *ret, enum verdict verdict, const char *why,
                const struct rule *rule, const char *fmt, ...)
{
    va_list args;
    *ret = (struct judgement){.verdict = verdict, .why = why, .rule = rule ? rule->id : 0};
    va_start(args, fmt);
    vsnprintf(ret->reason, sizeof(ret->reason), fmt, args);
    va_end(args);
}

/* A rule longer than its place in a sentence is named by its number. */
static void say_rule(struct judgement *ret, enum verdict verdict, const struct rule *rule)
{
    AUTO_BUF struct buf text = BUF_INIT;
    rule_text(&text, rule);
    if (text.len < sizeof(ret->reason) / 2)
        say(ret, verdict, "rule", rule, "the rule '%s' holds here", text.ptr);
    else
        say(ret, verdict, "rule", rule, "rule %lld holds here", (long long)rule->id);
}

/* Where no rule and no floor speaks. */
static void say_policy(struct judgement *ret, enum exec_policy policy, enum exec_standing standing)
{
    const char *name = exec_policy_name(policy);
    if (policy == EXEC_ASK && standing != EXEC_BELOW)
        say(ret, VERDICT_ASK, "exec", NULL, "what the agent itself starts is asked at '%s'", name);
    else if (policy == EXEC_MATCH && standing == EXEC_OWN)
        say(ret, VERDICT_ASK, "exec", NULL,
            "the agent itself starts it, and no approved call stands behind it ('%s')", name);
    else if (policy == EXEC_MATCH && standing == EXEC_CALLED)
        say(ret, VERDICT_ALLOW, "call", NULL, "it carries out an approved call");
    else
        say(ret, VERDICT_ALLOW, "exec", NULL, "execs pass at '%s'", name);
}

void exec_judge(struct judgement *ret, const struct policy *p, enum exec_policy policy,
                const char *agent, const struct strv *names, const struct strv *sure,
                enum exec_standing standing)
{
    const struct rule *deny = find_rule(p, RULE_DENY, agent, names);
    const struct rule *ask = find_rule(p, RULE_ASK, agent, names);
    const struct rule *allow = find_rule(p, RULE_ALLOW, agent, sure);
    const char *floor = find_floor(names);
    if (deny)
        say_rule(ret, VERDICT_DENY, deny);
    else if (floor && !allow)
        say(ret, VERDICT_DENY, "floor", NULL, "%s %s", floor, why_another);
    else if (ask)
        say_rule(ret, VERDICT_ASK, ask);
    else if (allow)
        say_rule(ret, VERDICT_ALLOW, allow);
    else
        say_policy(ret, policy, standing);
}

const char *const *exec_floor(size_t *ret_n, const char **ret_why)
{
    *ret_n = ARRAY_LEN(becomes_another);
    *ret_why = why_another;
    return becomes_another;
}
