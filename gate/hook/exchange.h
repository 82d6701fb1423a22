/*
 * exchange: one request and one answer on the gate socket (runner/PROTOCOL.md).
 */
#ifndef GATE_HOOK_EXCHANGE_H
#define GATE_HOOK_EXCHANGE_H

#include "runner/base/jx.h"

struct exchange_answer {
    bool allow;
    json_t *reason;  /* a string, owned */
    char *call;      /* owned */
    json_t *message; /* the whole answer, owned */
};
/* Connect, send, and wait for the answer without a limit of time. Anything but one well-formed
 * answer is an error: a closed or refused connection, a truncated, oversized or malformed line,
 * another version, another decision than allow or deny. So is an agent that hung up while it was
 * waited for. */
bool exchange(struct exchange_answer *ret, const char *socket_path, const json_t *request,
              struct err *err) WARN_UNUSED;

#endif
