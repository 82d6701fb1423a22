/*
 * box_service: loopback ports of the host in a box of `headgate box`: connections to the listening
 * sockets that the box handed out are relayed to 127.0.0.1 of the host, the same port, as raw
 * bytes.
 */
#ifndef CMD_BOX_SERVICE_H
#define CMD_BOX_SERVICE_H

#include <poll.h>
#include <stddef.h>

struct box_services;

struct box_services *box_services_new(void);
void box_services_free(struct box_services *s);
/* Take over a listening socket. */
void box_services_add(struct box_services *s, int listener_fd, int port);
/* How many entries box_services_poll fills at most. */
size_t box_services_count(const struct box_services *s);
size_t box_services_poll(const struct box_services *s, struct pollfd *fds);
/* Go on with what poll answered for these entries, as many as box_services_poll gave. */
void box_services_step(struct box_services *s, const struct pollfd *fds);

#endif
