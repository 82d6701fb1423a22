/*
 * tunnel: a connection through the box's proxy as a pair of standard streams, which is what ssh(1)
 * wants of a ProxyCommand: `headgate-hook --connect HOST:PORT`.
 */
#ifndef HOOK_TUNNEL_H
#define HOOK_TUNNEL_H

#include "runner/base/err.h"

/* proxy: `ADDRESS:PORT` (IPv4), as HEADGATE_PROXY has it. Returns when both directions ended. The
 * proxy's refusal is in err. */
bool tunnel(const char *proxy, const char *target, struct err *err) WARN_UNUSED;

#endif
