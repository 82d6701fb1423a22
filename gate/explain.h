/*
 * explain: why each rule speaks about a call or is silent, and which proposals of rules would let
 * such a call pass. For people; policy.h decides. Pure.
 */
#ifndef GATE_EXPLAIN_H
#define GATE_EXPLAIN_H

#include "gate/policy.h"

/* Array of {rule,text,effect,speaks,why}, in the policy's order. `speaks`: it holds for the whole
 * call (allow) or for a part of it (ask, deny); `why` is a sentence in both cases. New reference.
 */
json_t *explain_rules(const struct policy *p, const struct call_request *call,
                      const struct policy_place *place);

/* Array of arrays of rule texts, narrowest first: each inner array alone lets the call pass when it
 * is stored as a whole. attempt "3.2" gives the run of the narrow ones. Empty, with *ret_why a
 * static sentence, when no rule can cover such a call. New reference. */
json_t *explain_proposals(const char **ret_why, const struct call_request *call,
                          const struct policy_place *place, const char *attempt);

#endif
