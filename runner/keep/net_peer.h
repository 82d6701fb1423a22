/*
 * net_peer: which process of the box holds a connection to its proxy. Read from proc(5): the
 * socket's inode by its ports, then who has that inode open, among the descendants of pid 1.
 *
 * What it says is for people and the log, never for a decision: a process can hand its socket on.
 */
#ifndef KEEP_NET_PEER_H
#define KEEP_NET_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process with a socket of this port to the proxy's port; 0: not found, or looked at too many.
 */
pid_t net_peer_find(pid_t init_pid, bool is_v6, uint16_t port, uint16_t proxy_port);

#endif
