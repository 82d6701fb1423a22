/*
 * service: a loopback port of the host inside the box: a listening socket of the box's network
 * namespace, made by pid 1 and handed out, is accepted on here, and each connection is relayed to
 * 127.0.0.1 of the host as raw bytes.
 *
 * Nothing else of the host is reachable this way: the address is fixed, the port comes from the
 * attempt's configuration. Each direction holds at most one buffer; a slow side stops the other's
 * reading.
 */
#ifndef KEEP_SERVICE_H
#define KEEP_SERVICE_H

#include "runner/keep/keep_config.h"
#include "runner/wire/listener.h"

enum { SERVICE_LISTENERS = 128 }; /* two (IPv4, IPv6) a port */

struct service_port {
    struct services *services;
    struct listener *listener;
    uint16_t target;
};

struct services {
    uv_loop_t *loop;
    const struct keep_config *config; /* borrowed */
    struct service_port ports[SERVICE_LISTENERS];
    size_t n_ports;
    struct service_relay *relays; /* open ones, a list */
    size_t n_relays;
};

void services_init(struct services *s, uv_loop_t *loop, const struct keep_config *config);
/* Take over a listening socket of the box. ERR_NOT_FOUND for a port that is not configured. */
bool services_listen(struct services *s, int port, int fd, struct err *err) WARN_UNUSED;
/* Relay between two connected sockets (taken over), one of the box and one of the host. */
void services_relay(struct services *s, int inside, int outside);
/* Accept no more until services_listen takes sockets over again; relays stay. */
void services_deafen(struct services *s);
void services_close(struct services *s);

#endif
