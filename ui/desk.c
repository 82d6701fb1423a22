#include "ui/desk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/decide.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"

void desk_init(struct desk *d, const struct desk_host *host, void *host_arg)
{
    *d =
        (struct desk){.host = host, .host_arg = host_arg, .model = MODEL_INIT, .cards = CARDS_INIT};
}

void desk_release(struct desk *d)
{
    while (d->top) {
        struct screen *s = d->top;
        d->top = s->below;
        s->ops->free(s, d);
    }
    cards_release(&d->cards);
    model_release(&d->model);
}

/* ---- screens ---- */

/* Take the screen with these operations off the stack, wherever it is. */
static void close_screen(struct desk *d, const struct screen_ops *ops)
{
    for (struct screen **at = &d->top; *at; at = &(*at)->below) {
        struct screen *s = *at;
        if (s->ops != ops)
            continue;
        *at = s->below;
        s->ops->free(s, d);
        return;
    }
}

void desk_push(struct desk *d, struct screen *s)
{
    close_screen(d, s->ops);
    s->below = d->top;
    d->top = s;
}

void desk_pop(struct desk *d)
{
    struct screen *s = d->top;
    d->top = s->below;
    s->ops->free(s, d);
    if (!d->top)
        d->host->quit(d->host_arg);
}

struct screen *desk_find(const struct desk *d, const struct screen_ops *ops)
{
    for (struct screen *s = d->top; s; s = s->below)
        if (s->ops == ops)
            return s;
    return NULL;
}

static void set_status(struct desk *d, bool is_bad, const char *fmt, va_list args)
{
    d->status_is_bad = is_bad;
    vsnprintf(d->status, sizeof(d->status), fmt, args);
}

void desk_say(struct desk *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_status(d, false, fmt, args);
    va_end(args);
}

void desk_complain(struct desk *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_status(d, true, fmt, args);
    va_end(args);
}

const struct model_attempt *desk_attempt(const struct desk *d)
{
    const struct model_attempt *a = d->attempt[0] ? model_attempt(&d->model, d->attempt) : NULL;
    return a ? a : d->model.n_attempts > 0 ? &d->model.attempts[0] : NULL;
}

size_t desk_card(const struct desk *d)
{
    size_t at = d->card[0] ? cards_find(&d->cards, &d->model, d->card) : SIZE_MAX;
    return at != SIZE_MAX ? at : d->cards.n > 0 ? 0 : SIZE_MAX;
}

/* ---- keys ---- */

static void stop_attempt(struct desk *d, const struct model_attempt *a)
{
    if (!model_attempt_is_open(a)) {
        desk_complain(d, "%s has ended already", a->id);
        return;
    }
    if (strcmp(d->stop_armed, a->id) != 0) {
        fixed_set(d->stop_armed, sizeof(d->stop_armed), a->id);
        desk_say(d, "Press s again to stop %s and all its processes; any other key: no.", a->id);
        return;
    }
    d->stop_armed[0] = '\0';
    json_t *request = json_object(), *ids = json_array();
    json_array_append_new(ids, json_string(a->id));
    jx_set(request, "ids", ids);
    desk_say(d, "stopping %s ...", a->id);
    d->host->request(d->host_arg, ASK_STOP, a->id, "attempt.stop", request);
}

static void open_terminal(struct desk *d, const struct model_attempt *a)
{
    if (!model_attempt_is_open(a))
        desk_complain(d, "%s has ended; o shows its output, v its diff", a->id);
    else if (strcmp(a->state, "running") != 0)
        desk_complain(d, "%s is %s, not running", a->id, a->state);
    else if (!a->interactive)
        desk_complain(
            d, "%s runs without a terminal; o shows its output, headgate enter %s gives a shell",
            a->id, a->id);
    else
        scr_live_open(d, a->id, a->socket, false);
}

static void open_trace(struct desk *d, const struct model_attempt *a)
{
    scr_trace_open(d, a->id);
}

bool desk_attempt_key(struct desk *d, const struct key *key, const char *attempt)
{
    static const struct {
        uint32_t ch;
        void (*act)(struct desk *d, const struct model_attempt *a);
    } keys[] = {
        {'o', scr_output_open}, {'v', scr_diff_open}, {'w', open_trace},
        {'t', open_terminal},   {'s', stop_attempt},
    };
    const struct model_attempt *a = model_attempt(&d->model, attempt);
    if (!a || key->code != K_CHAR)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].ch != key->ch)
            continue;
        keys[i].act(d, a);
        return true;
    }
    return false;
}

static bool global_key(struct desk *d, const struct key *key)
{
    bool is_back = key->code == K_CHAR && key->ch == 'q';
    if (is_back || (key->code == K_ESC && d->top->below))
        desk_pop(d);
    else if (key->code == K_CHAR && key->ch == '?' && d->top->ops != &scr_help_ops)
        scr_help_open(d);
    else if (key->code == K_CHAR && key->ch == 'g' && d->top->ops != &scr_queue_ops)
        scr_queue_open(d);
    else
        return false;
    return true;
}

void desk_on_key(struct desk *d, const struct key *key)
{
    struct screen *top = d->top;
    /* Pasted text is never a command. */
    if (!top || (key->is_pasted && !top->ops->takes_text))
        return;
    d->status[0] = '\0';
    if (!(key->code == K_CHAR && key->ch == 's'))
        d->stop_armed[0] = '\0';
    if (top->ops->takes_text || !global_key(d, key))
        top->ops->key(top, d, key);
}

size_t desk_on_bytes(struct desk *d, const unsigned char *bytes, size_t len)
{
    return desk_wants_raw(d) ? d->top->ops->raw(d->top, d, bytes, len) : 0;
}

