#include "runner/server/sched.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/server/executor.h"
#include "runner/store/run_row.h"

enum {
    DEFAULT_ATTEMPTS_MAX = 64,
    MEMORY_RECHECK_MS = 2000,
    STORE_RECHECK_MS = 1000,
    MEMINFO_BYTES = 16 * 1024,
};
/* Below this much available memory nothing new is started. */
static const int64_t memory_floor_bytes = INT64_C(256) << 20;

int64_t sched_choose(struct sched_view *view, const int64_t *queued_runs, size_t n_queued)
{
    if (view->active >= view->max_active)
        return 0;
    /* Something must always go on, or a small machine would wait for ever. */
    if (view->is_memory_short && view->active > 0)
        return 0;
    for (size_t i = 0; i < n_queued; i++) {
        for (size_t k = 0; k < view->n_runs; k++) {
            struct sched_run *run = &view->runs[k];
            if (run->run != queued_runs[i] || run->active >= run->jobs)
                continue;
            run->active++;
            view->active++;
            return run->run;
        }
    }
    return 0;
}

/* MemAvailable of /proc/meminfo (proc(5)); an unreadable one holds nothing back. */
static bool is_memory_short(void)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, "/proc/meminfo", MEMINFO_BYTES, &ignored))
        return false;
    const char *line = strstr(text.ptr, "MemAvailable:");
    return line && strtoll(line + strlen("MemAvailable:"), NULL, 10) * 1024 < memory_floor_bytes;
}

/* Open runs with their limits, and how many of their attempts are active. */
static bool load_runs(struct sched_view *view, struct db *db, struct err *err)
{
    struct db_stmt *s;
    bool have;
    if (!db_stmt(&s, db,
                 "SELECT r.id, r.jobs, sum(a.state NOT IN ('queued', 'harvesting'))"
                 " FROM run r JOIN attempt a ON a.run = r.id WHERE a.state <> 'done'"
                 " GROUP BY r.id ORDER BY r.id",
                 err))
        return false;
    while (db_step(s, &have, err)) {
        if (!have) {
            db_reset(s);
            return true;
        }
        view->runs = xreallocarray(view->runs, view->n_runs + 1, sizeof(*view->runs));
        view->runs[view->n_runs++] = (struct sched_run){
            .run = db_col_int(s, 0), .jobs = db_col_int(s, 1), .active = db_col_int(s, 2)};
        view->active += db_col_int(s, 2);
    }
    return false;
}

/* The first queued attempt of a run, taken out of the list. */
static char *take_first(struct strv *queued, int64_t *runs, int64_t run)
{
    for (size_t i = 0; i < queued->n; i++) {
        if (runs[i] != run)
            continue;
        runs[i] = 0;
        return queued->v[i];
    }
    return NULL;
}

static bool start_what_may(struct server *s, struct sched_view *view, struct strv *queued,
                           struct err *err)
{
    AUTO_FREE int64_t *runs = xcalloc(queued->n + 1, sizeof(*runs));
    for (size_t i = 0; i < queued->n; i++)
        runs[i] = strtoll(queued->v[i], NULL, 10);
    int64_t run;
    while ((run = sched_choose(view, runs, queued->n)) != 0) {
        const char *id = take_first(queued, runs, run);
        if (!id)
            break;
        if (!executor_post(NULL, s, id, ATTEMPT_EV_START, NULL, NULL, err))
            return false;
    }
    return true;
}

static void on_due(uv_timer_t *timer)
{
    struct server *s = timer->data;
    struct sched_view view = {.max_active =
                                  config_int(s->config, "run.attempts", DEFAULT_ATTEMPTS_MAX)};
    AUTO_STRV struct strv queued = STRV_INIT;
    struct err err = ERR_INIT;
    if (s->is_stopping)
        return;
    bool ok = attempt_row_ids(&queued, s->db, ATTEMPTS_QUEUED, 0, INT64_MAX, &err);
    if (ok && queued.n > 0) {
        view.is_memory_short = is_memory_short();
        ok = load_runs(&view, s->db, &err) && start_what_may(s, &view, &queued, &err);
    }
    free(view.runs);
    if (!ok) {
        server_log("the queue: %s (tried again)", err.text);
        uv_timer_start(timer, on_due, STORE_RECHECK_MS, 0);
    } else if (view.is_memory_short) {
        uv_timer_start(timer, on_due, MEMORY_RECHECK_MS, 0);
    }
}

void sched_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->sched_timer);
    s->sched_timer.data = s;
}

void sched_kick(struct server *s)
{
    if (!s->is_stopping)
        uv_timer_start(&s->sched_timer, on_due, 0, 0);
}
