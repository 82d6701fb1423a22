#include "runner/server/executor.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/server/broker.h"
#include "runner/server/clash.h"
#include "runner/server/discard.h"
#include "runner/server/epoch.h"
#include "runner/server/events.h"
#include "runner/server/gather.h"
#include "runner/server/idle.h"
#include "runner/server/link.h"
#include "runner/server/merge.h"
#include "runner/server/news.h"
#include "runner/server/notify_news.h"
#include "runner/server/say.h"
#include "runner/server/sched.h"
#include "runner/server/watch.h"
#include "runner/store/store.h"

/* JOBS_MAX: fewer than the pool has threads (server.c), so that a request's own work always finds
 * one. */
enum { JOBS_MAX = 6, RETRY_MS = 500, BATCH = 256 };

/* ---- states ---- */

/* What follows from a row as it was just committed. */
static void follow(struct server *s, const struct attempt_row *row, const struct merge *m)
{
    struct live *live = live_find(s, row->id);
    news_tell(s, row, m);
    if (live && row->state == ATTEMPT_RUNNING)
        watch_open(live);
    else if (live)
        watch_close(live);
    executor_carry_out(s, row->id, row->run, m->effects & ~(unsigned)ATTEMPT_DO_ORPHAN);
    if (m->has_broker)
        executor_want(live_get(s, row->id, row->run), JOB_BROKER);
    if (m->has_started && live)
        say_tell(live);
    if (say_goes_on(s, row))
        return; /* it was not the end: finish() lets it */
    if (m->has_ended)
        notify_ended(s, row);
    events_attempt(s, row->id);
    if (row->state == ATTEMPT_DONE || row->state == ATTEMPT_QUEUED)
        events_run(s, row->run);
    if (row->state == ATTEMPT_DONE)
        gather_met(s, GATHER_ENDED, row->id);
    live = live_find(s, row->id);
    if (live)
        live_settle(live);
}

/* Inside the transaction: what belongs to the row's new state. */
static bool save(struct server *s, struct attempt_row *row, struct merge *m, struct err *err)
{
    const struct live *live = live_find(s, row->id);
    if (live && live->last_line)
        attempt_row_set(&row->last_line, live->last_line);
    if (m->effects & ATTEMPT_DO_ORPHAN && !merge_orphans(m, s->db, row->id, clock_unix_ms(), err))
        return false;
    return attempt_row_save(s->db, row, err);
}

static bool move(struct attempt_row *row, struct merge *m, enum attempt_event event)
{
    bool was_done = row->state == ATTEMPT_DONE;
    bool moved = attempt_row_apply(row, event, clock_unix_ms(), &m->effects);
    m->has_ended = !was_done && row->state == ATTEMPT_DONE;
    return moved;
}

bool executor_post(bool *ret_moved, struct server *s, const char *id, enum attempt_event event,
                   executor_fill fill, void *arg, struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    AUTO_ROLLBACK struct db *db = s->db;
    bool moved;
    if (!db_begin(db, err) || !attempt_row_get(&row, db, id, err))
        return false;
    if (fill)
        fill(&row, arg);
    moved = move(&row, &m, event);
    if (moved && (!save(s, &row, &m, err) || !db_commit(db, err)))
        return false;
    if (ret_moved)
        *ret_moved = moved;
    if (!moved)
        return true;
    follow(s, &row, &m);
    return true;
}

struct batch_item { /* one attempt of a batch, between its transaction and what follows */
    struct attempt_row row;
    struct merge m;
    bool moved;
};

static void batch_release(struct batch_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attempt_row_release(&items[i].row);
        merge_release(&items[i].m);
    }
    free(items);
}

static bool commit_batch(struct server *s, struct batch_item *items, char *const *ids, size_t n,
                         enum attempt_event event, struct err *err)
{
    AUTO_ROLLBACK struct db *db = s->db;
    if (!db_begin(db, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct batch_item *item = &items[i];
        if (!attempt_row_get(&item->row, db, ids[i], err))
            return false;
        item->moved = move(&item->row, &item->m, event);
        if (item->moved && !save(s, &item->row, &item->m, err))
            return false;
    }
    return db_commit(db, err);
}

bool executor_post_all(struct server *s, const struct strv *ids, enum attempt_event event,
                       struct err *err)
{
    for (size_t done = 0; done < ids->n; done += BATCH) {
        size_t n = ids->n - done < BATCH ? ids->n - done : BATCH;
        struct batch_item *items = xcalloc(n, sizeof(*items));
        bool ok = commit_batch(s, items, ids->v + done, n, event, err);
        for (size_t i = 0; ok && i < n; i++)
            if (items[i].moved)
                follow(s, &items[i].row, &items[i].m);
        batch_release(items, n);
        if (!ok)
            return false;
    }
    return true;
}

bool executor_update(struct server *s, const char *id, executor_fill fill, void *arg,
                     struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!attempt_row_get(&row, s->db, id, err))
        return false;
    fill(&row, arg);
    if (!attempt_row_save(s->db, &row, err))
        return false;
    events_attempt(s, id);
    return true;
}

