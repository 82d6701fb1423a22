/*
 * comment_row: what a person wrote about an attempt's work, to be sent to its agent.
 */
#ifndef STORE_COMMENT_ROW_H
#define STORE_COMMENT_ROW_H

#include "runner/base/db.h"
#include "runner/base/jx.h"

extern const char comment_schema[];

/* comment: `path`, `line`, `tip`, `quote` (that line), `text`, `by`. */
bool comment_row_add(int64_t *ret_id, struct db *db, const char *attempt, const json_t *comment,
                     int64_t at_ms, struct err *err) WARN_UNUSED;
/* COMMENT objects of an attempt, oldest first, added to the array; waiting: those not sent yet. */
bool comment_row_list(json_t *array, struct db *db, const char *attempt, bool waiting,
                      struct err *err) WARN_UNUSED;
bool comment_row_set_sent(struct db *db, const char *attempt, int64_t at_ms,
                          struct err *err) WARN_UNUSED;
/* ERR_NOT_FOUND; one that was sent is ERR_CONFLICT. */
bool comment_row_remove(struct db *db, int64_t id, struct err *err) WARN_UNUSED;
/* All of an attempt that goes. */
bool comment_row_remove_all(struct db *db, const char *attempt, struct err *err) WARN_UNUSED;
/* The waiting comments as one message to the agent. tip: the attempt's last commit; a line of
 * another one is told with its commit, since it may be elsewhere by now. Pure. */
void comment_message(struct buf *out, const json_t *comments, const char *tip);

#endif
