#include "runner/server/events.h"

#include <stdlib.h>
#include <string.h>

#include "runner/server/control.h"
#include "runner/server/view.h"

enum { LINE_INTERVAL_MS = 100, LINE_BYTES = 400 };

void events_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->output_timer);
    s->output_timer.data = s;
}

static bool wants(const struct client *c, int64_t run)
{
    return c->is_subscribed && (c->only_run == 0 || c->only_run == run);
}

bool events_has_audience(const struct server *s, int64_t run)
{
    for (const struct client *c = s->clients; c; c = c->next)
        if (wants(c, run))
            return true;
    return false;
}

/* event is taken over. */
static void publish(struct server *s, int64_t run, json_t *event)
{
    AUTO_JSON json_t *owned = event;
    for (struct client *c = s->clients; c; c = c->next)
        if (wants(c, run))
            client_send_event(c, owned);
}

static int64_t run_of(const char *attempt)
{
    return strtoll(attempt, NULL, 10);
}

static void publish_line(struct live *live, const char *line)
{
    json_t *event = json_object();
    jx_set_str(event, "e", "output");
    jx_set_str(event, "attempt", live->id);
    jx_set_text(event, "line", line);
    publish(live->server, live->run, event);
}

static void publish_due_line(struct live *live)
{
    if (live->line_is_due)
        publish_line(live, live->last_line);
    live->line_is_due = false;
}

void events_attempt(struct server *s, const char *id)
{
    struct err err = ERR_INIT;
    struct live *live = live_find(s, id);
    json_t *attempt;
    if (!events_has_audience(s, run_of(id)))
        return;
    if (live) /* what it said before it ended is told before its end */
        publish_due_line(live);
    if (view_attempt(&attempt, s, id, VIEW_SHORT, &err))
        publish(s, run_of(id), json_pack("{s:s, s:o}", "e", "attempt", "attempt", attempt));
    else
        server_log("cannot tell of attempt %s: %s", id, err.text);
}

void events_gone(struct server *s, const char *id, int64_t run)
{
    publish(s, run, json_pack("{s:s, s:s}", "e", "gone", "attempt", id));
}

void events_run(struct server *s, int64_t run)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *runs = json_array();
    if (!events_has_audience(s, run))
        return;
    if (!run_row_list(runs, s->db, run, 1, &err))
        server_log("cannot tell of run %lld: %s", (long long)run, err.text);
    else if (json_array_size(runs) == 1)
        publish(s, run, json_pack("{s:s, s:O}", "e", "run", "run", json_array_get(runs, 0)));
}

void events_call(struct server *s, const struct ledger_call *call)
{
    int64_t run = run_of(call->attempt);
    if (events_has_audience(s, run))
        publish(s, run, json_pack("{s:s, s:o}", "e", "call", "call", ledger_call_json(call)));
}

void events_call_id(struct server *s, int64_t id)
{
    struct err err = ERR_INIT;
    struct ledger_call call;
    if (!ledger_get(&call, s->db, id, &err)) {
        server_log("cannot tell of call c%lld: %s", (long long)id, err.text);
        return;
    }
    events_call(s, &call);
    ledger_call_release(&call);
}

void events_notice(struct live *live, const char *text)
{
    publish_line(live, text);
}

static void on_lines_due(uv_timer_t *timer)
{
    struct server *s = timer->data;
    for (struct live *live = s->lives; live; live = live->next)
        publish_due_line(live);
}

void events_line(struct live *live, const char *line)
{
    struct server *s = live->server;
    size_t len = strlen(line);
    while (len > LINE_BYTES ||
           (len > 0 && len == LINE_BYTES && ((unsigned char)line[len] & 0xc0) == 0x80))
        len--;
    free(live->last_line);
    live->last_line = xstrndup(line, len);
    live->line_is_due = true;
    if (!s->is_stopping && !uv_is_active((uv_handle_t *)&s->output_timer))
        uv_timer_start(&s->output_timer, on_lines_due, LINE_INTERVAL_MS, 0);
}
