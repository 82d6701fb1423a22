/*
 * notify: tells the person's desktop that a call waits (notify-send), when ui.notify is not off,
 * the program is installed and the run was started from a desktop. Never waits for it.
 */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include "gate/ledger.h"
#include "runner/server/core.h"

void notify_call(struct server *s, const struct ledger_call *call);
void notify_close(struct server *s);

#endif
