/*
 * relay: one connection of an agent's: one request, sent on to the upstream with its key, and the
 * answer as it comes. What the client sends behind the request goes nowhere; it was told
 * `Connection: close`. Blocks; one thread a connection.
 */
#ifndef MODEL_RELAY_H
#define MODEL_RELAY_H

#include "runner/model/tls.h"

/* client: a non-blocking socket, borrowed. What goes wrong before the answer began is told to the
 * client as 4xx or 502 with a sentence. */
void relay_serve(int client, struct tls_context *context, const struct upstream *u);

#endif
