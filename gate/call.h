/*
 * call: one request to the gate, as a value: its parts, its two digests, its states.
 *
 *   pending -> approved | denied | expired | orphaned        approved -> consumed | orphaned
 *
 * The action digest (tool, canonical arguments, folder) groups equal calls and is what rules and one-shot grants
 * bind to. The call digest (attempt, local number, source, session, call id, subagent, action) is what a decision binds
 * to: a person decides exactly the call that was shown. Pure.
 */
#ifndef GATE_CALL_H
#define GATE_CALL_H

#include <stdint.h>
#include "runner/base/digest.h"
#include "runner/base/jx.h"

enum call_state { CALL_PENDING, CALL_APPROVED, CALL_DENIED, CALL_EXPIRED, CALL_ORPHANED, CALL_CONSUMED, CALL_STATE_COUNT };
enum call_event { CALL_EV_APPROVE, CALL_EV_DENY, CALL_EV_EXPIRE, CALL_EV_ORPHAN, CALL_EV_CONSUME, CALL_EVENT_COUNT };

const char *call_state_name(enum call_state state);
bool call_state_parse(enum call_state *ret, const char *name);
/* The pure transition table. False: the event is not possible in this state. */
bool call_next(enum call_state *ret, enum call_state state, enum call_event event);

/* A request as it came over the gate socket, checked and bounded. All strings owned. */
struct call_request {
    char *source;   /* "hook" */
    char *agent;    /* "claude", "command", ... */
    char *tool;
    json_t *args;   /* object */
    char *cwd;      /* absolute, "" when not told */
    char *call_id;  /* the agent's own id, "" when not told */
    char *session;
    char *sub_id;   /* "" for the parent agent */
    char *sub_type;
    int64_t sub_depth; /* 0 for the parent agent */
};
#define CALL_REQUEST_INIT {0}
void call_request_release(struct call_request *r);
/* Parse one gate message. ERR_FORMAT or ERR_LIMIT with what is wrong. Bytes, not NUL-terminated. */
bool call_request_parse(struct call_request *ret, const char *line, size_t len, struct err *err) WARN_UNUSED;
/* The message again (new reference), members in fixed order: parse(print(x)) == x. */
json_t *call_request_json(const struct call_request *r);
void call_action_digest(char ret[DIGEST_HEX_SIZE], const struct call_request *r);
void call_digest(char ret[DIGEST_HEX_SIZE], const char *attempt, int64_t local, const struct call_request *r);

#endif
