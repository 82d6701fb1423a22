/*
 * records: what must not be lost, as records of the spool (gate/spool.h), and who is told of them.
 *
 * A record is on disk before records_add returns; the caller's effect (an answer, a start) comes
 * after. The listener is told of each record once, after that. Records stay in the file until the
 * server has merged them; nothing waits in memory.
 */
#ifndef KEEP_RECORDS_H
#define KEEP_RECORDS_H

#include <stdint.h>
#include "gate/spool.h"

typedef void (*records_fn)(void *arg, const json_t *record, int64_t seq);

struct records {
    struct spool *spool;
    int dirfd; /* borrowed */
    records_fn appended;
    void *arg;
};

bool records_open(struct records *ret, int dirfd, records_fn appended, void *arg,
                  struct err *err) WARN_UNUSED;
void records_close(struct records *r);
int64_t records_last(const struct records *r);
/* The number for a call whose first record is the next one: the record's own, so that numbers never
 * come twice in the life of an attempt, however often it is resumed and its spool trimmed. */
int64_t records_next(const struct records *r);
/* Write a record of this kind; body (stolen, may be NULL) holds its other members. */
bool records_add(struct records *r, const char *kind, json_t *body, struct err *err) WARN_UNUSED;
/* A record that says what became of a call: `expired`, `orphaned`. */
bool records_call(struct records *r, const char *kind, int64_t call, struct err *err) WARN_UNUSED;
/* A sentence for the person. What cannot be written is dropped: a note is never worth a failure. */
void records_note(struct records *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool records_replay(const struct records *r, int64_t after, spool_visit visit, void *arg,
                    struct err *err) WARN_UNUSED;
/* The server has merged all up to seq: give disk space back when it is worth it. */
void records_merged(struct records *r, int64_t seq);

#endif
