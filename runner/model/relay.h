/*
 * relay: one connection of an agent's: one request, sent on to the upstream with its key, and the
 * answer as it comes. What the client sends behind the request goes nowhere; it was told
 * `Connection: close`. Where the key is a login's token and the provider refuses it, the
 * request is sent once more with a renewed one: a request that was refused did nothing. Blocks; one
 * thread a connection.
 */
#ifndef MODEL_RELAY_H
#define MODEL_RELAY_H

#include "runner/model/tls.h"

/* client: a non-blocking socket, borrowed. tokens: of u->has_login. What goes wrong before the
 * answer began is told to the client as 4xx or 50x with a sentence. */
void relay_serve(int client, struct tls_context *context, const struct upstream *u,
                 struct tokens *tokens);

#endif
