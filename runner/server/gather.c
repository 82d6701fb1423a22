#include "runner/server/gather.h"

#include <stdlib.h>
#include <string.h>

#include "runner/server/view.h"

enum { SHOWN_MAX = 2000 }; /* attempts in an answer */

struct gather {
    struct gather *next;
    struct request *request;
    enum gather_what what;
    struct strv ids;
    struct strv waiting; /* an emptied string: met */
    size_t n_waiting;
};

static void answer(struct gather *g)
{
    struct err err = ERR_INIT;
    json_t *attempts;
    const struct strv shown = {.v = g->ids.v, .n = g->ids.n < SHOWN_MAX ? g->ids.n : SHOWN_MAX};
    if (view_attempts(&attempts, g->request->server, &shown, VIEW_SHORT, &err))
        request_answer(g->request, json_pack("{s:o}", "attempts", attempts));
    else
        request_fail(g->request, &err);
}

static void gather_free(struct gather *g)
{
    strv_release(&g->ids);
    strv_release(&g->waiting);
    free(g);
}

void gather_open(struct request *r, enum gather_what what, const struct strv *ids,
                 const struct strv *waiting)
{
    struct gather *g = xcalloc(1, sizeof(*g));
    g->request = r;
    g->what = what;
    strv_push_all(&g->ids, strv_array(ids));
    strv_push_all(&g->waiting, strv_array(waiting));
    g->n_waiting = waiting->n;
    if (g->n_waiting == 0) {
        answer(g);
        gather_free(g);
        return;
    }
    g->next = r->server->gathers;
    r->server->gathers = g;
}

static void strike_out(struct gather *g, const char *id)
{
    for (size_t i = 0; i < g->waiting.n; i++) {
        if (strcmp(g->waiting.v[i], id) != 0)
            continue;
        g->waiting.v[i][0] = '\0';
        g->n_waiting--;
        return;
    }
}

void gather_met(struct server *s, enum gather_what what, const char *id)
{
    struct gather **at = &s->gathers;
    while (*at) {
        struct gather *g = *at;
        if (g->what == what)
            strike_out(g, id);
        if (g->n_waiting > 0) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        answer(g);
        gather_free(g);
    }
}

void gather_close(struct server *s)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_FAILED, "the server ends; the attempts go on under their keepers");
    while (s->gathers) {
        struct gather *g = s->gathers;
        s->gathers = g->next;
        request_fail(g->request, &err);
        gather_free(g);
    }
}
