#include "runner/server/watch.h"

#include <stdlib.h>

#include "runner/server/executor.h"

/* A rebase moves HEAD many times; commits come home once it has been quiet for a moment. */
enum { QUIET_MS = 1000, PARTS = 2 };

struct watch {
    struct live *live; /* NULL: closing */
    bool has_reflog;   /* watches git/logs; before the first commit there is only git */
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

static void on_change(uv_fs_event_t *event, const char *name, int kinds, int status);

static int watch_folder(struct watch *w, const char *name)
{
    AUTO_FREE char *path = paths_attempt_file(&w->live->server->paths, w->live->id, name);
    return uv_fs_event_start(&w->event, on_change, path, 0);
}

/* The folder of reflogs changes with every commit and with little else. What is in it is never read
 * here: a change is only a sign to look. */
static int arm(struct watch *w)
{
    uv_fs_event_stop(&w->event);
    w->has_reflog = watch_folder(w, "git/logs") == 0;
    return w->has_reflog ? 0 : watch_folder(w, "git");
}

/* The first change starts the clock: an agent that never rests is harvested all the same. */
static void on_change(uv_fs_event_t *event, const char *name, int kinds, int status)
{
    struct watch *w = event->data;
    (void)name;
    (void)kinds;
    if (status != 0 || (!w->has_reflog && (arm(w) != 0 || !w->has_reflog)))
        return;
    if (!uv_is_active((uv_handle_t *)&w->quiet))
        uv_timer_start(&w->quiet, on_quiet, QUIET_MS, 0);
}

void watch_open(struct live *live)
{
    struct server *s = live->server;
    if (live->watch || s->is_stopping)
        return;
    struct watch *w = xcalloc(1, sizeof(*w));
    *w = (struct watch){.live = live, .parts_open = PARTS};
    uv_fs_event_init(&s->loop, &w->event);
    uv_timer_init(&s->loop, &w->quiet);
    w->event.data = w->quiet.data = w;
    live->watch = w;
    int status = arm(w);
    if (w->has_reflog) /* it was faster than we */
        uv_timer_start(&w->quiet, on_quiet, QUIET_MS, 0);
    if (status != 0)
        server_log("attempt %s: its commits come home at the end only: %s", live->id,
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
