/*
 * live: what the server remembers of an attempt while something of it is under way: a worker, a
 * keeper's stream, a watch. It is made when first needed and forgotten by live_settle; all that
 * must last is in the store.
 */
#ifndef SERVER_LIVE_H
#define SERVER_LIVE_H

#include "runner/server/core.h"

struct live {
    struct live *next;
    struct server *server;
    char *id;
    int64_t run;
    struct job *job;       /* executor.c: at work */
    unsigned wanted;       /* executor.c: jobs that wait, by 1 << enum job_kind */
    bool discard_by_force; /* discard.c */
    struct link *link;     /* link.c */
    struct watch *watch;   /* watch.c */
    char *last_line;       /* events.c */
    bool line_is_due;
    unsigned told; /* notify_news.c: kinds of news that the person has, by 1 << enum news_kind */
};

struct live *live_find(const struct server *s, const char *id);
/* Find or make. */
struct live *live_get(struct server *s, const char *id, int64_t run);
/* Forget it when nothing is under way: live may be gone afterwards. */
void live_settle(struct live *live);
/* The names that a keeper which was killed left behind. Also for workers. */
void live_remove_sockets(const struct paths *paths, const char *id);
/* Forget all, at the end of the server; nothing refers to them any more. */
void live_free_all(struct server *s);

#endif
