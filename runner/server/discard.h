/*
 * discard: requests that remove attempts.
 */
#ifndef SERVER_DISCARD_H
#define SERVER_DISCARD_H

#include "runner/server/control.h"
#include "runner/server/job.h"

struct discard {
    struct discard *next;
    struct request *request;
    struct strv waiting; /* being removed; an emptied string: has ended */
    size_t n_waiting;
    json_t *discarded; /* ids */
    json_t *kept;      /* {id,why} */
    bool is_cut_short; /* the server ends: the request is to be failed with `why` */
    struct err why;
    void (*done)(struct discard *d); /* answers the request */
};

/* Remove the attempts; those that are under way, or would lose work without force, are kept. done
 * is called once, maybe at once; afterwards the discard is freed. */
void discard_start(struct request *r, const struct strv *ids, bool force,
                   void (*done)(struct discard *d));
/* The executor's job came back. False: the store failed. */
bool discard_settle(struct server *s, struct job *job, struct err *err) WARN_UNUSED;
void discard_close(struct server *s);

#endif
