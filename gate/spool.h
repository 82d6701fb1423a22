/*
 * spool: a keeper's durable, numbered, chained records (runner/PROTOCOL.md). One writer.
 *
 * Invariants: a record is on disk (fdatasync) before spool_append returns; numbers rise by one;
 * each record's hash covers its canonical text without `hash`, and its `prev` is the hash before it
 * ("" in the very first). A torn last line after a crash is cut off at open; beyond that records go
 * only by spool_trim, from the front, after the server merged them. Torn is a last line without its
 * newline, or one with NUL bytes in it: pages of one write may reach the disk in any order, and no
 * record text has a NUL. Each line is on disk before the next is written, so only the last one can
 * be torn; any other damage is an error that names the record.
 *
 * After a failed fdatasync nothing is known about the file (fsync(2)); the spool then refuses every
 * further record, and its owner must deny. All of it blocks.
 */
#ifndef GATE_SPOOL_H
#define GATE_SPOOL_H

#include "runner/base/jx.h"

struct spool;

/* Open or create the file `spool` in the folder, check the chain, cut a torn tail. The folder is
 * kept open for spool_trim (a duplicate of dirfd). ERR_CONFLICT: another process writes it. */
bool spool_open(struct spool **ret, int dirfd, struct err *err) WARN_UNUSED;
void spool_close(struct spool *s);
void auto_spool_(struct spool **s);
#define AUTO_SPOOL __attribute__((cleanup(auto_spool_)))

/* Add members seq, at_ms, prev, hash to record (borrowed, changed) and write it. ERR_LIMIT when the
 * spool is full (LIMIT_SPOOL_BYTES): the caller then denies. A record of the kind `exited` may use
 * a reserve beyond that, so that an attempt that filled its spool can still say how it ended.
 * *ret_seq is its number. On failure the file is as before. */
bool spool_append(struct spool *s, json_t *record, int64_t *ret_seq, struct err *err) WARN_UNUSED;
int64_t spool_last_seq(const struct spool *s);
int64_t spool_size_bytes(const struct spool *s);
/* Drop the records before number acked, which the server has merged: a new file beside it replaces
 * the old one, so a crash leaves either. The record acked itself stays, as the anchor of the chain.
 * Costs a rewrite of what stays: call it when spool_size_bytes has grown, not after every ack. */
bool spool_trim(struct spool *s, int64_t acked, struct err *err) WARN_UNUSED;

/* Visit records after seq `after` in order; visit returns false to stop (then the function returns
 * true). Checks the chain from the first record on; ERR_FORMAT names the first bad number. Also for
 * readers without a struct spool; a torn tail is not visited. No file is no record. */
typedef bool (*spool_visit)(void *arg, const json_t *record);
bool spool_replay(int dirfd, int64_t after, spool_visit visit, void *arg,
                  struct err *err) WARN_UNUSED;

#endif