bool desk_wants_raw(const struct desk *d)
{
    return d->top && d->top->ops->raw;
}

/* ---- news ---- */

/* Ask once for the layers of the selected attempt's run: no event carries them. */
static void ask_layers(struct desk *d)
{
    const struct model_attempt *a = desk_attempt(d);
    const struct model_run *run = a ? model_run(&d->model, a->run) : NULL;
    if (!run || run->layers[0] || d->layers_asked_run == run->id || !a->started_ms)
        return;
    d->layers_asked_run = run->id;
    json_t *request = json_object(), *ids = json_array();
    json_array_append_new(ids, json_string(a->id));
    jx_set(request, "ids", ids);
    d->host->request(d->host_arg, ASK_LAYERS, a->id, "attempt.show", request);
}

/* A card that comes under the cursor by itself must not be hit by a key that was meant for the one
 * before. */
static void follow_card(struct desk *d, const char *key_before)
{
    cards_update(&d->cards, &d->model);
    size_t at = desk_card(d);
    const char *key = at == SIZE_MAX ? "" : cards_key(&d->cards, &d->model, at);
    if (strcmp(key, key_before) != 0)
        d->card_moved_ms = d->now_ms;
    fixed_set(d->card, sizeof(d->card), key);
}

static void model_changed(struct desk *d, unsigned change)
{
    char before[sizeof(d->card)];
    if (change == MODEL_SAME)
        return;
    fixed_set(before, sizeof(before), d->card);
    follow_card(d, before);
    if (change & MODEL_NEW_CALL)
        d->host->alert(d->host_arg, d->model.n_calls);
    for (struct screen *s = d->top, *below; s; s = below) {
        below = s->below;
        if (s->ops->changed)
            s->ops->changed(s, d);
    }
    ask_layers(d);
}

void desk_on_snapshot(struct desk *d, const json_t *snapshot)
{
    d->layers_asked_run = 0;
    model_changed(d, model_load(&d->model, snapshot));
}

void desk_on_event(struct desk *d, const json_t *event)
{
    model_changed(d, model_apply(&d->model, event));
}

/* "all 12 active", or those that are not. */
static void add_layers(struct buf *out, const json_t *layers)
{
    size_t i, n = 0;
    json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        const char *state = jx_str(layer, "state", "");
        if (strcmp(state, "active") != 0)
            buf_addf(out, "%s%s %s", n++ > 0 ? ", " : "", jx_str(layer, "name", "?"), state);
    }
    if (n == 0 && json_array_size(layers) > 0)
        buf_addf(out, "all %zu active", json_array_size(layers));
}

static void on_layers(struct desk *d, const json_t *result)
{
    const json_t *shown = json_array_get(jx_arr(result, "attempts"), 0);
    AUTO_BUF struct buf text = BUF_INIT;
    add_layers(&text, jx_arr(shown, "layers"));
    model_set_layers(&d->model, jx_int(shown, "run", 0), text.ptr);
    cards_update(&d->cards, &d->model);
}

void desk_on_answer(struct desk *d, enum desk_ask ask, const char *subject, const json_t *result,
                    const struct err *err)
{
    switch (ask) {
    case ASK_APPROVE:
    case ASK_DENY:
        decide_on_answer(d, ask == ASK_APPROVE, subject, result, err);
        return;
    case ASK_HARVEST:
        scr_diff_on_harvest(d, subject, result ? NULL : err);
        return;
    case ASK_TRACE:
        scr_trace_on_answer(d, subject, result, err);
        return;
    case ASK_STOP:
        if (result)
            desk_say(d, "%s is stopped", subject);
        break;
    case ASK_ATTEMPT:
        if (result)
            scr_attempt_on_show(d, subject, result);
        break;
    case ASK_LAYERS:
        if (result)
            on_layers(d, result);
        return;
    case ASK_CALL:
        if (result)
            scr_call_on_show(d, subject, result);
        break;
    }
    if (!result)
        desk_complain(d, "%s: %s", subject, err->text);
}

void desk_on_link(struct desk *d, enum desk_link link)
{
    d->link = link;
}

void desk_on_diff(struct desk *d, const char *attempt, const struct buf *text,
                  const struct err *err)
{
    scr_diff_on_text(d, attempt, text, err);
}

void desk_on_tail(struct desk *d, const char *bytes, size_t len, const struct err *err)
{
    scr_output_on_bytes(d, bytes, len, err);
}

void desk_on_live(struct desk *d, const void *bytes, size_t len)
{
    scr_live_on_bytes(d, bytes, len);
}

void desk_on_live_end(struct desk *d, int status, const struct err *err)
{
    scr_live_on_end(d, status, err);
}

int64_t desk_draw(struct desk *d, struct canvas *cv, int rows, int cols)
{
    canvas_reset(cv, rows, cols);
    d->rows = rows;
    d->cols = cols;
    struct paint p = {
        .cv = cv, .now_ms = d->now_ms, .next_ms = INT64_MAX, .top = 0, .rows = rows, .cols = cols};
    if (!d->top)
        return p.next_ms;
    if (d->top->ops->is_full) {
        d->top->ops->draw(d->top, d, &p);
        return p.next_ms;
    }
    if (rows < PAINT_MIN_ROWS || cols < PAINT_MIN_COLS) {
        paint_too_small(&p);
        return p.next_ms;
    }
    p.top = 1;
    p.rows = rows - 3;
    paint_frame(d, &p);
    d->top->ops->draw(d->top, d, &p);
    return p.next_ms;
}
