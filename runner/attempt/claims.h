/*
 * claims: which further host folders an attempt's box may show and write.
 *
 * A folder that two boxes may write is a way from one into the other, and undoes the mounts of both
 * (a rename in one detaches what is bound over it in the other). So each attempt notes what it
 * writes, in its folder as `writable`, and keeps others from it while it lives.
 */
#ifndef ATTEMPT_CLAIMS_H
#define ATTEMPT_CLAIMS_H

#include "runner/attempt/boxes.h"

/* Check the paths that the box's spec shows over the profile's, from index `first` of its binds on.
 * ERR_USAGE: one shows Headgate's own state, or lets the person's .git be written. ERR_CONFLICT:
 * another attempt that lives may write it, or something in or above it. On success the writable
 * ones are this attempt's. */
bool claims_take(const struct boxes *b, const struct box_spec *spec, size_t first,
                 struct err *err) WARN_UNUSED;
/* Against the notes of all attempts that live but `own`. */
bool claims_check(const struct paths *paths, const char *own, const struct strv *writable,
                  struct err *err) WARN_UNUSED;
/* One is the other, or is in it. */
bool claims_overlap(const char *a, const char *b);
/* When the box has ended, or never came about. */
void claims_drop(const struct paths *paths, const char *attempt);

#endif
