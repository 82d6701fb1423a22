/*
 * net_count: what one attempt did with each host and port: sums since they were last recorded, and
 * what a person decided.
 */
#ifndef KEEP_NET_COUNT_H
#define KEEP_NET_COUNT_H

#include "gate/net.h"
#include "runner/base/jx.h"

enum net_decision { NET_UNDECIDED, NET_APPROVED, NET_REFUSED };

struct net_count {
    struct net_count *next;
    struct net_target target;      /* via: of the first connection */
    enum net_decision decision;    /* of a person */
    char *reason;                  /* of NET_REFUSED, as the client is told */
    bool is_recorded, was_allowed; /* the policy's decision is on record for this epoch */
    int64_t recorded_epoch;
    uint64_t connections, denied, refused, up, down;
    char *refused_why; /* of the last one refused */
    json_t *who; /* made the first connection of these sums, as exec_who tells; NULL: not known */
};

/* How many hosts may still come to be counted: each costs records. */
struct net_budget {
    int64_t at_ms; /* monotonic; 0: full */
    int64_t left;
};
bool net_budget_take(struct net_budget *b, int64_t now_ms);

/* NULL: there is none of this target yet. */
struct net_count *net_count_find(struct net_count *list, const struct net_target *target);
/* The one of this target, made when there is none yet, and now the first of the list. NULL: there
 * are LIMIT_NET_HOSTS, and none of them can be forgotten. */
struct net_count *net_count_of(struct net_count **list, size_t *n, const struct net_target *target);
bool net_count_is_dirty(const struct net_count *count);
/* Append who asks for it, for people: " (asked for by /usr/bin/curl)"; nothing where it is not
 * known. */
void net_count_add_asker(struct buf *out, const struct net_count *count);
/* The body of a `net` record; new reference. */
json_t *net_count_json(const struct net_count *count);
void net_count_clear(struct net_count *count);
void net_count_free_all(struct net_count *list);

#endif
