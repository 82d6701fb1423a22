/* door_call: one connection of the gate socket, and how it is answered: once, whatever happens. For door.c alone. */
#ifndef KEEP_DOOR_CALL_H
#define KEEP_DOOR_CALL_H

#include "runner/keep/door.h"

struct door_call {
    struct door *door;
    struct conn *conn;
    int64_t number; /* 0: not asked */
    char *name;     /* "c12"; NULL: not told yet */
    char digest[DIGEST_HEX_SIZE];
    struct confirm_key key;
    struct call_request request; /* of a waiting call that somebody wants to know of; else empty */
    int64_t asked_ms, deadline_ms; /* monotonic */
    bool is_waiting;
    bool is_overdue; /* its first deadline has passed, and it waits on */
    bool is_for_broker;
    bool is_carried; /* let pass and on record; the answer is what comes of it */
    bool is_answered;
};

/* All of these do nothing once the call is answered. */
void door_answer(struct door_call *c, bool allow, const char *why, const char *reason);
/* It is on record that the call may happen: answer so; one for the broker is answered by door_broker. */
void door_allow(struct door_call *c, const char *why, const char *reason);
void door_deny(struct door_call *c, const char *why, const char *reason);
/* Deny for excess. Noted once a minute: a flood of calls must not become a flood of records. */
void door_deny_excess(struct door_call *c, const char *reason);
/* What cannot be recorded is not allowed. */
void door_deny_unrecorded(struct door_call *c, const struct err *err);
/* The call's name for people; NULL changes nothing. */
void door_rename(struct door_call *c, const char *name);
/* One connection too many: told so without taking it in. */
void door_turn_away(int fd);

#endif
