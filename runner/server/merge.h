/*
 * merge: a keeper's records (runner/PROTOCOL.md) become rows of the store.
 *
 * Runs inside the caller's transaction and on a row that the caller loaded and saves, so that
 * calls, state and the number of the last merged record are committed together: a record counts
 * exactly once, however often it is sent.
 */
#ifndef SERVER_MERGE_H
#define SERVER_MERGE_H

#include "gate/ledger.h"
#include "runner/store/attempt_row.h"

struct merge_call {
    int64_t id;
    bool is_asked; /* the keeper waits for an answer to it */
};

struct merge {
    struct merge_call *calls; /* whose state changed */
    size_t n_calls;
    unsigned effects; /* of enum attempt_effect */
    bool has_broker;  /* a call is due that a broker carries out */
    bool has_started; /* its agent: it can be spoken to */
    bool has_ended;   /* it is done since this */
    json_t *news;     /* of the pulse, for the person; NULL: none was told */
};
#define MERGE_INIT \
    {              \
        0          \
    }
#define AUTO_MERGE __attribute__((cleanup(merge_release)))
void merge_release(struct merge *m);

/* Merge one record. One that was merged before is passed over; one whose number is not the next is
 * ERR_FORMAT; what cannot be understood in it is written to the log and passed over. Else false
 * means that the store failed. */
bool merge_record(struct merge *m, struct db *db, struct attempt_row *row, const json_t *record,
                  struct err *err) WARN_UNUSED;
/* The calls of an attempt whose keeper is gone. */
bool merge_orphans(struct merge *m, struct db *db, const char *attempt, int64_t at_ms,
                   struct err *err) WARN_UNUSED;

#endif
