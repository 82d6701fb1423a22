/*
 * proxy: the way out of a box: an HTTP proxy (CONNECT and absolute-form) and a SOCKS5 server on
 * listening sockets of the box's network namespace, which has no other way to anywhere.
 *
 *   client: head -> judged (-> waiting) -> resolved -> connected -> checked -> relayed -> closed
 *                        \________________ refused, in the protocol's own words ____/
 *
 * Invariants:
 * 1. Nothing is resolved or connected to before the owner of the proxy has judged host and port.
 * 2. A name is resolved once for a connection, here, and the connection goes to an address that
 *    may_reach was asked about; no client and no library resolves again.
 * 3. On port 443 not one byte goes out before a ClientHello named the host that was asked for; on
 *    port 80 and for absolute-form none before a request whose Host is that host. On other ports
 *    a ClientHello with another name is refused, also the second one that a server can ask for;
 *    what is no TLS is relayed as it is, since the port was listed. Encrypted data is never opened.
 * 4. A plain HTTP connection carries one request, whose end is known; what a client sends behind it
 *    goes nowhere. It is told so (`Connection: close`).
 * 5. Each direction holds one bounded buffer; a slow side stops the other's reading. Heads have a
 *    time and a length. Connections beyond a number a second wait, beyond a number at once are
 *    closed.
 *
 * One loop, one thread. The owner judges (keeper: net_gate.h; `headgate box`: a fixed list).
 */
#ifndef KEEP_PROXY_H
#define KEEP_PROXY_H

#include "gate/net.h"
#include "runner/keep/resolve.h"
#include "runner/wire/listener.h"

struct proxy_conn;

enum proxy_verdict { PROXY_ALLOW, PROXY_DENY, PROXY_WAIT };

struct proxy_ops {
    /* PROXY_DENY: ret_reason is the sentence for the client. PROXY_WAIT: proxy_answer comes later,
     * and not from within. */
    enum proxy_verdict (*judge)(void *arg, struct proxy_conn *conn, const struct net_target *target,
                                struct buf *ret_reason);
    /* A connection that waits is gone; it is not to be answered any more. */
    void (*gave_up)(void *arg, struct proxy_conn *conn);
    bool (*may_reach)(void *arg, const struct host_address *address, uint16_t port);
    /* An allowed connection was refused after all: another name inside, a private address. */
    void (*refused)(void *arg, const struct net_target *target, const char *why);
    /* An allowed connection that was made has ended; bytes of the client and of the server. */
    void (*closed)(void *arg, const struct net_target *target, uint64_t up, uint64_t down);
};

enum { PROXY_LISTENERS = 2 }; /* IPv4 and IPv6 */

struct proxy {
    uv_loop_t *loop;
    const struct proxy_ops *ops;
    void *arg;
    struct resolver resolver;
    struct listener *listeners[PROXY_LISTENERS];
    size_t n_listeners;
    struct proxy_conn *conns; /* open ones, a list */
    size_t n_conns;
    int64_t second_ms; /* the second that is counted, and what came in it */
    int n_in_second;
    char *chunk; /* what is read goes through it */
    bool is_closed;
};

/* resolver: path of headgate-keep. */
void proxy_init(struct proxy *ret, uv_loop_t *loop, const struct proxy_ops *ops, void *arg,
                const char *resolver);
/* Take over a listening socket. */
bool proxy_listen(struct proxy *p, int fd, struct err *err) WARN_UNUSED;
/* Accept no more until proxy_listen takes sockets over again; connections stay. */
void proxy_deafen(struct proxy *p);
/* Close all connections and accept no more. Idempotent. The memory is in use until the loop ended.
 */
void proxy_close(struct proxy *p);
void proxy_release(struct proxy *p);

/* The client's address in the box: its port, and whether it is IPv6. 0: it has gone. */
uint16_t proxy_client_port(const struct proxy_conn *conn, bool *ret_is_v6);
/* Decide a connection that waits. */
void proxy_answer(struct proxy_conn *conn, bool allow, const char *reason);
/* Close every connection, made or under way, whose target is not kept or whose address may not be
 * reached any more. Those that wait are left. */
void proxy_recheck(struct proxy *p, bool (*keeps)(void *arg, const struct net_target *target));

#endif
