#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/agents/pulse_words.h"
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "ui/argtext.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

struct scr_attempt {
    struct screen base;
    char id[32];
    json_t *shown; /* all that attempt.show told; NULL until it came */
    struct view text;
};

static void add_field(struct buf *out, const char *name, const char *value)
{
    if (!value[0])
        return;
    buf_addf(out, "%-9s ", name);
    text_sanitise(out, value, strlen(value), 0);
    buf_addch(out, '\n');
}

static void add_time(struct buf *out, const char *name, int64_t at_ms)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (!at_ms)
        return;
    clock_add_local(&text, at_ms);
    add_field(out, name, text.ptr);
}

static void add_work(struct buf *out, const struct model_attempt *a)
{
    AUTO_BUF struct buf text = BUF_INIT;
    buf_addf(&text, "%" PRId64 " commit%s, %" PRId64 " file%s changed%s", a->commits,
             a->commits == 1 ? "" : "s", a->files, a->files == 1 ? "" : "s",
             a->dirty ? ", and uncommitted work" : "");
    add_field(out, "work", text.ptr);
    buf_clear(&text);
    paint_oid(&text, a->tip);
    add_field(out, "tip", text.ptr);
}

static void add_layers(struct buf *out, const json_t *layers)
{
    size_t i;
    json_t *layer;
    if (json_array_size(layers) > 0)
        buf_adds(out, "\nLayers\n");
    json_array_foreach(layers, i, layer)
    {
        AUTO_BUF struct buf text = BUF_INIT;
        const char *reason = jx_str(layer, "reason", "");
        buf_addf(&text, "%-12s %s%s%s", jx_str(layer, "state", ""), jx_str(layer, "mechanism", ""),
                 reason[0] ? ": " : "", reason);
        add_field(out, jx_str(layer, "name", ""), text.ptr);
    }
}

static void add_review(struct buf *out, const json_t *review)
{
    size_t i;
    json_t *line;
    if (json_array_size(review) > 0)
        buf_adds(out, "\nReview before merging: this could run on the host\n");
    json_array_foreach(review, i, line)
    {
        const char *text =
            json_is_string(line) ? json_string_value(line) : jx_str(line, "path", "");
        buf_adds(out, "  ");
        text_sanitise(out, text, strlen(text), TEXT_KEEP_TAB);
        buf_addch(out, '\n');
    }
}

static void add_calls(struct buf *out, const struct desk *d, const char *attempt)
{
    bool is_first = true;
    for (size_t i = 0; i < d->model.n_calls; i++) {
        const struct model_call *call = &d->model.calls[i];
        if (strcmp(call->attempt, attempt) != 0)
            continue;
        if (is_first)
            buf_adds(out, "\nWaiting calls (a or d shows the first)\n");
        is_first = false;
        AUTO_BUF struct buf text = BUF_INIT;
        buf_addf(&text, "%s ", call->tool);
        argtext_brief(&text, call->source, call->args, call->worktree, ARGTEXT_COLUMNS);
        add_field(out, call->id, text.ptr);
    }
}

/* What the agent told of itself. */
static void add_pulse(struct buf *out, const struct model_attempt *a, int64_t now_ms)
{
    AUTO_BUF struct buf words = BUF_INIT, use = BUF_INIT, troubles = BUF_INIT;
    bool is_known =
        model_attempt_is_open(a) || strcmp(jx_str(a->pulse, "state", ""), "limited") == 0;
    if (is_known && pulse_words(&words, a->pulse, now_ms))
        add_field(out, "agent is", words.ptr);
    if (pulse_add_use(&use, a->pulse))
        add_field(out, "tokens", use.ptr);
    if (pulse_add_troubles(&troubles, a->pulse))
        add_field(out, "troubles", troubles.ptr);
}

