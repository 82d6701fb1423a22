/*
 * broker_row: calls of source `broker` that may happen, and what came of each.
 *
 *   due -> running -> done
 *
 * A row is made in the transaction that merges the record by which its keeper let it pass, so there
 * is one for each such call however often the record is sent. `running` is committed before
 * anything is done, and a server that finds such a row at its start says that nobody knows what
 * came of it: nothing is done twice.
 */
#ifndef STORE_BROKER_ROW_H
#define STORE_BROKER_ROW_H

#include "runner/base/db.h"
#include "runner/base/jx.h"

/* SQL of the table, for db_migrate. */
extern const char broker_schema[];

bool broker_row_add(struct db *db, int64_t call, const char *attempt, int64_t at_ms,
                    struct err *err) WARN_UNUSED;
/* The oldest that is due: now running. *ret_call 0: there is none. */
bool broker_row_begin(int64_t *ret_call, struct db *db, const char *attempt,
                      struct err *err) WARN_UNUSED;
/* message: of runner/PROTOCOL.md, without call and name. */
bool broker_row_end(struct db *db, int64_t call, const json_t *message,
                    struct err *err) WARN_UNUSED;
/* What came of it, new reference; NULL: it is not done, or there is no such call. */
bool broker_row_message(json_t **ret, struct db *db, int64_t call, struct err *err) WARN_UNUSED;
/* Ids of attempts with calls that are due, and of calls ("12") that run. */
bool broker_row_open(struct strv *ret_due, struct strv *ret_running, struct db *db,
                     struct err *err) WARN_UNUSED;

#endif
