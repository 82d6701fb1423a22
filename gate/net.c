#include "gate/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"

void net_request(struct call_request *ret, const struct net_target *target, const char *agent)
{
    json_t *args = json_object();
    jx_set_str(args, "host", target->host.text);
    jx_set_int(args, "port", target->port);
    jx_set_str(args, "via", target->via);
    *ret = (struct call_request){
        .source = xstrdup("net"),
        .agent = xstrdup(agent),
        .tool = xstrdup("connect"),
        .args = args,
        .cwd = xstrdup(""),
        .worktree = xstrdup(""),
        .call_id = xstrdup(""),
        .session = xstrdup(""),
        .sub_id = xstrdup(""),
        .sub_type = xstrdup(""),
    };
}

static bool lists(const struct rule *r, const char *agent, const struct host *host, uint16_t port)
{
    struct host_pattern pattern;
    struct err ignored = ERR_INIT;
    return r->what == RULE_HOST && r->effect == RULE_ALLOW &&
           (!r->agent || strcmp(r->agent, agent) == 0) &&
           host_pattern_parse(&pattern, r->value.v[0], &ignored) &&
           host_pattern_covers(&pattern, host, port);
}

bool net_may_reach(const struct policy *p, const char *agent, const struct host_address *address,
                   uint16_t port, bool is_own)
{
    struct host host;
    host_of_address(&host, address);
    if (!is_own && host_address_class(&host.address) == HOST_PUBLIC)
        return true;
    for (size_t i = 0; i < p->n_rules; i++)
        if (lists(&p->rules[i], agent, &host, port))
            return true;
    return false;
}

void net_judge(struct judgement *ret, const struct policy *p, const struct call_request *call,
               const struct net_target *target, const struct policy_place *place)
{
    const struct host *host = &target->host;
    policy_judge(ret, p, call, place);
    if (ret->verdict == VERDICT_DENY || !host->is_address ||
        net_may_reach(p, call->agent, &host->address, target->port, false))
        return;
    *ret = (struct judgement){.verdict = VERDICT_DENY, .why = "floor"};
    snprintf(
        ret->reason, sizeof(ret->reason),
        "%.45s is a %s address, which is reached only when a rule lists it with its port (allow "
        "host %s%.45s%s:%u)",
        host->text, host_class_name(host_address_class(&host->address)),
        host->address.is_v6 ? "[" : "", host->text, host->address.is_v6 ? "]" : "", target->port);
}

bool net_add_listed(struct policy *p, const struct strv *patterns, struct err *err)
{
    for (size_t i = 0; i < patterns->n; i++) {
        struct host_pattern pattern;
        struct rule rule = {.effect = RULE_ALLOW, .what = RULE_HOST};
        if (!host_pattern_parse(&pattern, patterns->v[i], err)) {
            err->code = ERR_USAGE;
            return false;
        }
        strv_push(&rule.value, patterns->v[i]);
        p->rules = xreallocarray(p->rules, p->n_rules + 1, sizeof(*p->rules));
        p->rules[p->n_rules++] = rule;
    }
    return true;
}
