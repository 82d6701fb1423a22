/*
 * message_row: what a person said to a headless agent, until the agent has taken it up.
 */
#ifndef STORE_MESSAGE_ROW_H
#define STORE_MESSAGE_ROW_H

#include "runner/base/db.h"
#include "runner/base/jx.h"
#include "runner/base/strv.h"

extern const char message_schema[];

bool message_row_add(int64_t *ret_id, struct db *db, const char *attempt, const char *text,
                     const char *by, int64_t at_ms, struct err *err) WARN_UNUSED;
/* {id, text} of those that were not taken up, oldest first, added to the array. */
bool message_row_waiting(json_t *array, struct db *db, const char *attempt,
                         struct err *err) WARN_UNUSED;
/* This one and all before it were taken up; those that had been stay as they are. */
bool message_row_set_heard(struct db *db, const char *attempt, int64_t id, int64_t at_ms,
                           struct err *err) WARN_UNUSED;
/* Attempts that have some waiting. */
bool message_row_attempts(struct strv *ret, struct db *db, struct err *err) WARN_UNUSED;
/* All of an attempt that goes. */
bool message_row_remove_all(struct db *db, const char *attempt, struct err *err) WARN_UNUSED;

#endif
