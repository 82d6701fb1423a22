/*
 * rung: attempts whose rung of the ladder is not their run's.
 */
#ifndef STORE_RUNG_H
#define STORE_RUNG_H

#include "gate/policy.h"
#include "runner/base/db.h"

/* Replace the attempt's own rung. */
bool rung_set(struct db *db, const char *attempt, enum ladder ladder, struct err *err) WARN_UNUSED;
/* From now on the attempts of a run have its rung. */
bool rung_clear(struct db *db, int64_t run, struct err *err) WARN_UNUSED;
/* *ret is unchanged when the attempt has none of its own. */
bool rung_get(enum ladder *ret, struct db *db, const char *attempt, struct err *err) WARN_UNUSED;
/* The rung that an attempt is at, its own or its run's. *ret_found false: there is no such attempt.
 */
bool rung_of(enum ladder *ret, bool *ret_found, struct db *db, const char *attempt,
             struct err *err) WARN_UNUSED;

#endif