bool executor_merge(struct live *live, json_t *records, struct err *err)
{
    struct server *s = live->server;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    AUTO_ROLLBACK struct db *db = s->db;
    size_t i;
    json_t *record;
    if (!db_begin(db, err) || !attempt_row_get(&row, db, live->id, err))
        return false;
    json_array_foreach(records, i, record)
    {
        if (!merge_record(&m, db, &row, record, err))
            return false;
    }
    if (!save(s, &row, &m, err) || !db_commit(db, err))
        return false;
    follow(s, &row, &m);
    return true;
}

/* At recovery only: a change of state orphans in its own transaction. */
static void orphan(struct server *s, const char *id)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_MERGE struct merge m = MERGE_INIT;
    AUTO_ROLLBACK struct db *db = s->db;
    struct err err = ERR_INIT;
    if (db_begin(db, &err) && attempt_row_get(&row, db, id, &err) &&
        merge_orphans(&m, db, id, clock_unix_ms(), &err) && db_commit(db, &err))
        news_tell(s, &row, &m);
    else
        server_log("calls of attempt %s: %s", id, err.text);
}

void executor_carry_out(struct server *s, const char *id, int64_t run, unsigned effects)
{
    if (effects & ATTEMPT_DO_SCHEDULE)
        sched_kick(s);
    if (effects & ATTEMPT_DO_ORPHAN)
        orphan(s, id);
    effects &= ~(unsigned)(ATTEMPT_DO_SCHEDULE | ATTEMPT_DO_ORPHAN);
    if (!effects)
        return;
    struct live *live = live_get(s, id, run);
    if (effects & ATTEMPT_DO_PREPARE)
        executor_want(live, JOB_PREPARE);
    if (effects & ATTEMPT_DO_LAUNCH)
        executor_want(live, JOB_LAUNCH);
    if (effects & ATTEMPT_DO_CONNECT)
        link_open(live);
    if (effects & ATTEMPT_DO_STOP)
        link_stop(live);
    if (effects & ATTEMPT_DO_QUIT)
        link_quit(live);
    if (effects & ATTEMPT_DO_HARVEST)
        executor_want(live, JOB_HARVEST_END);
}

/* ---- what jobs found out ---- */

static void fill_place(struct attempt_row *row, void *arg)
{
    const struct job *job = arg;
    if (!job->ok) {
        attempt_row_set(&row->error, job->err.text);
        return;
    }
    attempt_row_set(&row->tree, job->place.tree);
    attempt_row_set(&row->engine, job->place.engine);
    attempt_row_set(&row->engine_why, job->place.engine_why);
}

static void fill_error(struct attempt_row *row, void *arg)
{
    const struct job *job = arg;
    if (!job->ok)
        attempt_row_set(&row->error, job->err.text);
}

static void fill_harvest(struct attempt_row *row, void *arg)
{
    const struct job *job = arg;
    const struct wt_harvest *h = &job->harvest;
    if (!job->ok) {
        AUTO_FREE char *text = xasprintf("the work could not be brought home: %s", job->err.text);
        attempt_row_set(job->kind == JOB_HARVEST || row->error ? &row->note : &row->error, text);
        if (job->kind == JOB_HARVEST_END && row->outcome == OUTCOME_OK)
            row->outcome = OUTCOME_FAILED; /* what was made is not where the person looks for it */
        return;
    }
    AUTO_BUF struct buf review = BUF_INIT;
    AUTO_JSON json_t *list = jx_from_strv(&h->review);
    jx_dump(&review, list);
    attempt_row_set(&row->review, review.ptr);
    attempt_row_set(&row->tip, h->tip[0] ? h->tip : NULL);
    attempt_row_set(&row->snapshot, h->snapshot[0] ? h->snapshot : NULL);
    row->commits = h->commits;
    row->files = h->files;
    if (h->note)
        attempt_row_set(&row->note, h->note);
}

