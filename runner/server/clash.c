#include "runner/server/clash.h"

#include <stdlib.h>
#include <string.h>

#include "runner/server/events.h"
#include "runner/server/idle.h"
#include "runner/server/target_watch.h"
#include "runner/store/attempt_row.h"
#include "worktree/radar.h"

enum { TIPS_MAX = 64, PATHS_SHOWN = 20 }; /* the newest tips; the paths of one clash */

struct clash_board {
    struct strv waiting; /* common folders of repositories */
    bool is_looking;
    json_t *known; /* id: [CLASH] */
};

/* One look at a repository, as a value for a worker. */
struct look {
    uv_work_t req;
    struct server *server;
    char *common;
    struct strv ids, oids, bases, targets; /* targets: "" for the main checkout's */
    struct radar radar;
    char *main_branch;
    bool ok;
    struct err err;
};

static struct clash_board *board(struct server *s)
{
    if (!s->clashes) {
        s->clashes = xcalloc(1, sizeof(*s->clashes));
        s->clashes->waiting = (struct strv)STRV_INIT;
        s->clashes->known = json_object();
    }
    return s->clashes;
}

void clash_free(struct server *s)
{
    if (!s->clashes)
        return;
    strv_release(&s->clashes->waiting);
    json_decref(s->clashes->known);
    free(s->clashes);
    s->clashes = NULL;
}

json_t *clash_json(const struct server *s, const char *id)
{
    json_t *known = s->clashes ? json_object_get(s->clashes->known, id) : NULL;
    return known ? json_incref(known) : json_array();
}

static void look_free(struct look *l)
{
    free(l->common);
    free(l->main_branch);
    strv_release(&l->ids);
    strv_release(&l->oids);
    strv_release(&l->bases);
    strv_release(&l->targets);
    radar_release(&l->radar);
    free(l);
}

/* ---- what to look at ---- */

static void add_tip(void *arg, const char *id, const char *tip, const char *base, const char *into)
{
    struct look *l = arg;
    strv_push(&l->ids, id);
    strv_push(&l->oids, tip);
    strv_push(&l->bases, base);
    strv_push(&l->targets, into ? into : "");
}

/* ---- looking (a worker) ---- */

static void on_look(uv_work_t *req)
{
    struct look *l = req->data;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_FREE struct radar_tip *tips = xcalloc(l->ids.n + 1, sizeof(*tips));
    for (size_t i = 0; i < l->ids.n; i++)
        tips[i] = (struct radar_tip){
            .oid = l->oids.v[i],
            .base = l->bases.v[i],
            .into = *l->targets.v[i] ? l->targets.v[i] : NULL,
        };
    l->ok = radar_scan(&l->radar, l->common, tips, l->ids.n, &l->err);
    struct err ignored = ERR_INIT;
    if (l->ok)
        l->main_branch = wt_main_branch(l->common, &ignored);
}

/* ---- what was seen ---- */

/* other NULL: the target, called into. */
static void add_clash(json_t *list, const char *other, const char *into,
                      const struct radar_trial *t)
{
    json_t *clash = json_object(), *paths = json_array();
    for (size_t i = 0; i < t->n && i < PATHS_SHOWN; i++) {
        json_t *path = json_object();
        jx_set(path, "path", jx_bytes(t->v[i].path, strlen(t->v[i].path)));
        jx_set_int(path, "line", t->v[i].line);
        json_array_append_new(paths, path);
    }
    jx_set_str(clash, "with", other);
    jx_set_str(clash, "into", into);
    jx_set_int(clash, "n", (int64_t)t->n);
    jx_set(clash, "paths", paths);
    json_array_append_new(list, clash);
}

static void list_clashes(json_t *lists, const struct look *l)
{
    for (size_t i = 0; i < l->ids.n; i++)
        json_array_append_new(lists, json_array());
    for (size_t i = 0; i < l->radar.n; i++) {
        const struct radar_trial *t = &l->radar.v[i];
        const char *named = l->targets.v[t->a];
        const char *target = *named ? named : l->main_branch ? l->main_branch : "HEAD";
        if (t->n == 0)
            continue;
        if (t->b == RADAR_TARGET) {
            add_clash(json_array_get(lists, t->a), NULL, target, t);
            continue;
        }
        add_clash(json_array_get(lists, t->a), l->ids.v[t->b], NULL, t);
        add_clash(json_array_get(lists, t->b), l->ids.v[t->a], NULL, t);
    }
}

