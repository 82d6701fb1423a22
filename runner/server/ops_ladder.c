/*
 * ops_ladder: changing rungs while agents run.
 */
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/base/clock.h"
#include "runner/server/epoch.h"
#include "runner/server/events.h"
#include "runner/server/ops.h"
#include "runner/store/attempt_row.h"
#include "runner/store/run_row.h"
#include "runner/store/rung.h"
#include "runner/store/store.h"

enum { TOLD_ATTEMPTS = 2000 };

/* The rung of a run with all its attempts, or of one attempt. */
struct change {
    int64_t run;
    const char *attempt; /* NULL: the run's */
    enum ladder ladder;
};

static bool store_change(const struct change *c, struct request *r, int64_t *ret_epoch,
                         struct err *err)
{
    struct server *s = r->server;
    AUTO_ROLLBACK struct db *db = s->db;
    AUTO_JSON json_t *body = json_object();
    jx_set_int(body, "run", c->run);
    jx_set_str(body, "attempt", c->attempt);
    jx_set_str(body, "ladder", ladder_name(c->ladder));
    jx_set_str(body, "by", r->by);
    if (!db_begin(db, err))
        return false;
    bool ok = c->attempt
                  ? rung_set(db, c->attempt, c->ladder, err)
                  : run_row_set_ladder(db, c->run, c->ladder, err) && rung_clear(db, c->run, err);
    return ok && ledger_log(db, "ladder.set", body, clock_unix_ms(), err) &&
           epoch_raise(ret_epoch, s, err) && db_commit(db, err);
}

static void tell(struct server *s, int64_t run)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    struct err err = ERR_INIT;
    events_run(s, run);
    if (!events_has_audience(s, run))
        return;
    if (!attempt_row_ids(&ids, s->db, ATTEMPTS_ALL, run, TOLD_ATTEMPTS, &err))
        server_log("cannot tell of run %lld: %s", (long long)run, err.text);
    for (size_t i = 0; i < ids.n; i++)
        events_attempt(s, ids.v[i]);
}

static bool read_change(struct change *ret, struct request *r, struct err *err)
{
    *ret = (struct change){.run = jx_int(r->body, "run", 0),
                           .attempt = jx_str(r->body, "attempt", NULL)};
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    if (!ladder_parse(&ret->ladder, jx_str(r->body, "ladder", ""), err))
        return false;
    if (!ret->attempt)
        return true;
    if (!attempt_row_get(&row, r->server->db, ret->attempt, err))
        return false;
    ret->run = row.run;
    return true;
}

void op_ladder_set(struct request *r)
{
    struct err err = ERR_INIT;
    struct change change;
    int64_t epoch;
    if (!read_change(&change, r, &err) || !store_change(&change, r, &epoch, &err)) {
        request_fail(r, &err);
        return;
    }
    tell(r->server, change.run);
    json_t *result = json_pack("{s:I}", "epoch", (json_int_t)epoch), *covered = NULL;
    if (explain_covered(&covered, r->server, false, &err))
        jx_set(result, "covered", covered);
    epoch_spread(r->server, epoch, r, result);
}
