#include "runner/server/epoch.h"

#include <stdlib.h>

#include "gate/ledger.h"
#include "runner/server/link.h"
#include "runner/store/run_row.h"
#include "runner/store/rung.h"
#include "runner/store/store.h"

/* A request that waits for acknowledgements. */
struct epoch_wait {
    struct epoch_wait *next;
    struct server *server;
    struct request *request;
    json_t *result;
    int64_t epoch;
    uv_timer_t bound;
};

/* A keeper that does not answer must not hold a person up: it is named instead. */
enum { ACKNOWLEDGE_MS = 10 * 1000 };

bool epoch_init(struct server *s, struct err *err)
{
    return store_setting(&s->epoch, s->db, "epoch", err);
}

bool epoch_policy(struct policy *ret, struct server *s, const char *attempt, struct err *err)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    struct policy policy = POLICY_INIT;
    if (!run_row_get(&run, s->db, strtoll(attempt, NULL, 10), err))
        return false;
    AUTO_FREE char *id = xasprintf("%lld", (long long)run.id);
    if (!ledger_rules_for(&policy.rules, &policy.n_rules, s->db, id, attempt, run.repo, err))
        return false;
    policy.epoch = s->epoch;
    policy.ladder = run.ladder;
    if (!rung_get(&policy.ladder, s->db, attempt, err)) {
        policy_release(&policy);
        return false;
    }
    *ret = policy;
    return true;
}

bool epoch_raise(int64_t *ret, struct server *s, struct err *err)
{
    if (!store_set_setting(s->db, "epoch", s->epoch + 1, err))
        return false;
    *ret = s->epoch + 1;
    return true;
}

static void on_bound_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void forget(struct epoch_wait *w)
{
    uv_close((uv_handle_t *)&w->bound, on_bound_closed);
}

static void answer(struct epoch_wait *w)
{
    request_answer(w->request, w->result);
    forget(w);
}

/* The attempts whose keepers have not acknowledged. */
static json_t *list_missing(const struct server *s, int64_t epoch)
{
    json_t *missing = json_array();
    for (const struct live *live = s->lives; live; live = live->next)
        if (live->link && link_epoch(live->link) < epoch)
            json_array_append_new(missing, json_string(live->id));
    return missing;
}

static void on_bound(uv_timer_t *timer)
{
    struct epoch_wait *w = timer->data;
    struct server *s = w->server;
    struct epoch_wait **at = &s->epoch_waits;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    jx_set(w->result, "unacknowledged", list_missing(s, w->epoch));
    answer(w);
}

static bool is_everywhere(const struct server *s, int64_t epoch)
{
    for (const struct live *live = s->lives; live; live = live->next)
        if (live->link && link_epoch(live->link) < epoch)
            return false;
    return true;
}

void epoch_judge(struct server *s)
{
    struct epoch_wait **at = &s->epoch_waits;
    while (*at) {
        struct epoch_wait *w = *at;
        if (!is_everywhere(s, w->epoch)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        answer(w);
    }
}

void epoch_spread(struct server *s, int64_t epoch, struct request *r, json_t *result)
{
    struct epoch_wait *w = xcalloc(1, sizeof(*w));
    *w = (struct epoch_wait){
        .next = s->epoch_waits, .server = s, .request = r, .result = result, .epoch = epoch};
    uv_timer_init(&s->loop, &w->bound);
    w->bound.data = w;
    uv_timer_start(&w->bound, on_bound, ACKNOWLEDGE_MS, 0);
    s->epoch_waits = w;
    s->epoch = epoch;
    for (struct live *live = s->lives; live; live = live->next)
        link_tell_policy(live);
    epoch_judge(s);
}

void epoch_close(struct server *s)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_FAILED,
            "the server ends; the change is kept, and keepers get it from the next server");
    while (s->epoch_waits) {
        struct epoch_wait *w = s->epoch_waits;
        s->epoch_waits = w->next;
        request_fail(w->request, &err);
        json_decref(w->result);
        forget(w);
    }
}
