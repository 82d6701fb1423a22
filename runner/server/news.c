#include "runner/server/news.h"

#include "runner/server/events.h"
#include "runner/server/link.h"
#include "runner/server/notify.h"
#include "runner/server/notify_news.h"

void news_tell(struct server *s, const struct attempt_row *row, const struct merge *m)
{
    struct live *live = live_find(s, row->id);
    if (m->news)
        notify_pulse(s, row, m->news);
    for (size_t i = 0; i < m->n_calls; i++) {
        struct ledger_call call;
        struct err err = ERR_INIT;
        bool is_asked = m->calls[i].is_asked;
        if (!is_asked && !events_has_audience(s, row->run))
            continue;
        if (!ledger_get(&call, s->db, m->calls[i].id, &err)) {
            server_log("call c%lld: %s", (long long)m->calls[i].id, err.text);
            continue;
        }
        events_call(s, &call);
        if (is_asked && live)
            link_tell_call(live, &call);
        if (is_asked && call.state == CALL_PENDING && notify_has(s, NEWS_CALL))
            notify_call(s, &call);
        ledger_call_release(&call);
    }
}