/* A row of the log where the work has moved. Before the change itself: told twice is better than
 * not told, and a reader takes it once. */
static bool log_refs(const struct job *job, struct server *s, struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_JSON json_t *body = json_object();
    const struct wt_harvest *h = &job->harvest;
    if (!attempt_row_get(&row, s->db, job->live->id, err))
        return false;
    const char *from = row.tip ? row.tip : row.base;
    if (!job->ok || !h->tip[0] || strcmp(from, h->tip) == 0)
        return true;
    AUTO_FREE char *ref = h->branch_moved ? xasprintf("refs/heads/%s", row.branch)
                                          : xasprintf("refs/%s/head", row.branch);
    jx_set_str(body, "attempt", row.id);
    jx_set_str(body, "ref", ref);
    jx_set_str(body, "from", from);
    jx_set_str(body, "to", h->tip);
    jx_set_int(body, "commits", h->commits);
    jx_set_int(body, "files", h->files);
    return ledger_tell(s->db, row.id, "refs", body, clock_unix_ms(), err);
}

/* The keeper is gone: what it had spooled counts first. */
static bool settle_replay(struct job *job, struct server *s, struct err *err)
{
    if (!job->ok)
        server_log("the spool of attempt %s: %s", job->live->id, job->err.text);
    if (!executor_merge(job->live, job->records, err))
        return false;
    return executor_post(NULL, s, job->live->id, ATTEMPT_EV_GONE, NULL, NULL, err);
}

static bool settle_harvest_end(struct job *job, struct server *s, struct err *err)
{
    bool moved;
    const char *id = job->live->id;
    return log_refs(job, s, err) &&
           executor_post(&moved, s, id, ATTEMPT_EV_HARVESTED, fill_harvest, job, err) &&
           (moved || executor_update(s, id, fill_harvest, job, err));
}

/* Commit what a job found out. False: the store failed; it can be done again. */
static bool settle(struct job *job, struct server *s, struct err *err)
{
    const char *id = job->live->id;
    switch (job->kind) {
    case JOB_RECOVER:
        return executor_post(NULL, s, id,
                             job->ok ? ATTEMPT_EV_RECOVERED : ATTEMPT_EV_PREPARE_FAILED, fill_error,
                             job, err);
    case JOB_PREPARE:
        return executor_post(NULL, s, id, job->ok ? ATTEMPT_EV_PREPARED : ATTEMPT_EV_PREPARE_FAILED,
                             fill_place, job, err);
    case JOB_LAUNCH:
        return executor_post(NULL, s, id, job->ok ? ATTEMPT_EV_LAUNCHED : ATTEMPT_EV_LAUNCH_FAILED,
                             fill_error, job, err);
    case JOB_REPLAY:
        return settle_replay(job, s, err);
    case JOB_BROKER:
        return (!job->has_harvest || executor_update(s, id, fill_harvest, job, err)) &&
               broker_settle(s, job, err);
    case JOB_HARVEST:
        return log_refs(job, s, err) && executor_update(s, id, fill_harvest, job, err);
    case JOB_HARVEST_END:
        return settle_harvest_end(job, s, err);
    case JOB_DISCARD:
        return discard_settle(s, job, err);
    case JOB_KIND_COUNT:
        break;
    }
    return err_set(err, ERR_INTERNAL, "a job of no kind");
}

/* ---- jobs ---- */

/* What brings an agent to work goes before what follows when one has ended. */
static void kick_all(struct server *s)
{
    struct live *next;
    unsigned first = 1U << JOB_RECOVER | 1U << JOB_PREPARE | 1U << JOB_LAUNCH;
    for (unsigned wanted = first; wanted; wanted = wanted == first ? ~first : 0)
        for (struct live *live = s->lives; live && s->jobs_running < JOBS_MAX; live = next) {
            next = live->next;
            if (live->wanted & wanted)
                executor_kick(live);
        }
}

static void on_retry(uv_timer_t *timer);

static void retry_later(struct server *s)
{
    if (!s->is_stopping && !uv_is_active((uv_handle_t *)&s->retry_timer))
        uv_timer_start(&s->retry_timer, on_retry, RETRY_MS, 0);
}

