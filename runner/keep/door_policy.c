/*
 * door_policy: the rules by which the gate socket judges, as they change.
 */
#include "gate/net.h"
#include "runner/base/jx.h"
#include "runner/keep/door.h"

bool door_set_policy(struct door *d, const json_t *msg, struct err *err)
{
    struct policy policy = POLICY_INIT;
    if (!policy_from_json(&policy, msg, err))
        return false;
    if (policy.epoch < d->policy.epoch) {
        policy_release(&policy);
        return true;
    }
    /* Checked when the configuration was read. */
    bool is_listed = net_add_listed(&policy, &d->config->net, err);
    policy_release(&d->policy);
    d->policy = policy;
    return is_listed;
}

int64_t door_epoch(const struct door *d)
{
    return d->policy.epoch;
}
