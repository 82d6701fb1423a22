#include "runner/keep/stop.h"

void stop_init(struct stop *s, uv_loop_t *loop, const struct stop_ops *ops, void *arg)
{
    *s = (struct stop){.ops = ops, .arg = arg};
    uv_timer_init(loop, &s->grace);
    uv_timer_init(loop, &s->limit);
    s->grace.data = s;
    s->limit.data = s;
}

static void stop_kill(struct stop *s)
{
    uv_timer_stop(&s->grace);
    s->is_killed = true;
    s->ops->kill(s->arg);
}

static void stop_on_grace_over(uv_timer_t *timer)
{
    stop_kill(timer->data);
}

void stop_request(struct stop *s, enum stop_cause cause, int64_t grace_ms)
{
    bool is_first = s->cause == STOP_NONE;
    bool is_waiting = uv_is_active((const uv_handle_t *)&s->grace);
    if (is_first)
        s->cause = cause;
    if (s->is_killed)
        return;
    if (grace_ms <= 0 || (is_first && !s->ops->terminate(s->arg)))
        stop_kill(s);
    else if (!is_waiting || uv_timer_get_due_in(&s->grace) > (uint64_t)grace_ms)
        uv_timer_start(&s->grace, stop_on_grace_over, (uint64_t)grace_ms, 0);
}

static void stop_on_limit(uv_timer_t *timer)
{
    struct stop *s = timer->data;
    stop_request(s, s->limit_cause, s->limit_grace_ms);
}

void stop_after(struct stop *s, int64_t time_ms, enum stop_cause cause, int64_t grace_ms)
{
    uv_timer_stop(&s->limit);
    s->limit_cause = cause;
    s->limit_grace_ms = grace_ms;
    if (time_ms > 0)
        uv_timer_start(&s->limit, stop_on_limit, (uint64_t)time_ms, 0);
}

const char *stop_cause_name(enum stop_cause cause)
{
    switch (cause) {
    case STOP_NONE:
        return "exit";
    case STOP_ASKED:
        return "stopped";
    case STOP_TIME:
        return "timeout";
    case STOP_OUTPUT:
        return "output";
    case STOP_MEMORY:
        return "memory";
    case STOP_PIDS:
        return "pids";
    case STOP_FAILED:
        return "failed";
    }
    return "failed";
}

void stop_close(struct stop *s)
{
    if (uv_is_closing((const uv_handle_t *)&s->grace))
        return;
    uv_close((uv_handle_t *)&s->grace, NULL);
    uv_close((uv_handle_t *)&s->limit, NULL);
}
