#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "ui/argtext.h"
#include "ui/decide.h"
#include "ui/fixed.h"
#include "ui/paint.h"
#include "ui/screens.h"
#include "ui/view.h"

enum {
    COL_CALL = 1,
    COL_MORE = 9,
    COL_ATTEMPT = 14,
    COL_TOOL = 23,
    COL_AGE = 36,
    COL_TEXT = 44,
    ARGS_HEAD_ROWS = 4, /* bar, who asks, where, why */
    SETTLE_MS = 700,    /* a card that came under the cursor by itself cannot be decided sooner */
};

struct scr_queue {
    struct screen base;
    size_t top;
    struct view args;
    char shown[72]; /* the key of the card that args holds */
};

static const struct model_call *card_call(const struct desk *d, size_t card)
{
    return &d->model.calls[d->cards.list[card].first];
}

static void load_args(struct scr_queue *self, const struct desk *d, size_t card)
{
    const char *key = cards_key(&d->cards, &d->model, card);
    if (strcmp(self->shown, key) == 0)
        return;
    fixed_set(self->shown, sizeof(self->shown), key);
    AUTO_BUF struct buf text = BUF_INIT;
    const struct model_call *call = card_call(d, card);
    if (call->args)
        argtext(&text, call->args);
    else
        buf_adds(&text,
                 "(the arguments are too large for this list: press Enter to see them whole)\n");
    view_clear(&self->args);
    view_set(&self->args, text.ptr, text.len);
}

static void draw_card(const struct desk *d, struct paint *p, int row, size_t card, bool is_selected)
{
    const struct model_call *call = card_call(d, card);
    size_t n = d->cards.list[card].n;
    AUTO_BUF struct buf text = BUF_INIT;
    paint_line(p, row, COL_CALL, COL_MORE - COL_CALL - 1, STYLE_PLAIN, call->id);
    if (n > 1)
        buf_addf(&text, "+%zu", n - 1);
    paint_line(p, row, COL_MORE, COL_ATTEMPT - COL_MORE - 1, style_attr(CELL_BOLD), text.ptr);
    paint_line(p, row, COL_ATTEMPT, COL_TOOL - COL_ATTEMPT - 1, STYLE_PLAIN, call->attempt);
    paint_line(p, row, COL_TOOL, COL_AGE - COL_TOOL - 1, STYLE_PLAIN, call->tool);
    buf_clear(&text);
    paint_since(&text, p, call->asked_ms);
    paint_line(p, row, COL_AGE, COL_TEXT - COL_AGE - 1, STYLE_PLAIN, text.ptr);
    buf_clear(&text);
    argtext_brief(&text, call->source, call->args, call->worktree, p->cols - COL_TEXT);
    paint_line(p, row, COL_TEXT, p->cols - COL_TEXT, STYLE_PLAIN, text.ptr);
    if (is_selected)
        canvas_restyle(p->cv, p->top + row, 0, p->cols, style_attr(CELL_REVERSE));
}

/* The attempts of a card, each with its rung where that is known. */
static void add_members(struct buf *out, const struct desk *d, const struct card *card)
{
    for (size_t i = 0; i < card->n; i++) {
        const char *id = d->model.calls[d->cards.members[card->from + i]].attempt;
        const struct model_attempt *attempt = model_attempt(&d->model, id);
        buf_addf(out, " %s", id);
        if (attempt && attempt->ladder[0])
            buf_addf(out, " (%s)", attempt->ladder);
    }
}

static void draw_args(struct scr_queue *self, const struct desk *d, struct paint *p, int row,
                      size_t at)
{
    const struct card *card = &d->cards.list[at];
    const struct model_call *call = card_call(d, at);
    AUTO_BUF struct buf title = BUF_INIT, note = BUF_INIT, who = BUF_INIT, place = BUF_INIT;
    int rows = p->rows - row - ARGS_HEAD_ROWS;
    view_layout(&self->args, rows, p->cols - 2);
    view_place(&place, &self->args);
    buf_addf(&note, "%s%s", place.len > 0 ? "Space: more, " : "", place.ptr);
    buf_addf(&title, "%s  %s", call->id, call->tool);
    if (card->n > 1)
        buf_addf(&title, "  and %zu equal: one decision for all %zu", card->n - 1, card->n);
    paint_bar(p, row, title.ptr, note.ptr);
    buf_adds(&who, "asked by ");
    paint_asker(&who, call);
    buf_adds(&who, " in");
    add_members(&who, d, card);
    paint_deadline(&who, p, call->deadline_ms);
    paint_line(p, row + 1, 1, p->cols - 1, STYLE_PLAIN, who.ptr);
    buf_clear(&who);
    buf_adds(&who, "folder   ");
    paint_folder(&who, call);
    paint_line(p, row + 2, 1, p->cols - 1, STYLE_PLAIN, who.ptr);
    buf_clear(&who);
    buf_adds(&who, "because  ");
    paint_because(&who, call);
    paint_line(p, row + 3, 1, p->cols - 1, STYLE_PLAIN, who.ptr);
    view_draw(&self->args, p->cv, p->top + row + ARGS_HEAD_ROWS, 1, rows, p->cols - 2);
}

