/*
 * notify_command: tells the person's own command (`gate.notifyCommand`) of each call that waits,
 * and news: one process a call, `/bin/sh -c COMMAND`, the call's summary as one line of JSON on
 * standard input.
 *
 * Nothing of a call is in its arguments or its environment, which is the person's. At most four run
 * at once and the rest queue; one that takes longer than ten seconds is ended with all that it
 * started. A call that was decided meanwhile is not told. Never waited for.
 */
#ifndef SERVER_NOTIFY_COMMAND_H
#define SERVER_NOTIFY_COMMAND_H

#include "gate/ledger.h"
#include "runner/server/core.h"

void notify_command(struct server *s, const struct ledger_call *call);
/* The same of news (notify_news.h), with the line as it is; the environment is that of whoever
 * started the attempt's run. */
void notify_command_news(struct server *s, const char *attempt, json_t *message);
/* Set a member to what fits one line of so many columns, without control characters; NULL is "". */
void notify_set_line(json_t *j, const char *key, const char *text, int columns);
/* End what runs; nothing more is told. */
void notify_command_close(struct server *s);

#endif
