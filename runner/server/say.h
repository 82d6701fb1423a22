/*
 * say: what a person says to an agent reaches it: typed in its terminal, on the input of one that
 * hears while it runs, or as its next turn. A message to a headless agent is in the store until its
 * keeper tells that the agent has taken it up; what it did not take up by its end it goes on with.
 */
#ifndef SERVER_SAY_H
#define SERVER_SAY_H

#include "runner/server/control.h"
#include "runner/server/live.h"
#include "runner/store/attempt_row.h"

/* *ret_how: "said" (typed, or it takes it up at its next step), "queued" (its next turn, when this
 * one has ended) or "resumed". */
bool say_deliver(const char **ret_how, struct request *r, const char *id, const char *text,
                 struct err *err) WARN_UNUSED;
/* Tell a keeper what its agent has not taken up. Twice is harmless. */
void say_tell(struct live *live);
/* The text of a resume: what waits, then text (NULL: nothing); NULL when there is neither.
 * Allocated; what waited counts as taken up once say_taken() is called. */
bool say_collect(char **ret, struct server *s, const char *id, const char *text,
                 struct err *err) WARN_UNUSED;
bool say_taken(struct server *s, const char *id, struct err *err) WARN_UNUSED;
/* The attempt has ended by itself, and something waits: it is to go on. */
bool say_goes_on(struct server *s, const struct attempt_row *row);
/* Let it, when that is so. False: it is not so, or could not be done (logged). */
bool say_go_on(struct server *s, const char *id);
/* The same at a server's start. */
bool say_recover(struct server *s, struct err *err) WARN_UNUSED;

#endif
