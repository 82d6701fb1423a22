/*
 * link: the keeper's own socket: at most one server, any number of attach clients.
 *
 * The server is sent every record after the last it has merged, in order, from the file; only a
 * window of them is on its way at once, so a server that is slow or absent costs no memory. A
 * second server replaces the first (the first was killed, and its end of file is still under way).
 * A client says who it is in its first line; peers of another user are closed unread.
 */
#ifndef KEEP_LINK_H
#define KEEP_LINK_H

#include "runner/keep/attach.h"
#include "runner/keep/records.h"
#include "runner/wire/conn.h"
#include "runner/wire/listener.h"

struct link_ops {
    json_t *(*welcome)(void *arg);                 /* new reference */
    void (*command)(void *arg, const json_t *msg); /* from the server */
    void (*server)(void *arg, bool is_present);    /* it came (after its welcome), it left */
};

struct link {
    uv_loop_t *loop;
    const struct link_ops *ops;
    void *arg;
    struct records *records;  /* borrowed */
    struct attach_room *room; /* borrowed */
    struct listener *listener;
    struct link_peer *server; /* NULL: none */
    struct link_peer **peers;
    size_t n_peers;
    int64_t sent, acked; /* of the present server */
    bool is_closed;
};

bool link_open(struct link *ret, uv_loop_t *loop, int listen_fd, const struct link_ops *ops,
               void *arg, struct records *records, struct attach_room *room,
               struct err *err) WARN_UNUSED;
/* Let go of everybody once what is queued is written. Idempotent. */
void link_close(struct link *l);
/* The same at once, whatever is queued. */
void link_drop(struct link *l);
void link_release(struct link *l);
/* A record was written: pass it on when the server is waiting for just that one. */
void link_record(struct link *l, const json_t *record, int64_t seq);
/* A message that is not kept: dropped when there is no server. */
void link_tell(struct link *l, const json_t *msg);
bool link_has_server(const struct link *l);

#endif
