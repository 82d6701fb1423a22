/*
 * net: what the gate says of one connection that the egress proxy holds: policy as for any call
 * (policy.h), and the wall around addresses that are nobody's public host.
 *
 * A connection is a call of source `net`, tool `connect`, with {host, port, via}. A rule that
 * denies comes first, then the wall, a rule that asks, a rule that allows, and the floor, which
 * asks for every host that no rule lists. Pure: names are resolved by the caller, which asks
 * net_may_reach for each address before it connects to exactly that one.
 */
#ifndef GATE_NET_H
#define GATE_NET_H

#include "gate/host.h"
#include "gate/policy.h"

struct net_target {
    struct host host;
    uint16_t port;
    const char *via; /* "connect", "http", "socks5"; static */
};

/* The call of a connection, for agent. */
void net_request(struct call_request *ret, const struct net_target *target, const char *agent);
/* Judge a call made by net_request. */
void net_judge(struct judgement *ret, const struct policy *p, const struct call_request *call,
               const struct net_target *target, const struct policy_place *place);
/* True when a name may lead to this address: it is public and not one of this machine's (is_own),
 * or a rule allows this very address with this port. */
bool net_may_reach(const struct policy *p, const char *agent, const struct host_address *address,
                   uint16_t port, bool is_own);
/* Add `allow host PATTERN` for each, as if the policy had come with them. ERR_USAGE names the one
 * that is wrong. */
bool net_add_listed(struct policy *p, const struct strv *patterns, struct err *err) WARN_UNUSED;

#endif
