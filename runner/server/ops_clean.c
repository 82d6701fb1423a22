/*
 * ops_clean: removing attempts, and what nothing needs any more.
 */
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "gate/ledger.h"
#include "runner/attempt/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/server/discard.h"
#include "runner/server/ops.h"
#include "runner/server/view.h"

static void answer_discard(struct discard *d)
{
    if (d->is_cut_short) {
        request_fail(d->request, &d->why);
        return;
    }
    request_answer(d->request, json_pack("{s:O, s:O}", "discarded", d->discarded, "kept", d->kept));
}

void op_attempt_discard(struct request *r)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv ids = STRV_INIT;
    if (view_resolve(&ids, r->server, r->body, ATTEMPTS_DONE, &err))
        discard_start(r, &ids, jx_bool(r->body, "force", false), answer_discard);
    else
        request_fail(r, &err);
}

/* clean in four steps: look what could go (worker), remove those attempts (jobs), remove bases
 * (worker), drop arguments of calls. */
struct clean {
    struct request *request;
    const struct paths *paths;
    bool dry_run;
    int64_t before_ms;   /* arguments of calls that were asked before are dropped; 0: none are */
    struct strv done;    /* attempts that are over */
    struct strv useless; /* of these, the ones whose removal loses no work */
    json_t *sizes;       /* id: bytes */
    struct strv bases;   /* PATH\tBYTES */
    json_t *removed;
    bool ok;
    struct err err;
};

static void clean_free(struct clean *c)
{
    strv_release(&c->done);
    strv_release(&c->useless);
    strv_release(&c->bases);
    json_decref(c->sizes);
    json_decref(c->removed);
    free(c);
}

/* Allocated bytes below path; what cannot be read is not counted. */
static int64_t disk_usage(const char *path)
{
    AUTO_FREE char *root = xstrdup(path);
    char *const roots[] = {root, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    int64_t bytes = 0;
    const FTSENT *entry;
    while (walk && (entry = fts_read(walk)))
        if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS && entry->fts_info != FTS_ERR &&
            entry->fts_info != FTS_DNR && entry->fts_info != FTS_DC)
            bytes += (int64_t)entry->fts_statp->st_blocks * 512;
    if (walk)
        fts_close(walk);
    return bytes;
}

/* An attempt whose repository or folder cannot be looked at is kept. */
static bool is_useless(const char *dir)
{
    struct wt_attempt attempt = WT_ATTEMPT_INIT;
    struct err ignored = ERR_INIT;
    bool is_merged = false;
    if (!fs_exists(dir))
        return true;
    if (!wt_load(&attempt, dir, &ignored))
        return false;
    bool ok = wt_is_merged(&is_merged, &attempt, &ignored);
    wt_attempt_release(&attempt);
    return ok && is_merged;
}

static void look_work(void *arg)
{
    struct clean *c = arg;
    for (size_t i = 0; i < c->done.n; i++) {
        AUTO_FREE char *dir = paths_attempt(c->paths, c->done.v[i]);
        if (!is_useless(dir))
            continue;
        strv_push(&c->useless, c->done.v[i]);
        jx_set_int(c->sizes, c->done.v[i], fs_exists(dir) ? disk_usage(dir) : 0);
    }
}

static void add_removed(struct clean *c, const char *what, const char *path, int64_t bytes)
{
    json_t *entry = json_object();
    jx_set_str(entry, "what", what);
    jx_set_str(entry, "path", path);
    jx_set_int(entry, "bytes", bytes);
    json_array_append_new(c->removed, entry);
}

static void add_attempt(struct clean *c, const char *id)
{
    AUTO_FREE char *dir = paths_attempt(c->paths, id);
    AUTO_FREE char *what = xasprintf("attempt %s", id);
    add_removed(c, what, dir, jx_int(c->sizes, id, 0));
}

static void bases_work(void *arg)
{
    struct clean *c = arg;
    c->ok = wt_clean_bases(&c->bases, c->paths->bases, c->paths->attempts,
                           c->dry_run ? &c->useless : NULL, &c->err);
}

