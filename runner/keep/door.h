/*
 * door: the gate socket of one attempt: takes calls, judges them, holds those that wait for a
 * person.
 *
 *   connection: reading -> judged at once -> answered -> gone
 *                       -> waiting (asked) -> answered (decided | expired | closed) -> gone
 *                                          -> gone (hung up: orphaned)
 *   of source broker, instead of the answer `allow`: carried -> answered (what came of it) -> gone
 *                     hung up while it waits or is carried: left behind, until the same is asked
 * again
 *
 * Invariants:
 * 1. No answer `allow` is written before its record (`decided` or `consumed`) is on disk; when that
 * fails the answer is a denial. So a decision is delivered at most once.
 * 2. A call's decision is taken only for the digest that was asked.
 * 3. Whatever a hook does, it gets one answer or the end of the stream, within the deadline;
 * nothing that it does holds more than the bounds of limits.h.
 * 4. Waiting calls hold no arguments in memory, which are in the spool; unless somebody wants to
 * know of what was allowed (`allowed`).
 */
#ifndef KEEP_DOOR_H
#define KEEP_DOOR_H

#include "gate/confirm.h"
#include "runner/keep/keep_config.h"
#include "runner/keep/records.h"
#include "runner/wire/conn.h"
#include "runner/wire/listener.h"

struct door {
    uv_loop_t *loop;
    const struct keep_config *config; /* borrowed */
    struct records *records;          /* borrowed */
    struct policy policy;
    struct confirm confirm; /* allowed calls that an agent may ask about once more */
    const int *root_fd;     /* borrowed: the box's root once it is open, -1 before; NULL: never */
    /* Told of each allowed call before its caller is; NULL: nobody. */
    void (*allowed)(void *arg, int64_t number, const struct call_request *call);
    void *allowed_arg;
    /* Told which process is answered, before it is; NULL: nobody. */
    void (*answered)(void *arg, pid_t pid, bool is_allowed);
    void *answered_arg;
    /* Told when a hook went away while its call waited; NULL: nobody. */
    void (*lost)(void *arg);
    void *lost_arg;
    /* Told when a hook shakes hands, and which process says so (0: not known); NULL: nobody. */
    void (*greeted)(void *arg, pid_t pid);
    void *greeted_arg;
    /* Told when the agent says that it waits for its person, and why (its words, "": none); NULL:
     * nobody. News alone: no answer rests on it. */
    void (*rested)(void *arg, const char *why);
    void (*called)(void *arg); /* told when it asks for a call; NULL: nobody */
    void *rested_arg;          /* of both */
    struct listener *listener;
    uv_timer_t deadline;
    struct conn_pool pool;
    struct door_call **calls; /* every open connection */
    size_t n_calls, n_waiting;
    int64_t second_ms; /* the second that is counted, and what came in it */
    int n_in_second;
    int64_t excess_noted_ms;
    bool is_closed;
};

/* Take over the listening socket and the policy of the configuration. */
bool door_open(struct door *ret, uv_loop_t *loop, int listen_fd, struct keep_config *config,
               struct records *records, struct err *err) WARN_UNUSED;
/* Answer whatever waits with a denial (`closed`), orphan it, accept no more. Idempotent. The memory
 * stays in use until the loop has ended. */
void door_close(struct door *d);
void door_release(struct door *d);

/* How a call sees its box: where paths lead and programs lie now. Borrows d. */
void door_place(struct policy_place *ret, struct door *d);
/* Take a `policy` message; one of an older epoch changes nothing. */
bool door_set_policy(struct door *d, const json_t *msg, struct err *err) WARN_UNUSED;
int64_t door_epoch(const struct door *d);
/* A `name` message: the call's name for people. */
void door_name(struct door *d, const json_t *msg);
/* A `decide` message. A call that is not waiting (any more) is passed over: the records tell why.
 */
void door_decide(struct door *d, const json_t *msg);
/* A `broker` message: what came of a call that was carried out. */
void door_broker(struct door *d, const json_t *msg);
/* [{"call":7,"name":"c12"}] of all that are not answered, new reference. */
json_t *door_waiting(const struct door *d);

#endif
