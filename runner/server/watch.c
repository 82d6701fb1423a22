#include "runner/server/watch.h"

#include <stdlib.h>

#include "runner/server/executor.h"

/* A rebase moves HEAD many times; commits come home once it has been quiet for a moment. */
enum { QUIET_MS = 1000, PARTS = 2 };

struct watch {
    struct live *live; /* NULL: closing */
    uv_fs_event_t event;
    uv_timer_t quiet;
    int parts_open;
};

static void on_part_closed(uv_handle_t *handle)
{
    struct watch *w = handle->data;
    if (--w->parts_open == 0)
        free(w);
}

static void on_quiet(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    executor_want(w->live, JOB_HARVEST);
}

/* The first change starts the clock, so that an agent that never rests is harvested all the same.
 */
static void on_change(uv_fs_event_t *event, const char *name, int kinds, int status)
{
    struct watch *w = event->data;
    (void)name;
    (void)kinds;
    if (status == 0 && !uv_is_active((uv_handle_t *)&w->quiet))
        uv_timer_start(&w->quiet, on_quiet, QUIET_MS, 0);
}

void watch_open(struct live *live)
{
    struct server *s = live->server;
    AUTO_FREE char *path = paths_attempt_file(&s->paths, live->id, "git/logs");
    if (live->watch || s->is_stopping)
        return;
    struct watch *w = xcalloc(1, sizeof(*w));
    *w = (struct watch){.live = live, .parts_open = PARTS};
    uv_fs_event_init(&s->loop, &w->event);
    uv_timer_init(&s->loop, &w->quiet);
    w->event.data = w->quiet.data = w;
    live->watch = w;
    /* Only a sign to look: what is in the folder is never read here. */
    int status = uv_fs_event_start(&w->event, on_change, path, 0);
    if (status != 0)
        server_log("attempt %s: its commits come home at the end only: %s: %s", live->id, path,
                   uv_strerror(status));
}

void watch_close(struct live *live)
{
    struct watch *w = live->watch;
    if (!w)
        return;
    live->watch = NULL;
    w->live = NULL;
    uv_close((uv_handle_t *)&w->event, on_part_closed);
    uv_close((uv_handle_t *)&w->quiet, on_part_closed);
}
