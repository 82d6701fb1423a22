/*
 * conn: newline-delimited JSON over a libuv pipe.
 *
 * 1. Callbacks come on the loop's thread; a message is borrowed for the call.
 * 2. on_close comes exactly once, after which the conn is freed by itself; nothing may be sent after it.
 * 3. conn_close may be called at any time, also inside callbacks, and is idempotent.
 * 4. Writes queue; when more than max_queue_bytes wait for a peer that does not read, the conn closes itself
 *    (a dashboard that was stopped with Ctrl-Z must not fill the server's memory).
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include <jansson.h>
#include <uv.h>
#include "runner/base/err.h"

struct conn;
struct conn_ops {
    void (*message)(struct conn *c, json_t *msg, void *arg);
    /* err->code ERR_NONE: the peer closed; else why the stream was broken. */
    void (*closed)(struct conn *c, const struct err *err, void *arg);
    size_t max_line_bytes;
    size_t max_queue_bytes;
};

/* Take over an accepted or connected socket descriptor. */
struct conn *conn_open(uv_loop_t *loop, int fd, const struct conn_ops *ops, void *arg);
/* Send (msg borrowed). Silently dropped after the end. */
void conn_send(struct conn *c, const json_t *msg);
/* Send raw bytes of one line, newline included. */
void conn_send_raw(struct conn *c, const char *line, size_t len);
void conn_close(struct conn *c);
/* Close once all that was queued is written. */
void conn_finish(struct conn *c);
size_t conn_queued_bytes(const struct conn *c);
int conn_fd(const struct conn *c);

/* Listen on a unix socket path (mode 0600 unless mode says otherwise); a leftover file of a dead listener is replaced. Returns
 * the descriptor (non-blocking, close-on-exec) or -1 with err. */
int conn_listen(const char *path, unsigned mode, struct err *err);
/* Connect (blocking, local); -1 with err, sys_errno ECONNREFUSED or ENOENT when nobody listens. */
int conn_connect(const char *path, struct err *err);

#endif
