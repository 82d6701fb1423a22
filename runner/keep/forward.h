/*
 * forward: a loopback port of the host that leads to a port of the box, for as long as the client
 * that asked for it stays.
 *
 * Each connection that is accepted on 127.0.0.1 of the host is given a socket that pid 1 connects
 * inside the box; when that has arrived, both are relayed as raw bytes (service.h). The box gains
 * nothing by it: it only answers.
 */
#ifndef KEEP_FORWARD_H
#define KEEP_FORWARD_H

#include "runner/keep/service.h"

enum { FORWARD_FIRST_ID = 1 << 20 }; /* of dials; joined processes have lower ones */

/* Ask pid 1 for a connection to 127.0.0.1 or ::1; its answer comes by forwards_dialed. */
typedef bool (*forward_dial_fn)(void *arg, int id, int port, bool is_v6, struct err *err);

struct forwards {
    struct services *services;
    forward_dial_fn dial;
    void *arg;
    struct forward *open;         /* a list */
    struct forward_wait *waiting; /* accepted, not arrived inside yet; a list */
    size_t n_waiting;
    int last_id;
};

void forwards_init(struct forwards *f, struct services *services, forward_dial_fn dial, void *arg);
/* Listen on 127.0.0.1 of the host, on `wanted` (0: any free one; *ret_port tells). owner: whoever
 * asked. */
bool forwards_open(struct forwards *f, const void *owner, int port, int wanted, int *ret_port,
                   struct err *err) WARN_UNUSED;
/* The owner left: its ports close; connections that are open stay. */
void forwards_leave(struct forwards *f, const void *owner);
/* The socket that was asked for (taken over; it may still be on its way), or -1 when nothing
 * answers at that port. */
void forwards_dialed(struct forwards *f, int id, int fd);
void forwards_close(struct forwards *f);

#endif
