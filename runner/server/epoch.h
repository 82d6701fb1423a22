/*
 * epoch: which rules and rungs are in force where. Each change raises the epoch; keepers are sent
 * their policy and acknowledge it; a request that changes policy is answered when every live keeper
 * has done so.
 */
#ifndef SERVER_EPOCH_H
#define SERVER_EPOCH_H

#include "gate/policy.h"
#include "runner/server/control.h"

bool epoch_init(struct server *s, struct err *err) WARN_UNUSED;
/* The policy of one attempt as it is in force now. */
bool epoch_policy(struct policy *ret, struct server *s, const char *attempt,
                  struct err *err) WARN_UNUSED;
/* Inside the transaction that changes something: the number that the change will have. */
bool epoch_raise(int64_t *ret, struct server *s, struct err *err) WARN_UNUSED;
/* After its commit: send it out, and answer r (result, an object, is taken over) when all keepers
 * have it. After ten seconds it is answered all the same, with `unacknowledged`: the attempts whose
 * keepers have not; they get it as soon as they can be reached. */
void epoch_spread(struct server *s, int64_t epoch, struct request *r, json_t *result);
/* A keeper acknowledged an epoch, or is no more. */
void epoch_judge(struct server *s);
void epoch_close(struct server *s);

#endif
