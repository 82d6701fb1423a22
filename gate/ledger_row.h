/*
 * ledger_row: what the ledger's files share: a transaction that may be the caller's, rows of `call`
 * as values, and the log row of a change. Inside of the ledger only.
 */
#ifndef GATE_LEDGER_ROW_H
#define GATE_LEDGER_ROW_H

#include "gate/ledger.h"

/* Begin unless the caller has a transaction open; roll back at the end of the scope unless
 * committed. */
struct ledger_tx {
    struct db *db; /* NULL: the caller's transaction, or done */
};
#define AUTO_LEDGER_TX __attribute__((cleanup(ledger_tx_end)))
bool ledger_tx_begin(struct ledger_tx *tx, struct db *db, struct err *err) WARN_UNUSED;
bool ledger_tx_commit(struct ledger_tx *tx, struct err *err) WARN_UNUSED;
void ledger_tx_end(struct ledger_tx *tx);

/* Columns of a call in the order that ledger_row_read takes them. */
#define LEDGER_CALL_COLUMNS                                                                   \
    "id, attempt, local, state, request, action, digest, asked_ms, deadline_ms, decided_ms, " \
    "decided_by, why, reason, allowed, rule, ask_why, ask_reason, dropped_ms"
bool ledger_row_read(struct ledger_call *ret, struct db_stmt *s, struct err *err) WARN_UNUSED;
/* Step a statement that selects those columns by a key. *ret_found false: there is none. */
bool ledger_row_one(struct ledger_call *ret, bool *ret_found, struct db_stmt *s,
                    struct err *err) WARN_UNUSED;
/* Read again what a transition changed; call is released first. */
bool ledger_row_reload(struct ledger_call *call, struct db *db, struct err *err) WARN_UNUSED;

/* Log a change of a call: its ids, digests, state and decision. */
bool ledger_row_log(struct db *db, const char *kind, const struct ledger_call *call, int64_t at_ms,
                    struct err *err) WARN_UNUSED;
/* Add a one-shot grant for the call's attempt and action, unless there is one. */
bool ledger_row_grant(struct db *db, const struct ledger_call *call, const char *by, int64_t at_ms,
                      struct err *err) WARN_UNUSED;
/* A JSON string of text from the store: encoded bytes only where it is no UTF-8. */
json_t *ledger_row_text(const char *text);

#endif
