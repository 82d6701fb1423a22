/*
 * record: a small file of KEY=VALUE strings, each ended by a NUL, so that a value may be any path.
 *
 * Two records live in an attempt's folder: "attempt", what it is, written when it is whole; and
 * "journal", what is half done, written before anything outside the folder is touched.
 */
#ifndef WORKTREE_RECORD_H
#define WORKTREE_RECORD_H

#include "runner/base/strv.h"

#define RECORD_ATTEMPT "attempt"
#define RECORD_JOURNAL "journal"
/* No record but a sentence's part: what the last harvest left in the worktree (left.h). */
#define RECORD_LEFT "left"

/* Replace atomically and durably. */
bool record_save(const char *dir, const char *name, const struct strv *record,
                 struct err *err) WARN_UNUSED;
/* *ret_found says whether the file is there. */
bool record_load(struct strv *record, bool *ret_found, const char *dir, const char *name,
                 struct err *err) WARN_UNUSED;
bool record_remove(const char *dir, const char *name, struct err *err) WARN_UNUSED;
/* The value, or "" */
const char *record_get(const struct strv *record, const char *key);

#endif
