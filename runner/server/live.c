#include "runner/server/live.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/server/idle.h"
#include "runner/server/job.h"

struct live *live_find(const struct server *s, const char *id)
{
    for (struct live *live = s->lives; live; live = live->next)
        if (strcmp(live->id, id) == 0)
            return live;
    return NULL;
}

struct live *live_get(struct server *s, const char *id, int64_t run)
{
    struct live *live = live_find(s, id);
    if (live)
        return live;
    live = xcalloc(1, sizeof(*live));
    live->server = s;
    live->id = xstrdup(id);
    live->run = run;
    live->next = s->lives;
    s->lives = live;
    idle_touch(s);
    return live;
}

static void forget(struct live *live)
{
    struct live **at = &live->server->lives;
    while (*at != live)
        at = &(*at)->next;
    *at = live->next;
    if (live->job) /* it came back, but the store could not take what it found out */
        job_free(live->job);
    free(live->id);
    free(live->last_line);
    free(live);
}

void live_settle(struct live *live)
{
    struct server *s = live->server;
    if (live->job || live->wanted || live->link || live->watch)
        return;
    forget(live);
    idle_touch(s);
}

void live_remove_sockets(const struct paths *paths, const char *id)
{
    AUTO_FREE char *keeper = paths_keeper_socket(paths, id);
    AUTO_FREE char *gate = paths_gate_socket(paths, id);
    unlink(keeper);
    unlink(gate);
}

void live_free_all(struct server *s)
{
    while (s->lives)
        forget(s->lives);
}
