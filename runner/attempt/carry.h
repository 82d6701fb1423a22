/*
 * carry: carry out an approved call of source `broker` (gate/broker.h), on a worker thread.
 *
 * What is pushed is harvested first and must then be the commit that was shown. The repository in
 * which it is done is one of Headgate's own, with the person's objects as alternates: nothing that
 * an agent wrote, and nothing of the person's configuration but what is looked up as a value. The
 * work itself is headgate-broker's, one process for each call, which alone sees the credential.
 */
#ifndef ATTEMPT_CARRY_H
#define ATTEMPT_CARRY_H

#include "gate/call.h"
#include "runner/attempt/boxes.h"
#include "runner/base/jx.h"

struct carry {
    const struct paths *paths; /* borrowed, as all of these */
    const struct config *config;
    const struct attempt_spec *spec;
    const struct strv *session; /* how to reach the person's keys and logins; never in a box */
    const struct call_request *request;
};
struct carry_result {
    json_t *message; /* members of the `broker` message of runner/PROTOCOL.md, owned */
    int status;      /* of the command; -1: it was not, or not wholly, carried out */
    bool has_harvest;
    struct wt_harvest harvest;
};
void carry_result_release(struct carry_result *r);

/* Always fills *ret: what went wrong is told to whoever asked. */
void carry_out(struct carry_result *ret, const struct carry *c);
/* Remove what a call that was cut short left of this attempt: its folder, and copies of keys. */
bool carry_sweep(const struct paths *paths, const char *id, struct err *err) WARN_UNUSED;
/* The message for a call of which nobody knows what came of it, because the server was killed. */
json_t *carry_lost(void);

#endif
