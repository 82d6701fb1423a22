/*
 * landing: the checkout of a person's in which a merge lands. It is asked whether it can be
 * updated, and then updated as their own git would, with their hooks and filters.
 */
#ifndef WORKTREE_LANDING_H
#define WORKTREE_LANDING_H

#include "runner/base/strv.h"

struct landing {
    const char *checkout;
    const char *doing;      /* what is under way there (places_doing); NULL: nothing */
    const char *quarantine; /* where new objects are, until they move in */
    const struct strv *env; /* in which git sees them */
    const char *ref;        /* the branch that is checked out there, in full */
    const char *target;     /* the commit that it is at */
};

/* Ask git, with a copy of the checkout's index, whether local changes would be overwritten:
 * ERR_REFUSED. */
bool landing_check(const struct landing *l, const char *new_oid, struct err *err) WARN_UNUSED;
/* Bring branch and files to a commit that has moved in and is ahead. ERR_REFUSED: nothing was
 * changed, or the sentence says what was. */
bool landing_update(const struct landing *l, const char *new_oid, struct err *err) WARN_UNUSED;

#endif
