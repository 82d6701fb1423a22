#include "runner/server/discard.h"

#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/server/clash.h"
#include "runner/server/events.h"
#include "runner/server/executor.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

static void keep(struct discard *d, const char *id, const char *why)
{
    json_t *entry = json_object();
    jx_set_str(entry, "id", id);
    jx_set_str(entry, "why", why);
    json_array_append_new(d->kept, entry);
}

static void finish(struct discard *d)
{
    d->done(d);
    json_decref(d->discarded);
    json_decref(d->kept);
    strv_release(&d->waiting);
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
    *d = (struct discard){
        .request = r, .discarded = json_array(), .kept = json_array(), .done = done};
    d->waiting = (struct strv)STRV_INIT;
    for (size_t i = 0; i < ids->n; i++) {
        struct err err = ERR_INIT;
        if (may_begin(s, ids->v[i], &err))
            strv_push(&d->waiting, ids->v[i]);
        else
            keep(d, ids->v[i], err.text);
    }
    d->n_waiting = d->waiting.n;
    if (d->n_waiting == 0) {
        finish(d);
        return;
    }
    d->next = s->discards;
    s->discards = d;
    for (size_t i = 0; i < ids->n; i++) {
        if (!strv_has(&d->waiting, ids->v[i]))
            continue;
        struct live *live = live_get(s, ids->v[i], strtoll(ids->v[i], NULL, 10));
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

static bool strike_out(struct discard *d, const char *id)
{
    for (size_t i = 0; i < d->waiting.n; i++) {
        if (strcmp(d->waiting.v[i], id) != 0)
            continue;
        d->waiting.v[i][0] = '\0';
        d->n_waiting--;
        return true;
    }
    return false;
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
        bool is_asked = strike_out(d, id);
        if (is_asked && job->ok)
            json_array_append_new(d->discarded, json_string(id));
        else if (is_asked)
            keep(d, id, job->err.text);
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
