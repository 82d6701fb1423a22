#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/argtext.h"
#include "ui/decide.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

enum { HEAD_ROWS = 5 };

struct scr_call {
    struct screen base;
    struct model_call call; /* a copy of its own: it is shown on after it was decided */
    bool is_alone;          /* decide this call only, whatever equals it */
    struct view args;
};

static void load_args(struct scr_call *self)
{
    AUTO_BUF struct buf text = BUF_INIT;
    if (self->call.args)
        argtext(&text, self->call.args);
    else
        buf_adds(&text, "(loading the arguments ...)\n");
    view_set(&self->args, text.ptr, text.len);
}

/* The card that holds this call now, or SIZE_MAX when it is decided. */
static size_t card_of(const struct scr_call *self, const struct desk *d)
{
    if (!model_call(&d->model, self->call.id))
        return SIZE_MAX;
    return cards_find(&d->cards, &d->model,
                      self->call.action[0] ? self->call.action : self->call.id);
}

static void add_set(struct decide_set *set, const struct scr_call *self, const struct desk *d)
{
    size_t card = card_of(self, d);
    if (self->is_alone || card == SIZE_MAX)
        decide_set_add(set, &self->call);
    else
        decide_set_card(set, d, card);
}

static void add_state(struct buf *out, const struct scr_call *self, const struct desk *d,
                      struct paint *p)
{
    if (model_call(&d->model, self->call.id)) {
        buf_adds(out, "waiting for ");
        paint_since(out, p, self->call.asked_ms);
        paint_deadline(out, p, self->call.deadline_ms);
        return;
    }
    const struct model_settled *settled = model_settled(&d->model, self->call.id);
    buf_addf(out, "%s", settled ? settled->state : "no longer waiting");
    if (settled && settled->decided_by[0])
        buf_addf(out, " by %s", settled->decided_by);
    else if (settled && settled->why[0])
        buf_addf(out, " (%s)", settled->why);
}

static void draw_head(struct scr_call *self, const struct desk *d, struct paint *p,
                      const char *place)
{
    AUTO_BUF struct buf line = BUF_INIT;
    buf_addf(&line, "%s  %s  in %s", self->call.id, self->call.tool, self->call.attempt);
    paint_bar(p, 0, line.ptr, place);
    buf_clear(&line);
    buf_adds(&line, "asked by ");
    paint_asker(&line, &self->call);
    buf_addf(&line, "  ");
    add_state(&line, self, d, p);
    paint_line(p, 1, 1, p->cols - 1, style_attr(CELL_BOLD), line.ptr);
    buf_clear(&line);
    buf_adds(&line, "folder   ");
    paint_folder(&line, &self->call);
    paint_line(p, 2, 1, p->cols - 1, STYLE_PLAIN, line.ptr);
    buf_clear(&line);
    buf_adds(&line, "because  ");
    paint_because(&line, &self->call);
    paint_line(p, 3, 1, p->cols - 1, STYLE_PLAIN, line.ptr);
    AUTO_DECIDE_SET struct decide_set set = DECIDE_SET_INIT;
    add_set(&set, self, d);
    buf_clear(&line);
    size_t card = card_of(self, d);
    if (card != SIZE_MAX && d->cards.list[card].n > 1) {
        buf_addf(&line, "a and d decide %zu of %zu equal calls (1 switches):", set.ids.n,
                 d->cards.list[card].n);
        for (size_t i = 0; i < set.ids.n; i++)
            buf_addf(&line, " %s", set.attempts.v[i]);
    }
    paint_line(p, 4, 1, p->cols - 1, style_attr(CELL_BOLD), line.ptr);
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    struct scr_call *self = (struct scr_call *)s;
    AUTO_BUF struct buf place = BUF_INIT;
    int rows = p->rows - HEAD_ROWS;
    view_layout(&self->args, rows, p->cols - 2);
    view_place(&place, &self->args);
    draw_head(self, d, p, place.ptr);
    view_draw(&self->args, p->cv, p->top + HEAD_ROWS, 1, rows, p->cols - 2);
}

