#include "runner/server/epoch.h"

#include <stdlib.h>

#include "gate/ledger.h"
#include "runner/server/link.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

/* A request that waits for acknowledgements. */
struct epoch_wait {
    struct epoch_wait *next;
    struct request *request;
    json_t *result;
    int64_t epoch;
};

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

static void answer(struct epoch_wait *w)
{
    request_answer(w->request, w->result);
    free(w);
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
    *w =
        (struct epoch_wait){.next = s->epoch_waits, .request = r, .result = result, .epoch = epoch};
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
        free(w);
    }
}