/* Of attempts that are over, each for itself: one that is begun is whole. */
static bool drop_arguments(struct clean *c, struct err *err)
{
    struct server *s = c->request->server;
    AUTO_STRV struct strv attempts = STRV_INIT, open = STRV_INIT;
    struct err ignored = ERR_INIT; /* a busy store gives its room back another time */
    if (!ledger_droppable(&attempts, s->db, c->before_ms, err) ||
        !attempt_row_ids(&open, s->db, ATTEMPTS_OPEN, 0, INT64_MAX, err))
        return false;
    for (size_t i = 0; i < attempts.n; i++) {
        const char *id = attempts.v[i];
        struct ledger_dropped dropped;
        if (strv_has(&open, id))
            continue;
        if (!ledger_drop(&dropped, s->db, id, c->before_ms, c->request->by, clock_unix_ms(),
                         c->dry_run, err))
            return false;
        AUTO_FREE char *what = xasprintf("arguments of %lld call%s of %s", (long long)dropped.calls,
                                         dropped.calls == 1 ? "" : "s", id);
        add_removed(c, what, c->paths->db, dropped.bytes);
    }
    if (!c->dry_run && attempts.n > 0)
        (void)!(db_exec(s->db, "VACUUM", &ignored) &&
                db_exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", &ignored));
    return true;
}

static void bases_done(void *arg)
{
    struct clean *c = arg;
    for (size_t i = 0; i < c->bases.n; i++) {
        char *tab = strchr(c->bases.v[i], '\t');
        if (tab)
            *tab = '\0';
        add_removed(c, "base", c->bases.v[i], tab ? strtoll(tab + 1, NULL, 10) : 0);
    }
    if (c->ok && (c->before_ms == 0 || drop_arguments(c, &c->err)))
        request_answer(c->request, json_pack("{s:O}", "removed", c->removed));
    else
        request_fail(c->request, &c->err);
    clean_free(c);
}

/* The request carries the clean in `context`, which answers it later. */
static void attempts_removed(struct discard *d)
{
    struct clean *c = d->request->context;
    size_t i;
    const json_t *id;
    if (d->is_cut_short) {
        request_fail(d->request, &d->why);
        clean_free(c);
        return;
    }
    json_array_foreach(d->discarded, i, id)
    {
        add_attempt(c, json_string_value(id));
    }
    request_work(c->request, bases_work, bases_done, c);
}

static void look_done(void *arg)
{
    struct clean *c = arg;
    if (!c->dry_run) {
        discard_start(c->request, &c->useless, false, attempts_removed);
        return;
    }
    for (size_t i = 0; i < c->useless.n; i++)
        add_attempt(c, c->useless.v[i]);
    request_work(c->request, bases_work, bases_done, c);
}

/* Attempts that are over. One whose work did not come home is none of them, whatever its branch
 * says. */
static bool find_done(struct strv *ret, struct server *s, struct err *err)
{
    AUTO_STRV struct strv ids = STRV_INIT;
    if (!attempt_row_ids(&ids, s->db, ATTEMPTS_DONE, 0, INT64_MAX, err))
        return false;
    for (size_t i = 0; i < ids.n; i++) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        if (!attempt_row_get(&row, s->db, ids.v[i], err))
            return false;
        if (!row.tree || row.tip)
            strv_push(ret, ids.v[i]);
    }
    return true;
}

void op_clean(struct request *r)
{
    struct err err = ERR_INIT;
    struct clean *c = xcalloc(1, sizeof(*c));
    c->request = r;
    c->paths = &r->server->paths;
    c->dry_run = jx_bool(r->body, "dry_run", false);
    if (json_is_integer(json_object_get(r->body, "arguments_ms")))
        c->before_ms = clock_unix_ms() - jx_int(r->body, "arguments_ms", 0);
    c->sizes = json_object();
    c->removed = json_array();
    r->context = c;
    if (!find_done(&c->done, r->server, &err)) {
        request_fail(r, &err);
        clean_free(c);
        return;
    }
    request_work(r, look_work, look_done, c);
}
