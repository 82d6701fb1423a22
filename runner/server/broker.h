/*
 * broker: the server's part in carrying out calls of source `broker`: which is next, what is kept
 * of it, who is told (runner/store/broker_row.h, runner/attempt/carry.h).
 */
#ifndef SERVER_BROKER_H
#define SERVER_BROKER_H

#include "gate/ledger.h"
#include "runner/server/job.h"

/* JOB_BROKER: take the next call that is due. None: the job then does nothing. */
bool broker_begin(struct job *job, struct server *s, struct err *err) WARN_UNUSED;
/* JOB_BROKER, on the worker. */
void broker_run(struct job *job);
/* Commit what came of it and tell the keeper. False: the store failed; it can be done again. */
bool broker_settle(struct server *s, struct job *job, struct err *err) WARN_UNUSED;
/* Tell a keeper of a call that it still has open, when it is done. */
void broker_tell(struct live *live, const struct ledger_call *call);
/* At the start: what ran is told as unknown, what is due is carried out. */
bool broker_recover(struct server *s, struct err *err) WARN_UNUSED;

#endif
