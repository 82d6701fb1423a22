/*
 * link: the server's stream to one keeper, across reconnects.
 *
 * A link begins when a keeper may be there and ends when the keeper is known to be gone or was told
 * to quit. In between the stream may break and be opened again any number of times: records are
 * numbered, every message of ours is idempotent.
 */
#ifndef SERVER_LINK_H
#define SERVER_LINK_H

#include "gate/ledger.h"
#include "runner/server/live.h"

/* Make sure that there is one. */
void link_open(struct live *live);
/* End the box: now, or as soon as the stream is open. A keeper that does not manage in its time is
 * killed. */
void link_stop(struct live *live);
/* All is merged: let the keeper go. Also when no link was open (a server before this one may have
 * died here). */
void link_quit(struct live *live);
/* Tell the keeper what was decided of a call, or what it is called. No stream: it is told when
 * there is one. */
void link_tell_call(struct live *live, const struct ledger_call *call);
/* Tell the keeper what came of a call that was carried out (members of the message, borrowed). */
void link_tell_broker(struct live *live, const struct ledger_call *call, const json_t *message);
void link_tell_policy(struct live *live);
/* Tell the keeper what came of its question for a token (borrowed). */
void link_tell_token(struct live *live, const json_t *answer);
/* ERR_CONFLICT when there is no stream. */
bool link_say(struct live *live, int64_t message, const char *text, struct err *err) WARN_UNUSED;
/* The epoch that the keeper acknowledged; INT64_MAX for one that runs no agent any more. */
int64_t link_epoch(const struct link *link);
/* The server ends: drop the stream, the keeper goes on. */
void link_drop(struct live *live);

#endif
