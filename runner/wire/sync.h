/*
 * sync: a blocking JSON line connection for commands.
 */
#ifndef WIRE_SYNC_H
#define WIRE_SYNC_H

#include "runner/base/frame.h"
#include "runner/base/jx.h"

struct sync_conn {
    int fd; /* -1: closed */
    struct frame frame;
    int64_t next_id;
};
#define AUTO_SYNC __attribute__((cleanup(sync_close)))

bool sync_open(struct sync_conn *ret, const char *socket_path, struct err *err) WARN_UNUSED;
void sync_close(struct sync_conn *c);
bool sync_send(struct sync_conn *c, const json_t *msg, struct err *err) WARN_UNUSED;
/* Receive one message. timeout_ms < 0: wait for ever; 0: only what is there. *ret NULL with true:
 * timed out. Closed by the peer: ERR_SYS with ECONNRESET. */
bool sync_recv(json_t **ret, struct sync_conn *c, int64_t timeout_ms, struct err *err) WARN_UNUSED;
/* One request of the control protocol: adds id and op to request (borrowed, may be NULL), waits for
 * its answer, gives the result (new reference, may be JSON null) or the server's error as err.
 * Events that arrive before it are dropped. */
bool sync_call(json_t **ret_result, struct sync_conn *c, const char *op, json_t *request,
               struct err *err) WARN_UNUSED;

#endif
