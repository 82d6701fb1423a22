/* door_call: one connection of the gate socket, and how it is answered: once, whatever happens. For
 * door.c alone. */
#ifndef KEEP_DOOR_CALL_H
#define KEEP_DOOR_CALL_H

#include "runner/keep/door.h"

struct door_call {
    struct door *door;
    struct conn *conn; /* NULL: left behind */
    int64_t number;    /* 0: not asked */
    char *name;        /* "c12"; NULL: not told yet */
    char digest[DIGEST_HEX_SIZE];
    struct confirm_key key;
    struct call_request request; /* of a waiting call that somebody wants to know of; else empty */
    int64_t asked_ms, deadline_ms; /* monotonic */
    bool is_waiting;
    bool is_overdue; /* its first deadline has passed, and it waits on */
    bool is_for_broker;
    bool is_carried; /* let pass and on record; the answer is what comes of it */
    bool is_answered;
    char action[DIGEST_HEX_SIZE]; /* for the broker: by what it is taken up again */
    json_t *kept;                 /* left behind: the answer that nobody has had yet */
};

void door_call_free(struct door_call *c);

/* The one place that answers: once for a call, and the connection ends with it. */
void door_send(struct door_call *c, const json_t *answer);
/* All of these do nothing once the call is answered. */
void door_answer(struct door_call *c, bool allow, const char *why, const char *reason);
/* It is on record that the call may happen: answer so; one for the broker is answered by
 * door_broker. */
void door_allow(struct door_call *c, const char *why, const char *reason);
void door_deny(struct door_call *c, const char *why, const char *reason);
/* Deny for excess. Noted once a minute: a flood of calls must not become a flood of records. */
void door_deny_excess(struct door_call *c, const char *reason);
/* What cannot be recorded is not allowed. */
void door_deny_unrecorded(struct door_call *c, const struct err *err);
/* The call's name for people; NULL changes nothing. */
void door_rename(struct door_call *c, const char *name);
/*
 * door_left.c: a call for the broker needs nobody who waits: it is carried out outside of the box.
 * So one whose caller hung up stays, with what comes of it, until the same is asked again.
 */
enum { DOOR_LEFT_MAX = 32 };
/* The connection has closed. False: it is to be forgotten, as any other. */
bool door_leave(struct door_call *c);
/* The same was asked before and left behind: go on with that, or answer at once. False: it was not.
 */
bool door_take_up(struct door_call *c);
/* One connection too many: told so without taking it in. */
void door_turn_away(const struct door *d, int fd);

#endif
