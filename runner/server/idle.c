#include "runner/server/idle.h"

#include "runner/base/clock.h"
#include "runner/server/control.h"
#include "runner/server/notify_news.h"
#include "runner/store/attempt_row.h"

void idle_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->idle_timer);
    s->idle_timer.data = s;
}

bool idle_configure(struct server *s, struct err *err)
{
    const char *text = config_str(s->config, "server.idletimeout", "60s");
    return clock_parse_duration(&s->idle_ms, text, err) || err_prefix(err, "server.idletimeout");
}

/* Attempts that wait for a place or for memory have no live value. */
static bool has_open_attempts(struct server *s)
{
    AUTO_STRV struct strv open = STRV_INIT;
    struct err ignored = ERR_INIT;
    return !attempt_row_ids(&open, s->db, ATTEMPTS_OPEN, 0, 1, &ignored) || open.n > 0;
}

static void on_idle(uv_timer_t *timer)
{
    struct server *s = timer->data;
    if (has_open_attempts(s) || !control_withdraw(s)) {
        idle_touch(s);
        return;
    }
    server_log("nothing to do for %lld s: ending", (long long)(s->idle_ms / 1000));
    server_stop(s);
}

void idle_touch(struct server *s)
{
    if (s->is_stopping)
        return;
    if (control_has_clients(s) || s->lives || s->works_running > 0 || notify_news_waits(s))
        uv_timer_stop(&s->idle_timer);
    else
        uv_timer_start(&s->idle_timer, on_idle, (uint64_t)s->idle_ms, 0);
}