/* Keep it, and tell of what is different now. */
static void set(struct server *s, const char *id, json_t *list)
{
    json_t *known = s->clashes->known;
    AUTO_JSON json_t *old = clash_json(s, id);
    if (json_equal(old, list))
        return;
    if (json_array_size(list) > 0)
        json_object_set(known, id, list);
    else
        json_object_del(known, id);
    events_attempt(s, id);
}

/* Who is no longer among those that were looked at has no clashes. */
static void forget_others(struct server *s, const struct look *l)
{
    AUTO_STRV struct strv gone = STRV_INIT;
    const char *id;
    json_t *ignored;
    json_object_foreach(s->clashes->known, id, ignored)
    {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        struct err absent = ERR_INIT;
        bool is_here = attempt_row_get(&row, s->db, id, &absent);
        if (!strv_has(&l->ids, id) && (!is_here || strcmp(row.common, l->common) == 0))
            strv_push(&gone, id);
    }
    for (size_t i = 0; i < gone.n; i++)
        json_object_del(s->clashes->known, gone.v[i]);
}

static void look_at_next(struct server *s);

static void on_looked(uv_work_t *req, int status)
{
    struct look *l = req->data;
    struct server *s = l->server;
    (void)status; /* never cancelled */
    s->works_running--;
    s->clashes->is_looking = false;
    if (l->ok && !s->is_stopping) {
        AUTO_JSON json_t *lists = json_array();
        list_clashes(lists, l);
        forget_others(s, l);
        for (size_t i = 0; i < l->ids.n; i++)
            set(s, l->ids.v[i], json_array_get(lists, i));
    } else if (!l->ok) {
        server_log("conflicts in %s: %s", l->common, l->err.text);
    }
    look_free(l);
    if (!s->is_stopping)
        look_at_next(s);
    idle_touch(s);
}

static void look_at_next(struct server *s)
{
    struct clash_board *b = board(s);
    if (b->is_looking || b->waiting.n == 0 || s->is_stopping)
        return;
    struct look *l = xcalloc(1, sizeof(*l));
    AUTO_STRV struct strv rest = STRV_INIT;
    *l = (struct look){.server = s, .common = xstrdup(b->waiting.v[0]), .radar = RADAR_INIT};
    strv_push_all(&rest, strv_array(&b->waiting) + 1);
    strv_release(&b->waiting);
    b->waiting = rest;
    rest = (struct strv)STRV_INIT;
    if (!attempt_row_open_work(s->db, l->common, TIPS_MAX, add_tip, l, &l->err)) {
        server_log("conflicts in %s: %s", l->common, l->err.text);
        look_free(l);
        return;
    }
    target_watch_set(s, l->common, &l->targets);
    l->req.data = l;
    b->is_looking = true;
    s->works_running++;
    uv_queue_work(&s->loop, &l->req, on_look, on_looked);
}

void clash_note(struct server *s, const char *id)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    struct err absent = ERR_INIT;
    struct clash_board *b = board(s);
    if (!attempt_row_get(&row, s->db, id, &absent))
        return;
    if (!strv_has(&b->waiting, row.common))
        strv_push(&b->waiting, row.common);
}

void clash_touch(struct server *s, const char *id)
{
    clash_note(s, id);
    look_at_next(s);
}

void clash_moved(struct server *s, const char *common)
{
    if (!strv_has(&board(s)->waiting, common))
        strv_push(&board(s)->waiting, common);
    look_at_next(s);
}

void clash_look(struct server *s)
{
    look_at_next(s);
}

bool clash_touch_all(struct server *s, struct err *err)
{
    if (!attempt_row_open_repos(&board(s)->waiting, s->db, err))
        return false;
    look_at_next(s);
    return true;
}
