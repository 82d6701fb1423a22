/*
 * box_proxy: the way out of a box of `headgate box`: the egress proxy with a fixed list of hosts,
 * run from a poll(2) loop. There is nobody to ask, so what is not listed is denied.
 */
#ifndef CMD_BOX_PROXY_H
#define CMD_BOX_PROXY_H

#include <poll.h>
#include <stdint.h>

#include "runner/base/strv.h"

struct box_proxy;

/* hosts: patterns of gate/host.h; port: where it listens inside. ERR_USAGE names a wrong pattern.
 */
bool box_proxy_new(struct box_proxy **ret, const struct strv *hosts, uint16_t port,
                   struct err *err) WARN_UNUSED;
void box_proxy_free(struct box_proxy *p); /* NULL is fine */
bool box_proxy_is_port(const struct box_proxy *p, int port);
/* Take over a listening socket. */
bool box_proxy_listen(struct box_proxy *p, int fd, struct err *err) WARN_UNUSED;
/* What to wait for, and at most how long (ms, -1: without end). */
struct pollfd box_proxy_poll(const struct box_proxy *p, int *ret_timeout_ms);
/* Go on with whatever has come. */
void box_proxy_step(struct box_proxy *p);

#endif
