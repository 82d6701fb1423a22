/*
 * renewal: the access tokens of the person's logins, for the relays of the attempts that use one.
 *
 * One process per state folder is the server, and it asks headgate-login (runner/login) for one
 * answer at a time for each login, however many want one: who came while it was asked gets the same
 * answer, unless that is the very token that was refused to him. The server has access tokens in
 * its memory while it passes them on; refresh tokens never.
 */
#ifndef SERVER_RENEWAL_H
#define SERVER_RENEWAL_H

#include "runner/server/live.h"

/* A keeper asks: {"model": number of the model, "refused": digest or null}. It is told
 * {"t":"token", "model", and what headgate-login answers}. */
void renewal_ask(struct live *live, const json_t *question);
/* At the end of the server; no work is under way any more. */
void renewal_release(struct server *s);

#endif
