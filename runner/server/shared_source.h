/*
 * shared_source: what the attempts of one run that are prepared at the same time have read of their
 * repository together (wt_source). An attempt that is prepared later reads it anew.
 */
#ifndef SERVER_SHARED_SOURCE_H
#define SERVER_SHARED_SOURCE_H

#include "runner/server/core.h"
#include "worktree/worktree.h"

struct shared_source {
    struct shared_source *next;
    struct server *server;
    int64_t run, made_ms; /* by clock_mono_ms */
    int users;
    struct wt_source *source;
};

/* For one job; give it back when that has ended. */
struct shared_source *shared_source_take(struct server *s, int64_t run, const char *path);
/* NULL is allowed. The last one frees it. */
void shared_source_give_back(struct shared_source *shared);

#endif
