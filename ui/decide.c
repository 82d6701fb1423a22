#include "ui/decide.h"

#include <string.h>

#include "runner/base/jx.h"
#include "ui/fixed.h"

void decide_set_release(struct decide_set *set)
{
    strv_release(&set->ids);
    strv_release(&set->digests);
    strv_release(&set->attempts);
}

void decide_set_add(struct decide_set *set, const struct model_call *call)
{
    strv_push(&set->ids, call->id);
    strv_push(&set->digests, call->digest);
    strv_push(&set->attempts, call->attempt);
}

void decide_set_card(struct decide_set *set, const struct desk *d, size_t card)
{
    const struct card *c = &d->cards.list[card];
    for (size_t i = 0; i < c->n; i++)
        decide_set_add(set, &d->model.calls[d->cards.members[c->from + i]]);
}

/* One request for each call: a decision binds to one digest. */
void decide_send(struct desk *d, const struct decide_set *set, bool is_allow, const char *reason)
{
    if (set->ids.n == 0)
        return;
    struct desk_tally *t = &d->tally[is_allow];
    if (t->done + t->failed == t->sent)
        *t = (struct desk_tally){.sent = 0};
    t->sent += set->ids.n;
    fixed_set(t->first, sizeof(t->first), set->ids.v[0]);
    desk_say(d, "%s %s ...", is_allow ? "approving" : "denying", t->first);
    for (size_t i = 0; i < set->ids.n; i++) {
        json_t *request = json_object();
        json_t *ids = json_array();
        json_array_append_new(ids, json_string(set->ids.v[i]));
        jx_set(request, "ids", ids);
        jx_set_str(request, "decision", is_allow ? "allow" : "deny");
        if (set->digests.v[i][0])
            jx_set_str(request, "digest", set->digests.v[i]);
        if (reason && reason[0])
            jx_set_str(request, "reason", reason);
        d->host->request(d->host_arg, is_allow ? ASK_APPROVE : ASK_DENY, set->ids.v[i],
                         "call.decide", request);
    }
}

static void tell(struct desk *d, bool is_allow)
{
    const struct desk_tally *t = &d->tally[is_allow];
    const char *word = is_allow ? "approved" : "denied";
    if (t->failed > 0 && t->done > 0)
        desk_complain(d, "%s %zu of %zu; %s", word, t->done, t->sent, t->failure);
    else if (t->failed > 0)
        desk_complain(d, "%s", t->failure);
    else if (t->sent > 1)
        desk_say(d, "%s %zu of %zu calls", word, t->done, t->sent);
    else
        desk_say(d, "%s %s", word, t->first);
}

void decide_on_answer(struct desk *d, bool is_allow, const char *call, const json_t *result,
                      const struct err *err)
{
    struct desk_tally *t = &d->tally[is_allow];
    const json_t *failed = json_array_get(jx_arr(result, "failed"), 0);
    if (result && !failed) {
        t->done++;
        tell(d, is_allow);
        return;
    }
    const char *why = result ? jx_str(failed, "message", "not decided") : err->text;
    const struct model_settled *settled = model_settled(&d->model, call);
    t->failed++;
    fixed_setf(t->failure, sizeof(t->failure), "%s: %s", call, why);
    if (settled && settled->decided_by[0] && !strstr(why, settled->decided_by))
        fixed_setf(t->failure, sizeof(t->failure), "%s: %s (%s by %s)", call, why, settled->state,
                   settled->decided_by);
    tell(d, is_allow);
}