static void finish(struct job *job)
{
    struct live *live = job->live;
    struct server *s = live->server;
    struct err err = ERR_INIT;
    if (!settle(job, s, &err)) {
        server_log("attempt %s: %s (tried again)", live->id, err.text);
        retry_later(s);
        return;
    }
    if (job->kind == JOB_HARVEST || job->kind == JOB_HARVEST_END)
        clash_touch(s, live->id);
    /* One that is still wanted will see more. */
    unsigned harvests = 1U << JOB_HARVEST | 1U << JOB_HARVEST_END;
    if (1U << job->kind & harvests && !(live->wanted & harvests))
        gather_met(s, GATHER_HARVESTED, live->id);
    if (job->kind == JOB_HARVEST_END)
        (void)say_go_on(s, live->id);
    live->job = NULL;
    job_free(job);
    executor_kick(live);
    live_settle(live);
    kick_all(s);
}

static void on_run(uv_work_t *req)
{
    job_run(req->data);
}

static void on_back(uv_work_t *req, int status)
{
    struct job *job = req->data;
    struct server *s = job->live->server;
    (void)status; /* never cancelled */
    s->works_running--;
    s->jobs_running--;
    job->is_back = true;
    finish(job);
    idle_touch(s);
}

static bool fill_job(struct job *job, struct server *s, struct err *err)
{
    const char *id = job->live->id;
    if (!attempt_row_spec(&job->spec, s->db, id, err))
        return false;
    if (job->kind == JOB_BROKER)
        return broker_begin(job, s, err);
    if (job->kind == JOB_PREPARE) {
        job->source = shared_source_take(s, job->spec.run, job->spec.repo);
        return epoch_policy(&job->policy, s, id, err) &&
               keyring_fill(&job->spec.secrets, &s->secrets, job->spec.run, id, err);
    }
    if (job->kind != JOB_REPLAY && job->kind != JOB_LAUNCH)
        return true;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!attempt_row_get(&row, s->db, id, err))
        return false;
    if (job->kind == JOB_LAUNCH)
        job->keys = keyring_copy(&s->keyring, job->spec.run);
    job->keeper = row.keeper;
    job->after = row.spool_seq;
    return true;
}

static void start(struct live *live, enum job_kind kind)
{
    struct server *s = live->server;
    struct err err = ERR_INIT;
    struct job *job = xcalloc(1, sizeof(*job));
    *job = (struct job){.live = live,
                        .kind = kind,
                        .paths = &s->paths,
                        .config = s->config,
                        .force = live->discard_by_force};
    bool is_filled = fill_job(job, s, &err);
    if (!is_filled && kind == JOB_PREPARE &&
        (err.code == ERR_FORMAT || err.code == ERR_USAGE)) { /* it will be no other the next time */
        live->wanted &= ~(1U << kind);
        live->job = job;
        job->err = err;
        job->is_back = true;
        finish(job);
        return;
    }
    if (!is_filled) {
        server_log("attempt %s: %s (tried again)", live->id, err.text);
        job_free(job);
        retry_later(s);
        return;
    }
    live->wanted &= ~(1U << kind);
    live->job = job;
    job->req.data = job;
    s->works_running++;
    s->jobs_running++;
    uv_queue_work(&s->loop, &job->req, on_run, on_back);
}

void executor_kick(struct live *live)
{
    struct server *s = live->server;
    if (live->job || !live->wanted || s->jobs_running >= JOBS_MAX || s->is_stopping)
        return;
    enum job_kind kind = (enum job_kind)__builtin_ctz(live->wanted);
    /* The keeper of an earlier try still holds the sockets' names and the tree's mounts. */
    if (live->link && (kind == JOB_PREPARE || kind == JOB_DISCARD))
        return;
    start(live, kind);
}

void executor_want(struct live *live, enum job_kind kind)
{
    if (live->server->is_stopping) /* the next server finds the state */
        return;
    live->wanted |= 1U << kind;
    if (kind == JOB_HARVEST_END)
        live->wanted &= ~(1U << JOB_HARVEST);
    executor_kick(live);
}

static void on_retry(uv_timer_t *timer)
{
    struct server *s = timer->data;
    struct live *next;
    for (struct live *live = s->lives; live; live = next) {
        next = live->next;
        if (live->job && live->job->is_back)
            finish(live->job);
    }
    kick_all(s);
}

void executor_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->retry_timer);
    s->retry_timer.data = s;
}
