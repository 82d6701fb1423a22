#include "runner/keep/link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runner/base/jx.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"

enum {
    LINK_PROTOCOL = 1,
    LINK_PEERS = 64,
    LINK_WINDOW = 256,                   /* records on their way to the server... */
    LINK_WINDOW_BYTES = 2 * 1024 * 1024, /* ...or as many as make this queue */
    LINK_QUEUE_BYTES = 2 * LIMIT_LINE_BYTES,
};

struct link_peer {
    struct link *link;
    struct conn *conn;
    struct attach *attach; /* an attach client's other half */
};

static void link_send_record(struct link *l, const json_t *record, int64_t seq)
{
    AUTO_JSON json_t *msg = json_object();
    jx_set_str(msg, "t", "record");
    /* The message only borrows the record; jansson counts references on const values too. */
    json_object_set(msg, "record", (json_t *)(uintptr_t)record);
    conn_send(l->server->conn, msg);
    l->sent = seq;
}

static bool link_window_is_open(const struct link *l)
{
    return l->sent - l->acked < LINK_WINDOW &&
           conn_queued_bytes(l->server->conn) < LINK_WINDOW_BYTES;
}

static bool link_visit(void *arg, const json_t *record)
{
    struct link *l = arg;
    if (!link_window_is_open(l))
        return false;
    link_send_record(l, record, jx_int(record, "seq", 0));
    return true;
}

/* Send what the file holds beyond what was sent, as far as the window allows. */
static void link_pump(struct link *l)
{
    struct err err = ERR_INIT;
    if (!l->server || l->sent >= records_last(l->records) || !link_window_is_open(l))
        return;
    if (!records_replay(l->records, l->sent, link_visit, l, &err)) {
        records_note(l->records, "the spool cannot be read: %s", err.text);
        conn_close(l->server->conn);
    }
}

void link_record(struct link *l, const json_t *record, int64_t seq)
{
    if (l->server && l->sent == seq - 1 && link_window_is_open(l))
        link_send_record(l, record, seq);
}

static void link_ack(struct link *l, int64_t seq)
{
    if (seq <= l->acked || seq > l->sent)
        return;
    l->acked = seq;
    records_merged(l->records, seq);
    link_pump(l);
}

static void link_welcome(struct link_peer *peer)
{
    AUTO_JSON json_t *welcome = peer->link->ops->welcome(peer->link->arg);
    jx_set_str(welcome, "t", "welcome");
    jx_set_int(welcome, "v", LINK_PROTOCOL);
    conn_send(peer->conn, welcome);
}

static void link_hello_server(struct link_peer *peer, const json_t *msg)
{
    struct link *l = peer->link;
    int64_t acked = jx_int(msg, "acked", 0);
    struct link_peer *before = l->server;
    int64_t last = records_last(l->records);
    l->server = peer;
    if (before)
        conn_close(before->conn);
    l->acked = acked < 0 ? 0 : acked > last ? last : acked;
    l->sent = l->acked;
    link_welcome(peer);
    link_pump(l);
    l->ops->server(l->arg, true);
}

static void link_hello(struct link_peer *peer, const json_t *msg)
{
    struct link *l = peer->link;
    const char *role = jx_str(msg, "role", "");
    bool is_hello =
        strcmp(jx_str(msg, "t", ""), "hello") == 0 && jx_int(msg, "v", 0) == LINK_PROTOCOL;
    if (is_hello && strcmp(role, "server") == 0) {
        link_hello_server(peer, msg);
    } else if (is_hello && strcmp(role, "attach") == 0) {
        link_welcome(peer);
        peer->attach = attach_enter(l->room, peer->conn, msg);
    } else {
        conn_close(peer->conn);
    }
}

static void link_on_message(struct conn *conn, json_t *msg, void *arg)
{
    struct link_peer *peer = arg;
    struct link *l = peer->link;
    (void)conn;
    if (peer->attach)
        attach_message(peer->attach, msg);
    else if (l->server != peer)
        link_hello(peer, msg);
    else if (strcmp(jx_str(msg, "t", ""), "ack") == 0)
        link_ack(l, jx_int(msg, "seq", 0));
    else
        l->ops->command(l->arg, msg);
}

static void link_on_closed(struct conn *conn, const struct err *err, void *arg)
{
    struct link_peer *peer = arg;
    struct link *l = peer->link;
    (void)conn;
    (void)err;
    if (peer->attach)
        attach_leave(peer->attach);
    for (size_t i = 0; i < l->n_peers; i++) {
        if (l->peers[i] == peer) {
            l->peers[i] = l->peers[--l->n_peers];
            break;
        }
    }
    bool was_server = l->server == peer;
    free(peer);
    if (was_server) {
        l->server = NULL;
        l->ops->server(l->arg, false);
    }
}

static void link_on_accept(void *arg, int fd)
{
    struct link *l = arg;
    if (l->n_peers >= LINK_PEERS || !socket_peer_is_trusted(fd)) {
        close(fd);
        return;
    }
    const struct conn_ops ops = {.message = link_on_message,
                                 .closed = link_on_closed,
                                 .max_line_bytes = LIMIT_LINE_BYTES,
                                 .max_queue_bytes = LINK_QUEUE_BYTES};
    struct link_peer *peer = xcalloc(1, sizeof *peer);
    peer->link = l;
    l->peers[l->n_peers++] = peer;
    peer->conn = conn_open(l->loop, fd, &ops, peer);
}

void link_tell(struct link *l, const json_t *msg)
{
    if (l->server)
        conn_send(l->server->conn, msg);
}

bool link_has_server(const struct link *l)
{
    return l->server != NULL;
}

bool link_open(struct link *ret, uv_loop_t *loop, int listen_fd, const struct link_ops *ops,
               void *arg, struct records *records, struct attach_room *room, struct err *err)
{
    *ret = (struct link){.loop = loop, .ops = ops, .arg = arg, .records = records, .room = room};
    ret->listener = listener_open(loop, listen_fd, link_on_accept, ret, err);
    if (!ret->listener)
        return false;
    ret->peers = xcalloc(LINK_PEERS, sizeof(struct link_peer *));
    return true;
}

void link_close(struct link *l)
{
    if (l->is_closed)
        return;
    l->is_closed = true;
    listener_close(l->listener);
    for (size_t i = 0; i < l->n_peers; i++)
        conn_finish(l->peers[i]->conn);
}

void link_drop(struct link *l)
{
    for (size_t i = 0; i < l->n_peers; i++)
        conn_close(l->peers[i]->conn);
}

void link_release(struct link *l)
{
    free(l->peers);
    l->peers = NULL;
}