static void load(struct scr_attempt *self, const struct desk *d)
{
    AUTO_BUF struct buf out = BUF_INIT, base = BUF_INIT, state = BUF_INIT;
    const struct model_attempt *a = model_attempt(&d->model, self->id);
    if (!a) {
        view_set(&self->text, "This attempt is gone.", strlen("This attempt is gone."));
        return;
    }
    buf_addf(&state, "%s%s%s", a->state, a->outcome[0] ? ", " : "", a->outcome);
    if (!model_attempt_is_open(a) && a->exit_status >= 0)
        buf_addf(&state, ", exit status %" PRId64, a->exit_status);
    buf_addf(&base, "%s@", a->base_ref);
    paint_oid(&base, a->base);
    add_field(&out, "state", state.ptr);
    add_field(&out, "error", a->error);
    add_pulse(&out, a, d->now_ms);
    add_field(&out, "note", jx_str(self->shown, "note", ""));
    add_field(&out, "agent", a->agent);
    add_field(&out, "rung", a->ladder);
    add_field(&out, "branch", a->branch);
    add_field(&out, "base", base.ptr);
    add_work(&out, a);
    add_field(&out, "conflicts", a->conflicts);
    add_field(&out, "engine", a->engine);
    add_field(&out, "worktree", a->tree);
    add_field(&out, "log", a->log);
    add_time(&out, "created", a->created_ms);
    add_time(&out, "started", a->started_ms);
    add_time(&out, "ended", a->ended_ms);
    add_field(&out, "line", a->last_line);
    buf_adds(&out, "\nTask\n");
    const char *task = jx_str(self->shown, "task", a->task);
    if (!task[0])
        task = a->title; /* a command has no other task */
    text_sanitise(&out, task, strlen(task), TEXT_KEEP_NEWLINE | TEXT_KEEP_TAB);
    buf_addch(&out, '\n');
    add_calls(&out, d, self->id);
    add_review(&out, jx_arr(self->shown, "review"));
    add_layers(&out, jx_arr(self->shown, "layers"));
    view_set(&self->text, out.ptr, out.len);
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    (void)d;
    struct scr_attempt *self = (struct scr_attempt *)s;
    AUTO_BUF struct buf title = BUF_INIT, place = BUF_INIT;
    view_layout(&self->text, p->rows - 1, p->cols - 2);
    view_place(&place, &self->text);
    buf_addf(&title, "Attempt %s", self->id);
    paint_bar(p, 0, title.ptr, place.ptr);
    view_draw(&self->text, p->cv, p->top + 1, 1, p->rows - 1, p->cols - 2);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_attempt *self = (struct scr_attempt *)s;
    const struct model_attempt *a = model_attempt(&d->model, self->id);
    const struct model_call *call = model_first_call(&d->model, self->id);
    bool is_char = key->code == K_CHAR;
    if (is_char && (key->ch == 'a' || key->ch == 'd')) {
        if (call)
            scr_call_open(d, call, true);
        else
            desk_say(d, "%s waits for nothing", self->id);
    } else if (key->code == K_TAB && a) {
        scr_output_open(d, a);
    } else if (!desk_attempt_key(d, key, self->id)) {
        (void)view_key(&self->text, key);
    }
}

static void changed(struct screen *s, struct desk *d)
{
    load((struct scr_attempt *)s, d);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    struct scr_attempt *self = (struct scr_attempt *)s;
    json_decref(self->shown);
    view_release(&self->text);
    free(self);
}

static const struct help_line help[] = {
    {"a, d", "show the call that it waits for, to approve or deny"},
    {"o v t", "its output, diff, live terminal; Tab from one to the next"},
    {"w", "what it did: calls, programs, connections and refs as a tree"},
    {"s s", "stop it with all its processes (pressed twice)"},
    {"Up Down, Space, b", "scroll; Page Up, Page Down, Home and End as well"},
    {NULL, NULL},
};

const struct screen_ops scr_attempt_ops = {
    .name = "Attempt",
    .hints = " ? help  a call  o output  v diff  w trace  t term  s stop  g queue  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .changed = changed,
    .free = release,
};

void scr_attempt_open(struct desk *d, const char *attempt)
{
    struct scr_attempt *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_attempt_ops;
    self->text = (struct view)VIEW_INIT;
    self->text.wraps = true;
    fixed_set(self->id, sizeof(self->id), attempt);
    load(self, d);
    desk_push(d, &self->base);
    json_t *request = json_object(), *ids = json_array();
    json_array_append_new(ids, json_string(self->id));
    jx_set(request, "ids", ids);
    d->host->request(d->host_arg, ASK_ATTEMPT, self->id, "attempt.show", request);
}

void scr_attempt_on_show(struct desk *d, const char *attempt, const json_t *result)
{
    struct scr_attempt *self = (struct scr_attempt *)desk_find(d, &scr_attempt_ops);
    if (!self || strcmp(self->id, attempt) != 0)
        return;
    json_decref(self->shown);
    self->shown = json_incref(json_array_get(jx_arr(result, "attempts"), 0));
    load(self, d);
}
