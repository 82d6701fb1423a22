/*
 * live: the live terminal of an attempt for commands: attach, and a further process with enter.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include "runner/base/err.h"

/* Show the agent's terminal until detach (*ret_status -1, and a line says how to come back) or its
 * end. ERR_USAGE when this is no terminal. */
bool live_attach(int *ret_status, const char *keeper_socket, const char *id,
                 struct err *err) WARN_UNUSED;

#endif
