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
    struct discard_one {
        char *id;
        bool is_over;
        char *why; /* it is kept; NULL: removed, or not over */
    } * v;         /* as they were asked for */
    size_t n, n_waiting;
    json_t *discarded; /* for done: ids, in that order */
    json_t *kept;      /* for done: {id,why}, in that order */
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