static void decide(struct scr_call *self, struct desk *d, bool is_allow)
{
    if (!model_call(&d->model, self->call.id)) {
        desk_complain(d, "%s is no longer waiting", self->call.id);
        return;
    }
    if (!self->call.args) {
        desk_complain(d, "The arguments are not there yet.");
        return;
    }
    struct decide_set set = DECIDE_SET_INIT;
    add_set(&set, self, d);
    if (is_allow) {
        decide_send(d, &set, true, NULL);
        decide_set_release(&set);
        return;
    }
    AUTO_BUF struct buf what = BUF_INIT;
    buf_addf(&what, "%s ", self->call.tool);
    argtext_brief(&what, self->call.source, self->call.args, self->call.worktree, ARGTEXT_COLUMNS);
    scr_deny_open(d, &set, what.ptr);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_call *self = (struct scr_call *)s;
    bool is_char = key->code == K_CHAR;
    if (is_char && (key->ch == 'a' || key->ch == 'd'))
        decide(self, d, key->ch == 'a');
    else if (is_char && key->ch == '1')
        self->is_alone = !self->is_alone;
    else if (!view_key(&self->args, key))
        (void)desk_attempt_key(d, key, self->call.attempt);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    struct scr_call *self = (struct scr_call *)s;
    model_call_release(&self->call);
    view_release(&self->args);
    free(self);
}

static const struct help_line help[] = {
    {"a", "approve what is shown: the call, or all equal ones"},
    {"d", "deny it, with a reason that the agent reads"},
    {"1", "switch between this call alone and all equal calls"},
    {"Up Down, Space, b", "scroll; Page Up, Page Down, Home and End as well"},
    {"o v t s", "output, diff, terminal, stop of the attempt"},
    {"| and =", "a string follows |, any other value follows = as JSON"},
    {"+", "the line above goes on"},
    {"\\e \\xNN \\u{NNNN}", "control characters, bytes, invisible characters"},
    {"\\\\", "a backslash"},
    {NULL, NULL},
};

const struct screen_ops scr_call_ops = {
    .name = "Call",
    .hints = " ? help  a approve  d deny  1 one/all  Space scroll  o output  v diff  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .free = release,
};

static void copy_call(struct model_call *ret, const struct model_call *call)
{
    *ret = *call;
    char **texts[] = {&ret->id,     &ret->attempt,    &ret->state,  &ret->source,   &ret->agent,
                      &ret->tool,   &ret->cwd,        &ret->action, &ret->digest,   &ret->why,
                      &ret->reason, &ret->decided_by, &ret->sub_id, &ret->sub_type, &ret->worktree};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = xstrdup(*texts[i]);
    json_incref(ret->args);
}

void scr_call_open(struct desk *d, const struct model_call *call, bool alone)
{
    struct scr_call *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_call_ops;
    self->is_alone = alone;
    self->args = (struct view)VIEW_INIT;
    self->args.wraps = true;
    copy_call(&self->call, call);
    load_args(self);
    desk_push(d, &self->base);
    if (!call->args) {
        json_t *request = json_object();
        jx_set_str(request, "call", call->id);
        d->host->request(d->host_arg, ASK_CALL, self->call.id, "call.show", request);
    }
}

void scr_call_on_show(struct desk *d, const char *call, const json_t *result)
{
    struct scr_call *self = (struct scr_call *)desk_find(d, &scr_call_ops);
    if (!self || strcmp(self->call.id, call) != 0)
        return;
    struct model_call fetched;
    model_call_parse(&fetched, jx_obj(result, "call"));
    /* Only what was asked about: another digest is another call. */
    if (strcmp(fetched.digest, self->call.digest) == 0) {
        json_decref(self->call.args);
        self->call.args = json_incref(fetched.args);
        load_args(self);
    }
    model_call_release(&fetched);
}
