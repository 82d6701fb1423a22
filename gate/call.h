/*
 * call: one request to the gate, as a value: its parts, its two digests, its states.
 *
 *   pending -> approved | denied | expired | orphaned        approved -> consumed | expired |
 * orphaned
 *
 * An approval that comes while the keeper answers for want of one meets `expired` after the fact;
 * the ledger then turns it into a one-shot grant.
 *
 * The action digest (tool, canonical arguments, folder) groups equal calls and is what one-shot
 * grants bind to; in it the attempt's worktree has one name, so that the same edit in eight
 * worktrees is the same action. The call digest (attempt, local number, source, agent, session,
 * call id, subagent, action) is what a decision binds to: a person decides exactly the call that
 * was shown. Pure.
 *
 * Strings here are valid UTF-8 without NUL. Whoever makes a request from raw bytes encodes them
 * with jx_bytes; from then on they are text and are never encoded again.
 */
#ifndef GATE_CALL_H
#define GATE_CALL_H

#include <stdint.h>
#include "runner/base/digest.h"
#include "runner/base/jx.h"

enum call_state {
    CALL_PENDING,
    CALL_APPROVED,
    CALL_DENIED,
    CALL_EXPIRED,
    CALL_ORPHANED,
    CALL_CONSUMED,
    CALL_STATE_COUNT
};
enum call_event {
    CALL_EV_APPROVE,
    CALL_EV_DENY,
    CALL_EV_EXPIRE,
    CALL_EV_ORPHAN,
    CALL_EV_CONSUME,
    CALL_EVENT_COUNT
};

/* Bounds of a request's members in bytes; the whole is bounded by LIMIT_CALL_BYTES. */
enum { CALL_NAME_BYTES = 256, CALL_DEPTH_MAX = 64 };

const char *call_state_name(enum call_state state);
bool call_state_parse(enum call_state *ret, const char *name);
/* The pure transition table. False: the event is not possible in this state. */
bool call_next(enum call_state *ret, enum call_state state, enum call_event event);

/* A request as it came over the gate socket, checked and bounded. All strings owned. */
struct call_request {
    char *source; /* "hook", "net" */
    char *agent;  /* "claude", "command", ... */
    char *tool;
    json_t *args;   /* object */
    char *cwd;      /* absolute, "" when not told */
    char *worktree; /* where the attempt's files appear, as its keeper says; "" when not told */
    char *call_id;  /* the agent's own id, "" when not told */
    char *session;
    char *sub_id; /* "" for the parent agent */
    char *sub_type;
    int64_t sub_depth; /* 0 for the parent agent, at least 1 in a subagent */
};
#define CALL_REQUEST_INIT \
    {                     \
        0                 \
    }
#define AUTO_CALL_REQUEST __attribute__((cleanup(call_request_release)))
void call_request_release(struct call_request *r);
/* A connection that the egress proxy holds (source `net`), not a tool call that an agent tells of.
 */
bool call_is_connection(const struct call_request *r);
/* Parse one gate message. ERR_FORMAT or ERR_LIMIT with what is wrong. Bytes, not NUL-terminated.
 * Members that are not known are ignored; a known one of a wrong type is an error, since a gate
 * that guesses shows a person something else than what the agent meant. */
bool call_request_parse(struct call_request *ret, const char *line, size_t len,
                        struct err *err) WARN_UNUSED;
/* The same for a message that is already parsed (borrowed). */
bool call_request_from_json(struct call_request *ret, const json_t *message,
                            struct err *err) WARN_UNUSED;
/* The message again (new reference), members in fixed order: parse(print(x)) == x. */
json_t *call_request_json(const struct call_request *r);
void call_action_digest(char ret[DIGEST_HEX_SIZE], const struct call_request *r);
void call_digest(char ret[DIGEST_HEX_SIZE], const char *attempt, int64_t local,
                 const struct call_request *r);

#endif
