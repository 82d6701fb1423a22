/*
 * gather: requests that are answered when something has come true for each of several attempts.
 */
#ifndef SERVER_GATHER_H
#define SERVER_GATHER_H

#include "runner/server/control.h"

enum gather_what { GATHER_ENDED, GATHER_HARVESTED };

/* Answer r with `attempts` (all of ids, as they are then) once what has been met for each of those
 * in waiting, which may be empty. */
void gather_open(struct request *r, enum gather_what what, const struct strv *ids,
                 const struct strv *waiting);
/* It has been met for this attempt, or the attempt is no more. */
void gather_met(struct server *s, enum gather_what what, const char *id);
void gather_close(struct server *s);

#endif