static void draw(struct screen *s, const struct desk *d, struct paint *p)
{
    struct scr_queue *self = (struct scr_queue *)s;
    size_t selected = desk_card(d);
    if (selected == SIZE_MAX) {
        paint_line(p, 1, 1, p->cols - 1, STYLE_PLAIN, "Nothing waits for a decision.");
        return;
    }
    int most = p->rows / 3, rows = d->cards.n < (size_t)most ? (int)d->cards.n : most;
    self->top = paint_list_top(self->top, selected, d->cards.n, rows);
    for (int i = 0; i < rows && self->top + (size_t)i < d->cards.n; i++)
        draw_card(d, p, i, self->top + (size_t)i, self->top + (size_t)i == selected);
    load_args(self, d, selected);
    draw_args(self, d, p, rows, selected);
}

static void move(struct desk *d, int64_t by)
{
    size_t at = desk_card(d);
    if (at == SIZE_MAX)
        return;
    int64_t to = (int64_t)at + by, last = (int64_t)d->cards.n - 1;
    to = to < 0 ? 0 : to > last ? last : to;
    fixed_set(d->card, sizeof(d->card), cards_key(&d->cards, &d->model, (size_t)to));
    d->card_moved_ms = 0;
}

static void decide(struct scr_queue *self, struct desk *d, bool is_allow)
{
    size_t at = desk_card(d);
    if (at == SIZE_MAX)
        return;
    const struct model_call *call = card_call(d, at);
    if (strcmp(self->shown, cards_key(&d->cards, &d->model, at)) != 0 ||
        d->now_ms - d->card_moved_ms < SETTLE_MS) {
        desk_complain(d, "That card has just come under the cursor: look, then press again.");
        return;
    }
    if (!call->args) {
        scr_call_open(d, call, false);
        return;
    }
    struct decide_set set = DECIDE_SET_INIT;
    decide_set_card(&set, d, at);
    if (!is_allow) {
        AUTO_BUF struct buf what = BUF_INIT;
        buf_addf(&what, "%s ", call->tool);
        argtext_brief(&what, call->source, call->args, call->worktree, ARGTEXT_COLUMNS);
        scr_deny_open(d, &set, what.ptr);
        return;
    }
    decide_send(d, &set, true, NULL);
    decide_set_release(&set);
}

static void on_key(struct screen *s, struct desk *d, const struct key *key)
{
    struct scr_queue *self = (struct scr_queue *)s;
    size_t at = desk_card(d);
    bool is_char = key->code == K_CHAR;
    if (key->code == K_TAB || key->code == K_BACKTAB)
        desk_pop(d);
    else if (at == SIZE_MAX)
        return;
    else if (key->code == K_UP || (is_char && key->ch == 'k'))
        move(d, -1);
    else if (key->code == K_DOWN || (is_char && key->ch == 'j'))
        move(d, 1);
    else if (key->code == K_ENTER)
        scr_call_open(d, card_call(d, at), false);
    else if (is_char && (key->ch == 'a' || key->ch == 'd'))
        decide(self, d, key->ch == 'a');
    else if (!view_key(&self->args, key))
        (void)desk_attempt_key(d, key, card_call(d, at)->attempt);
}

static void release(struct screen *s, struct desk *d)
{
    (void)d;
    view_release(&((struct scr_queue *)s)->args);
    free(s);
}

static const struct help_line help[] = {
    {"Up Down, j k", "select a card: equal calls of several attempts"},
    {"a", "approve the card: all its calls"},
    {"d", "deny it, with a reason that the agent reads"},
    {"Enter", "the card alone; there one call of it can be decided"},
    {"Space, b", "scroll; also Page Up, Page Down, Home, End"},
    {"o v t s", "output, diff, terminal, stop of the first attempt"},
    {"Tab", "back to the attempts"},
    {NULL, NULL},
};

const struct screen_ops scr_queue_ops = {
    .name = "Queue",
    .hints = " ? help  a approve  d deny  Enter open  Space scroll  Tab attempts  q back",
    .help = help,
    .draw = draw,
    .key = on_key,
    .free = release,
};

void scr_queue_open(struct desk *d)
{
    struct scr_queue *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scr_queue_ops;
    self->args = (struct view)VIEW_INIT;
    self->args.wraps = true;
    desk_push(d, &self->base);
}
