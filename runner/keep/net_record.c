#include "runner/keep/net_record.h"

void net_record_judge(struct judgement *ret, struct call_request *ret_request,
                      const struct keep_config *config, const struct policy *policy,
                      const struct net_target *target)
{
    const struct policy_place place = {.worktree = config->worktree, .home = config->home};
    net_request(ret_request, target, config->agent);
    net_judge(ret, policy, ret_request, target, &place);
}

json_t *net_record_body(char ret_digest[DIGEST_HEX_SIZE], const struct keep_config *config,
                        int64_t number, const struct call_request *request)
{
    char action[DIGEST_HEX_SIZE];
    json_t *body = json_object();
    call_action_digest(action, request);
    call_digest(ret_digest, config->attempt, number, request);
    jx_set_int(body, "call", number);
    jx_set(body, "request", call_request_json(request));
    jx_set_str(body, "action", action);
    jx_set_str(body, "digest", ret_digest);
    return body;
}

bool net_record_decided(struct records *records, const struct keep_config *config, int64_t epoch,
                        struct net_count *count, const struct call_request *request,
                        const struct judgement *j, struct err *err)
{
    char digest[DIGEST_HEX_SIZE];
    bool is_allowed = j->verdict == VERDICT_ALLOW;
    if (count->is_recorded && count->recorded_epoch == epoch && count->was_allowed == is_allowed)
        return true;
    json_t *body = net_record_body(digest, config, records_next(records), request);
    jx_set_str(body, "verdict", is_allowed ? "allow" : "deny");
    jx_set_str(body, "why", j->why);
    jx_set_int(body, "rule", j->rule);
    jx_set_str(body, "reason", j->reason);
    if (!records_add(records, "decided", body, err))
        return false;
    count->is_recorded = true;
    count->recorded_epoch = epoch;
    count->was_allowed = is_allowed;
    return true;
}
