/*
 * proxy_conn: one client of the proxy, as its files share it (proxy_conn.c: the way to a
 * connection; proxy_head.c: what was asked for; proxy_relay.c: the bytes after that).
 */
#ifndef KEEP_PROXY_CONN_H
#define KEEP_PROXY_CONN_H

#include "runner/keep/http_head.h"
#include "runner/keep/proxy.h"
#include "runner/keep/socks.h"
#include "runner/keep/tls_flight.h"

enum proxy_state {
    PROXY_PACED,  /* came too fast after others; nothing is read yet */
    PROXY_HEAD,   /* of whichever protocol; its first byte tells */
    PROXY_SOCKS,  /* greeted, the request follows */
    PROXY_JUDGED, /* waits for a decision */
    PROXY_RESOLVING,
    PROXY_CONNECTING,
    PROXY_CHECKING, /* connected; what the client sends first is looked at */
    PROXY_RELAYING,
    PROXY_ENDING, /* the last was sent; waits for the client to take it */
    PROXY_CLOSED,
};

/* A second hello of TLS (tls_flight.h). */
enum proxy_follow {
    PROXY_FOLLOW_NONE,
    PROXY_FOLLOW_ASKED, /* the first was sent; what comes behind it waits for the server's answer */
    PROXY_FOLLOW_HELLO, /* the server wants another one */
};

/* One side of a connection. */
struct proxy_end {
    struct proxy_conn *conn;
    uv_tcp_t tcp;
    uv_connect_t
        connect; /* of this socket: it is told of even when the next address is tried already */
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct buf out; /* being written while is_writing */
    bool is_writing;
    bool is_reading;
    bool has_ended; /* nothing more comes from it */
    bool is_shut;   /* it was told that nothing more comes */
};

struct proxy_conn {
    struct proxy *proxy;
    struct proxy_conn *next, **link;
    enum proxy_state state;
    struct proxy_end *client, *server; /* server NULL: none yet */
    uv_timer_t timer;
    int n_handles;

    struct net_target target; /* via NULL: not told yet */
    bool is_tunnel;           /* the client of CONNECT or SOCKS was told that it is through */
    struct buf in;            /* of the client, not used yet */
    struct resolve_wait *lookup;
    struct host_address addresses[RESOLVE_ADDRESSES];
    size_t n_addresses, next_address; /* the one before next_address is connected to */

    enum proxy_follow follow;
    struct tls_flight flight;
    struct buf server_head; /* PROXY_FOLLOW_ASKED: what the server has sent, as far as it tells */
    bool is_http;           /* one request and one answer, both read here */
    struct buf head;        /* the request's head as it goes out */
    struct http_body body;  /* of the request */
    struct buf answer;      /* the answer's head as far as it came */
    bool has_answer;        /* its head was passed on; the rest is relayed */
    bool was_made;          /* a connection was made */
    uint64_t up, down;
};

/* proxy_conn.c */
void proxy_conn_open(struct proxy *p, int fd, uint64_t delay_ms);
void proxy_conn_close(struct proxy_conn *c);
/* Its address, where it has one yet, may still be reached. */
bool proxy_conn_may_stay(const struct proxy_conn *c);
/* The client asked for target. */
void proxy_conn_judge(struct proxy_conn *c);
/* Answer in the client's protocol and end. For a tunnel that was opened already: just close. */
void proxy_conn_refuse(struct proxy_conn *c, int status, enum socks_reply reply, const char *why);
/* The same for what was allowed and turned out to be something else: it is told of as well. */
void proxy_conn_reject(struct proxy_conn *c, int status, const char *why);
/* Close when this time has passed; 0: never. */
void proxy_conn_limit(struct proxy_conn *c, uint64_t ms);
struct proxy_end *proxy_end_new(struct proxy_conn *c);
void proxy_end_close(struct proxy_end *end);

/* True when what a client sends first is checked whatever it is: ports 443 and 80. */
bool proxy_is_strict(const struct proxy_conn *c);

/* proxy_head.c: take from c->in what has come. */
void proxy_head_step(struct proxy_conn *c);
void proxy_socks_step(struct proxy_conn *c);
void proxy_check_step(struct proxy_conn *c);

/* proxy_relay.c */
struct proxy_end *proxy_peer(const struct proxy_end *end);
void proxy_read(struct proxy_end *end);
void proxy_stop_reading(struct proxy_end *end);
/* Send to this side; its peer is not read until it is written. */
void proxy_send(struct proxy_end *to, const char *bytes, size_t len);
/* Tell this side that nothing more comes, when all is written. */
void proxy_shut(struct proxy_end *end);
/* The client is through: relay what has come and what will; of TLS a second hello is looked at as
 * well (follow). */
void proxy_relay_start(struct proxy_conn *c);
/* The head of the request, then as much of its body as has come. */
void proxy_relay_request(struct proxy_conn *c);

#endif
