/*
 * idle: the server ends by itself when nobody needs it: no client, nothing under way, nothing
 * queued, for server.idletimeout (60 seconds).
 */
#ifndef SERVER_IDLE_H
#define SERVER_IDLE_H

#include "runner/server/core.h"

void idle_init(struct server *s);
/* Read the time from the settings. */
bool idle_configure(struct server *s, struct err *err) WARN_UNUSED;
/* Something came or went: judge again. */
void idle_touch(struct server *s);

#endif
