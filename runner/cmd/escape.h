/*
 * escape: the escape suite as a command: the families of the box, and those that need a worktree
 * and its harvest.
 */
#ifndef CMD_ESCAPE_H
#define CMD_ESCAPE_H

#include "runner/base/jx.h"
#include "sandbox/escape/escape.h"

/* {"attempts":[...]} of the whole suite, or of the ids in `only`, for boxes that run as uid and
 * gid. *ret_contained: none came through a layer that is said to be
 * active, and none failed. ERR_USAGE for an id that there is not. */
bool escape_suite(json_t **ret, bool *ret_contained, const char *launcher, uid_t uid, gid_t gid,
                  const char *only, struct err *err) WARN_UNUSED;

#endif
