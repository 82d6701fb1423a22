/*
 * live: the live terminal of an attempt for commands: attach, and a further process with enter.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include "runner/base/err.h"

/* ERR_USAGE when standard input and output are no terminal: asked before what is to be attached is
 * begun. */
bool live_need_terminal(const char *what, struct err *err) WARN_UNUSED;
/* Show the agent's terminal until detach (*ret_status -1, and a line says how to come back) or its
 * end. ERR_USAGE when this is no terminal. */
bool live_attach(int *ret_status, const char *keeper_socket, const char *id,
                 struct err *err) WARN_UNUSED;

#endif
