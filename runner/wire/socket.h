/*
 * socket: unix stream sockets by path, for conn (libuv) and sync (without it).
 *
 * Whoever may enter the socket's folder (0700) may connect; socket_peer_is_trusted is the second
 * wall.
 */
#ifndef WIRE_SOCKET_H
#define WIRE_SOCKET_H

#include "runner/base/err.h"

/* Listen; a leftover file of a dead listener is replaced, a living one is ERR_CONFLICT. The
 * descriptor is non-blocking and close-on-exec; -1 with err. */
int socket_listen(const char *path, unsigned mode, struct err *err);
/* Connect, blocking; -1 with err, sys_errno ECONNREFUSED or ENOENT when nobody listens. */
int socket_connect(const char *path, struct err *err);
/* True when the peer runs as this user or as root (SO_PEERCRED, unix(7)). */
bool socket_peer_is_trusted(int fd);

#endif
