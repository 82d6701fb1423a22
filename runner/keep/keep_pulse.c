/*
 * keep_pulse: how the agent stands (runner/agents/pulse.h), as records: at once when it changed,
 * then at most one a second.
 */
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/keep/keep.h"

enum { PULSE_EVERY_MS = 1000, STILL_MS = 5000 };

/* Who looks at its terminal sees by himself that it waits. */
static void keep_mark_attended(const struct keep *k, json_t *news)
{
    size_t i;
    json_t *item;
    json_array_foreach(news, i, item)
    {
        if (strcmp(jx_str(item, "kind", ""), "waiting") == 0 && attach_room_is_watched(&k->room))
            jx_set_bool(item, "attended", true);
    }
}

static void keep_pulse_record(struct keep *k)
{
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set(body, "pulse", pulse_json(&k->pulse));
    json_t *news = pulse_take_news(&k->pulse);
    if (news) {
        keep_mark_attended(k, news);
        jx_set(body, "news", news);
    }
    /* Numbers are whole each time: what a full disk did not take comes with the next. */
    k->pulse_is_dirty = !records_add(&k->records, "pulse", body, &err);
}

static void keep_on_pulse_pause(uv_timer_t *timer);

static void keep_pulse_tell(struct keep *k)
{
    keep_pulse_record(k);
    uv_timer_start(&k->pulse_pause, keep_on_pulse_pause, PULSE_EVERY_MS, 0);
}

static void keep_on_pulse_pause(uv_timer_t *timer)
{
    struct keep *k = timer->data;
    if (k->pulse_is_dirty)
        keep_pulse_tell(k);
}

static void keep_pulse_changed(struct keep *k)
{
    k->pulse_is_dirty = true;
    if (!uv_is_active((const uv_handle_t *)&k->pulse_pause))
        keep_pulse_tell(k);
}

/* While a call of its waits for a person, that is what it waits for. */
static void keep_on_still(uv_timer_t *timer)
{
    struct keep *k = timer->data;
    AUTO_JSON json_t *waiting = keep_waiting(k);
    if (k->state == KEEP_RUNNING && json_array_size(waiting) == 0 &&
        pulse_terminal(&k->pulse, true))
        keep_pulse_changed(k);
}

/* What it said holds until somebody typed or it asked for a call: its terminal moves for less. */
static bool keep_rests(const struct keep *k)
{
    return k->rested_ms && k->room.typed_ms <= k->rested_ms;
}

void keep_pulse_wake(struct keep *k)
{
    k->rested_ms = 0;
    if (k->config.is_interactive && k->state == KEEP_RUNNING && pulse_terminal(&k->pulse, false))
        keep_pulse_changed(k);
}

/* News of the box's own making: once until somebody types or it asks for a call. */
void keep_pulse_rest(struct keep *k, const char *why)
{
    if (k->state != KEEP_RUNNING || !k->config.is_interactive)
        return;
    k->rested_ms = clock_mono_ms();
    if (pulse_rests(&k->pulse, why))
        keep_pulse_changed(k);
}

void keep_pulse_stir(struct keep *k)
{
    if (k->state != KEEP_RUNNING)
        return;
    uv_timer_start(&k->still, keep_on_still, STILL_MS, 0);
    if (!keep_rests(k) && pulse_terminal(&k->pulse, false))
        keep_pulse_changed(k);
}

/* What the agent took up of what was said to it, and whether it waits for more that nobody will
 * say. */
static void keep_pulse_follow(struct keep *k)
{
    struct err err = ERR_INIT;
    if (k->pulse.heard > k->heard) {
        json_t *body = json_object();
        jx_set_int(body, "message", k->pulse.heard);
        if (records_add(&k->records, "heard", body, &err))
            k->heard = k->pulse.heard;
    }
    if (k->pulse.is_idle)
        speech_idle(&k->speech, k->pulse.heard);
}

void keep_pulse_line(void *arg, bool is_aside, const char *line, size_t len)
{
    struct keep *k = arg;
    int64_t now_ms = clock_unix_ms();
    bool has_changed = is_aside ? pulse_error_line(&k->pulse, k->config.output, line, len, now_ms)
                                : pulse_line(&k->pulse, k->config.output, line, len, now_ms);
    keep_pulse_follow(k);
    if (has_changed)
        keep_pulse_changed(k);
}

void keep_pulse_flush(struct keep *k)
{
    uv_timer_stop(&k->pulse_pause);
    uv_timer_stop(&k->still);
    if (k->pulse_is_dirty)
        keep_pulse_record(k);
}
