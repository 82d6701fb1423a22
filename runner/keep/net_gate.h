/*
 * net_gate: the gate of one attempt's connections: judges what the proxy holds, asks a person for
 * hosts that no rule lists, and counts what went where.
 *
 *   judged by policy -> allowed | denied
 *                    -> asked -> allowed (for this host and port, as long as this keeper lives)
 *                             -> denied by a person (the same, until a rule says otherwise)
 *                             -> expired (the next connection asks again)
 *
 * A call is one host and port: connections that want the same while it waits wait with it, and it
 * waits on when they hang up, since what a person decides holds for the next one too.
 *
 * Records: `decided` for the first connection to a host and port under one policy, `asked`,
 * `consumed`, `expired` as for any call (door.h), and `net` with the sums of a host and port a
 * moment after its connections ended. So the number of records follows the number of hosts, which
 * is bounded, also in time (LIMIT_NET_HOSTS_PER_SECOND; what comes beyond is counted together, as
 * host `*`), and not that of connections.
 */
#ifndef KEEP_NET_GATE_H
#define KEEP_NET_GATE_H

#include "runner/keep/keep_config.h"
#include "runner/keep/net_count.h"
#include "runner/keep/proxy.h"
#include "runner/keep/records.h"

struct net_gate {
    const struct keep_config *config; /* borrowed, as the next two */
    const struct policy *policy;
    struct records *records;
    struct proxy proxy;
    struct net_call *calls; /* that wait for a person, a list */
    size_t n_calls;
    struct net_count *counts; /* by host and port, the last used first */
    size_t n_counts;
    struct net_budget budget; /* of new hosts */
    uint64_t n_flushed;       /* sums that were recorded the last time */
    uint64_t n_over;          /* connections that were denied since it was used up */
    uv_timer_t deadline, flush;
    bool is_closed;
    /* Who in the box is at the other end of this port, as exec_who tells; NULL: nobody can say. */
    json_t *(*who)(void *arg, uint16_t client_port, bool is_v6);
    void *who_arg;
};

bool net_gate_init(struct net_gate *ret, uv_loop_t *loop, const struct keep_config *config,
                   const struct policy *policy, struct records *records,
                   struct err *err) WARN_UNUSED;
/* End all connections and calls, record the sums. Idempotent. */
void net_gate_close(struct net_gate *g);
void net_gate_release(struct net_gate *g);

/* The policy is another: connections that it does not allow are closed, and what waits is denied
 * where it denies. */
void net_gate_policy_changed(struct net_gate *g);
/* `name` and `decide` messages; those of calls that are not ours are passed over. */
void net_gate_name(struct net_gate *g, const json_t *msg);
void net_gate_decide(struct net_gate *g, const json_t *msg);
/* Append {"call":7,"name":"c12"} for each call that waits. */
void net_gate_add_waiting(const struct net_gate *g, json_t *list);

#endif
