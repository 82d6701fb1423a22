/*
 * listener: accepts on a listening socket (unix or TCP) of a libuv loop and hands out plain
 * descriptors.
 *
 * When the process has no descriptor left, the waiting client is accepted with a spare one and
 * closed: else the loop would spin on a socket that stays readable, and the client would hang.
 */
#ifndef WIRE_LISTENER_H
#define WIRE_LISTENER_H

#include <uv.h>
#include "runner/base/err.h"

struct listener;
/* fd is owned by the callee: close-on-exec, non-blocking. */
typedef void (*listener_fn)(void *arg, int fd);

/* Take over fd, which is non-blocking and listens. NULL with err (fd is then closed). */
struct listener *listener_open(uv_loop_t *loop, int fd, listener_fn accepted, void *arg,
                               struct err *err);
/* Stop accepting; the memory is freed by the loop. NULL is fine. */
void listener_close(struct listener *l);

#endif
