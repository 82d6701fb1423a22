/*
 * conn: newline-delimited JSON over a libuv pipe.
 *
 * 1. Callbacks come on the loop's thread; a message is borrowed for the call.
 * 2. on_close comes exactly once, after which the conn is freed by itself; nothing may be sent
 * after it.
 * 3. conn_close may be called at any time, also inside callbacks, and is idempotent. No message and
 * no line comes after it.
 * 4. Writes queue; when more than max_queue_bytes wait for a peer that does not read, the conn
 * closes itself (a dashboard that was stopped with Ctrl-Z must not fill the server's memory).
 * 5. The process handles or ignores SIGPIPE: libuv writes with write(2).
 * 6. A peer that is gone ends the conn through its reading side, so that what it had sent before is
 * read.
 */
#ifndef WIRE_CONN_H
#define WIRE_CONN_H

#include <jansson.h>
#include <uv.h>
#include "runner/base/err.h"

struct conn;

/* Bytes of unfinished lines, counted over all conns that share the pool. One peer may send slowly;
 * a thousand that each leave a long line unfinished must not fill the memory. */
struct conn_pool {
    size_t bytes;
    size_t max_bytes;
};

struct conn_ops {
    void (*message)(struct conn *c, json_t *msg, void *arg);
    /* Raw lines in place of parsed messages, for a reader that answers even what it cannot parse.
     * NULL: message. */
    void (*line)(struct conn *c, const char *line, size_t len, void *arg);
    /* What came cannot be read (too long, no JSON). The last words may still be sent from here; the
     * conn then finishes and `closed` comes with the same err. NULL: closed at once. */
    void (*broken)(struct conn *c, const struct err *err, void *arg);
    /* err->code ERR_NONE: the peer closed, or conn_close was called; else why the stream was
     * broken. */
    void (*closed)(struct conn *c, const struct err *err, void *arg);
    size_t max_line_bytes;
    size_t max_queue_bytes;
    struct conn_pool *pool; /* borrowed, outlives the conn; NULL: none */
};

/* Take over an accepted or connected socket descriptor. */
struct conn *conn_open(uv_loop_t *loop, int fd, const struct conn_ops *ops, void *arg);
/* Send (msg borrowed). Silently dropped after the end. */
void conn_send(struct conn *c, const json_t *msg);
/* Send raw bytes of one line, newline included. */
void conn_send_raw(struct conn *c, const char *line, size_t len);
void conn_close(struct conn *c);
/* Close once all that was queued is written. Nothing is received from here on. */
void conn_finish(struct conn *c);
size_t conn_queued_bytes(const struct conn *c);
int conn_fd(const struct conn *c);

/* Listen on a unix socket path (mode 0600 unless mode says otherwise); a leftover file of a dead
 * listener is replaced. Returns the descriptor (non-blocking, close-on-exec) or -1 with err;
 * ERR_CONFLICT when somebody listens there. */
int conn_listen(const char *path, unsigned mode, struct err *err);
/* Connect (blocking, local); -1 with err, sys_errno ECONNREFUSED or ENOENT when nobody listens. */
int conn_connect(const char *path, struct err *err);

#endif
