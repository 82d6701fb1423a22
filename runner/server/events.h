/*
 * events: what subscribers are told. Each function looks the thing up as it is now; without
 * subscribers it does nothing.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "gate/ledger.h"
#include "runner/server/live.h"

void events_init(struct server *s);
/* Whether anybody would be told of this run. */
bool events_has_audience(const struct server *s, int64_t run);
void events_attempt(struct server *s, const char *id);
void events_gone(struct server *s, const char *id, int64_t run);
void events_run(struct server *s, int64_t run);
void events_call(struct server *s, const struct ledger_call *call);
void events_call_id(struct server *s, int64_t id);
/* A new last line of an attempt: told at most ten times a second for each. */
void events_line(struct live *live, const char *line);
/* The same for a line that is not the agent's, at once; its own last line stays what it was. */
void events_notice(struct live *live, const char *text);

#endif
