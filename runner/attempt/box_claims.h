/*
 * box_claims: which host folders the boxes of `headgate box` write, so that none is writable in two
 * boxes at once (claims.h). One small file for each account, /tmp/headgate-<uid>/writable, under a
 * lock; what a process noted counts while that very process lives.
 */
#ifndef ATTEMPT_BOX_CLAIMS_H
#define ATTEMPT_BOX_CLAIMS_H

#include "runner/base/paths.h"
#include "sandbox/box.h"

/* Note what the spec shows writable as this process's. ERR_CONFLICT: another box, or an attempt
 * that lives, writes it, or something in or above it. */
bool box_claims_take(const struct box_spec *spec, struct err *err) WARN_UNUSED;
/* Only look, for an attempt. */
bool box_claims_check(const struct strv *writable, struct err *err) WARN_UNUSED;

#endif
