/*
 * net_record: a connection as a call in the records.
 */
#ifndef KEEP_NET_RECORD_H
#define KEEP_NET_RECORD_H

#include "runner/keep/keep_config.h"
#include "runner/keep/net_count.h"
#include "runner/keep/records.h"

/* What the policy says of a connection, and the call that it is. */
void net_record_judge(struct judgement *ret, struct call_request *ret_request,
                      const struct keep_config *config, const struct policy *policy,
                      const struct net_target *target);
/* {call, request, action, digest}; new reference. */
json_t *net_record_body(char ret_digest[DIGEST_HEX_SIZE], const struct keep_config *config,
                        int64_t number, const struct call_request *request);
/* What the policy decided: once for a host, port, verdict and epoch, since connections come by the
 * thousand. */
bool net_record_decided(struct records *records, const struct keep_config *config, int64_t epoch,
                        struct net_count *count, const struct call_request *request,
                        const struct judgement *j, struct err *err) WARN_UNUSED;

#endif
