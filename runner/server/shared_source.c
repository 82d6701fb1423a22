#include "runner/server/shared_source.h"

#include <stdlib.h>

#include "runner/base/clock.h"

/* A setting that a person changes holds for what is prepared a second later. */
enum { FRESH_MS = 1000 };

struct shared_source *shared_source_take(struct server *s, int64_t run, const char *path)
{
    int64_t now = clock_mono_ms();
    for (struct shared_source *it = s->sources; it; it = it->next)
        if (it->run == run && now - it->made_ms < FRESH_MS) {
            it->users++;
            return it;
        }
    struct shared_source *made = xcalloc(1, sizeof(*made));
    *made = (struct shared_source){
        .next = s->sources,
        .server = s,
        .run = run,
        .made_ms = now,
        .users = 1,
        .source = wt_source_new(path),
    };
    s->sources = made;
    return made;
}

void shared_source_give_back(struct shared_source *shared)
{
    if (!shared || --shared->users > 0)
        return;
    struct shared_source **at = &shared->server->sources;
    while (*at != shared)
        at = &(*at)->next;
    *at = shared->next;
    wt_source_free(shared->source);
    free(shared);
}
