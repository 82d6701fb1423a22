#include "runner/server/discard.h"

#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/server/clash.h"
#include "runner/server/events.h"
#include "runner/server/executor.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

/* why: it is kept; NULL: it is removed. */
static void settle_one(struct discard *d, struct discard_one *one, const char *why)
{
    one->is_over = true;
    one->why = why ? xstrdup(why) : NULL;
    d->n_waiting--;
}

/* However the jobs came back, in the order of the question. */
static void list_ends(struct discard *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct discard_one *one = &d->v[i];
        if (one->is_over && one->why)
            json_array_append_new(d->kept, json_pack("{s:s, s:o}", "id", one->id, "why",
                                                     jx_bytes(one->why, strlen(one->why))));
        else if (one->is_over)
            json_array_append_new(d->discarded, json_string(one->id));
    }
}

static void finish(struct discard *d)
{
    list_ends(d);
    d->done(d);
    for (size_t i = 0; i < d->n; i++) {
        free(d->v[i].id);
        free(d->v[i].why);
    }
    json_decref(d->discarded);
    json_decref(d->kept);
    free(d->v);
    free(d);
}

/* The attempt must be over with nothing under way; a queued one is taken from the queue first. */
static bool may_begin(struct server *s, const char *id, struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (s->is_stopping)
        return err_set(err, ERR_FAILED, "the server ends");
    if (!attempt_row_get(&row, s->db, id, err))
        return false;
    if (row.state == ATTEMPT_QUEUED)
        return executor_post(NULL, s, id, ATTEMPT_EV_STOP, NULL, NULL, err);
    if (row.state != ATTEMPT_DONE)
        return err_set(err, ERR_REFUSED, "it is %s; 'headgate stop %s' ends it first",
                       attempt_state_name(row.state), id);
    const struct live *live = live_find(s, id);
    if (live && (live->job || live->wanted))
        return err_set(err, ERR_CONFLICT, "something else is being done with it; try again");
    return true;
}

void discard_start(struct request *r, const struct strv *ids, bool force,
                   void (*done)(struct discard *d))
{
    struct server *s = r->server;
    struct discard *d = xcalloc(1, sizeof(*d));
    *d = (struct discard){.request = r,
                          .v = xcalloc(ids->n + 1, sizeof(*d->v)),
                          .n = ids->n,
                          .n_waiting = ids->n,
                          .discarded = json_array(),
                          .kept = json_array(),
                          .done = done};
    for (size_t i = 0; i < ids->n; i++) {
        struct err err = ERR_INIT;
        d->v[i].id = xstrdup(ids->v[i]);
        if (!may_begin(s, ids->v[i], &err))
            settle_one(d, &d->v[i], err.text);
    }
    if (d->n_waiting == 0) {
        finish(d);
        return;
    }
    d->next = s->discards;
    s->discards = d;
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].is_over)
            continue;
        struct live *live = live_get(s, d->v[i].id, strtoll(d->v[i].id, NULL, 10));
        live->discard_by_force = force;
        executor_want(live, JOB_DISCARD);
    }
}

static bool remove_rows(struct server *s, const struct job *job, struct err *err)
{
    AUTO_ROLLBACK struct db *db = s->db;
    AUTO_JSON json_t *body = json_object();
    jx_set_str(body, "attempt", job->live->id);
    jx_set_bool(body, "force", job->force);
    return db_begin(db, err) && attempt_row_remove(db, job->live->id, err) &&
           run_row_remove_empty(db, job->live->run, err) &&
           ledger_log(db, "attempt.discard", body, clock_unix_ms(), err) && db_commit(db, err);
}

static void strike_out(struct discard *d, const char *id, const char *why)
{
    for (size_t i = 0; i < d->n; i++)
        if (!d->v[i].is_over && strcmp(d->v[i].id, id) == 0)
            settle_one(d, &d->v[i], why);
}

bool discard_settle(struct server *s, struct job *job, struct err *err)
{
    const char *id = job->live->id;
    if (job->ok)
        clash_note(s, id); /* those that met it are rid of it */
    if (job->ok && !remove_rows(s, job, err))
        return false;
    if (job->ok) {
        events_gone(s, id, job->live->run);
        clash_look(s);
    }
    struct discard **at = &s->discards;
    while (*at) {
        struct discard *d = *at;
        strike_out(d, id, job->ok ? NULL : job->err.text);
        if (d->n_waiting > 0) {
            at = &d->next;
            continue;
        }
        *at = d->next;
        finish(d);
    }
    return true;
}

void discard_close(struct server *s)
{
    while (s->discards) {
        struct discard *d = s->discards;
        s->discards = d->next;
        d->is_cut_short = true;
        err_set(&d->why, ERR_FAILED, "the server ends; what it has begun to remove is removed");
        finish(d);
    }
}
