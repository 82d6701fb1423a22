/*
 * notify: tells the person that a call waits, and other news (notify_news.h): their desktop
 * (notify-send), when ui.notify is not off, the program is installed and the run was started from a
 * desktop; and their own command (notify_command.h). Never waits for either.
 */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include "gate/ledger.h"
#include "runner/server/core.h"

void notify_call(struct server *s, const struct ledger_call *call);
/* The desktop of whoever started the attempt's run, alone. The texts may be an agent's: the title
 * sanitised. Not told when it was told something a moment before. */
void notify_desktop(struct server *s, const char *attempt, const char *title, const char *text);
/* The variables of the person who started the attempt's run that a notification is given. Nothing
 * in them comes from a box. */
bool notify_env(struct strv *out, struct server *s, const char *attempt,
                struct err *err) WARN_UNUSED;
void notify_close(struct server *s);

#endif
