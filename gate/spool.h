/*
 * spool: a keeper's durable, numbered, chained records (runner/PROTOCOL.md). One writer.
 *
 * Invariants: a record is on disk (fdatasync) before spool_append returns; numbers rise by one; each record's hash covers
 * its canonical text without `hash`, and its `prev` is the hash before it; a torn last line after a crash is cut off at
 * open and nothing else is ever removed.
 */
#ifndef GATE_SPOOL_H
#define GATE_SPOOL_H

#include "runner/base/jx.h"

struct spool;

/* Open or create the file `spool` in the folder. */
bool spool_open(struct spool **ret, int dirfd, struct err *err) WARN_UNUSED;
void spool_close(struct spool *s);
/* Add members seq, at_ms, prev, hash to record (borrowed, changed) and write it. ERR_LIMIT when the spool is full
 * (LIMIT_SPOOL_BYTES): the caller then denies. *ret_seq is its number. */
bool spool_append(struct spool *s, json_t *record, int64_t *ret_seq, struct err *err) WARN_UNUSED;
int64_t spool_last_seq(const struct spool *s);
/* Visit records after seq `after` in order; visit returns false to stop (then the function returns true). Checks the
 * chain from the first record on; ERR_FORMAT names the first bad number. Also for readers without a struct spool. */
typedef bool (*spool_visit)(void *arg, const json_t *record);
bool spool_replay(int dirfd, int64_t after, spool_visit visit, void *arg, struct err *err) WARN_UNUSED;

#endif
