#include "runner/keep/exec_wait.h"

#include <stdlib.h>
#include <string.h>
#include "runner/base/clock.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"

enum { EXEC_WAIT_TICK_MS = 500 };

struct exec_waiting {
    struct exec_notice notice;
    struct exec_image image;
    int64_t number;
    char *name; /* "c12"; NULL: not told yet */
    char action[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
    int64_t until_ms; /* monotonic */
};

void exec_wait_init(struct exec_wait *w, uv_loop_t *loop, const struct exec_wait_ops *ops,
                    void *arg, struct records *records, int64_t deadline_ms)
{
    *w = (struct exec_wait){.ops = ops, .arg = arg, .records = records, .deadline_ms = deadline_ms};
    w->all = xcalloc(EXEC_WAIT_MAX, sizeof *w->all);
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
}

static void take_out(struct exec_wait *w, struct exec_waiting *e)
{
    exec_image_release(&e->image);
    free(e->name);
    *e = w->all[--w->n];
    if (w->n == 0)
        uv_timer_stop(&w->timer);
}

bool exec_wait_remembers(const struct exec_wait *w, const char *action)
{
    for (size_t i = 0; i < EXEC_REMEMBERED; i++)
        if (strcmp(w->allowed[i], action) == 0)
            return true;
    return false;
}

/* Its outcome on record; what cannot be written is found out at the attempt's end. */
static void record_end(struct exec_wait *w, const struct exec_waiting *e, const char *kind)
{
    struct err err = ERR_INIT;
    bool is_kept = records_call(w->records, kind, e->number, &err);
    (void)is_kept;
}

/* The caller has an errno alone; the words are for whoever looks at the attempt. */
static void tell_expired(struct exec_wait *w, const struct exec_waiting *e)
{
    AUTO_BUF struct buf time = BUF_INIT;
    clock_add_duration(&time, w->deadline_ms);
    records_note(w->records,
                 "%s was not started: nobody decided %s within %s; once it is approved it may be "
                 "tried again",
                 e->image.names.all.v[0], e->name ? e->name : "this call", time.ptr);
}

/* Callers that were killed, deadlines that passed. From the last on, as each may be taken out. */
static void on_tick(uv_timer_t *timer)
{
    struct exec_wait *w = timer->data;
    int64_t now_ms = clock_mono_ms();
    for (size_t i = w->n; i-- > 0;) {
        struct exec_waiting *e = &w->all[i];
        if (!w->ops->lives(w->arg, &e->notice)) {
            record_end(w, e, "orphaned");
            take_out(w, e);
        } else if (e->until_ms <= now_ms) {
            record_end(w, e, "expired");
            tell_expired(w, e);
            w->ops->refuse(w->arg, &e->notice);
            take_out(w, e);
        }
    }
}

bool exec_wait_ask(struct exec_wait *w, const struct exec_notice *n, struct exec_image *image,
                   const struct exec_record *record, const struct judgement *j)
{
    struct err err = ERR_INIT;
    if (w->n == EXEC_WAIT_MAX)
        return false;
    json_t *body = exec_record_body(record, j);
    jx_set_int(body, "deadline_ms", clock_unix_ms() + w->deadline_ms);
    struct exec_waiting e = {.notice = *n,
                             .image = *image,
                             .number = record->number,
                             .until_ms = clock_mono_ms() + w->deadline_ms};
    memcpy(e.action, record->action, sizeof e.action);
    memcpy(e.digest, record->digest, sizeof e.digest);
    w->all[w->n++] = e;
    *image = (struct exec_image)EXEC_IMAGE_INIT;
    if (!records_add(w->records, "asked", body, &err)) {
        *image = e.image;
        w->n--;
        return false;
    }
    if (!uv_is_active((uv_handle_t *)&w->timer))
        uv_timer_start(&w->timer, on_tick, EXEC_WAIT_TICK_MS, EXEC_WAIT_TICK_MS);
    return true;
}

static struct exec_waiting *find(struct exec_wait *w, const json_t *msg)
{
    int64_t number = jx_int(msg, "call", 0);
    for (size_t i = 0; i < w->n; i++)
        if (w->all[i].number == number)
            return &w->all[i];
    return NULL;
}

static bool consume(struct exec_wait *w, const struct exec_waiting *e)
{
    struct err err = ERR_INIT;
    json_t *body = json_object();
    jx_set_int(body, "call", e->number);
    jx_set_str(body, "digest", e->digest);
    return records_add(w->records, "consumed", body, &err);
}

bool exec_wait_decide(struct exec_wait *w, const json_t *msg)
{
    struct exec_waiting *e = find(w, msg);
    if (!e)
        return false;
    bool is_allowed = strcmp(jx_str(msg, "decision", ""), "allow") == 0;
    bool fits = strcmp(jx_str(msg, "digest", ""), e->digest) == 0;
    if (!w->ops->lives(w->arg, &e->notice)) {
        record_end(w, e, "orphaned");
    } else if (is_allowed && fits && consume(w, e)) {
        memcpy(w->allowed[w->next_allowed], e->action, sizeof e->action);
        w->next_allowed = (w->next_allowed + 1) % EXEC_REMEMBERED;
        w->ops->allow(w->arg, &e->notice, &e->image);
    } else {
        if (is_allowed)
            record_end(w, e, "orphaned");
        w->ops->refuse(w->arg, &e->notice);
    }
    take_out(w, e);
    return true;
}

bool exec_wait_name(struct exec_wait *w, const json_t *msg)
{
    struct exec_waiting *e = find(w, msg);
    const char *name = jx_str(msg, "name", NULL);
    if (!e)
        return false;
    if (name) {
        free(e->name);
        e->name = xstrdup(name);
    }
    return true;
}

void exec_wait_list(const struct exec_wait *w, json_t *list)
{
    for (size_t i = 0; i < w->n; i++) {
        json_t *entry = json_object();
        jx_set_int(entry, "call", w->all[i].number);
        jx_set_str(entry, "name", w->all[i].name);
        json_array_append_new(list, entry);
    }
}

void exec_wait_close(struct exec_wait *w)
{
    while (w->n > 0) {
        record_end(w, &w->all[0], "orphaned");
        take_out(w, &w->all[0]);
    }
    if (!uv_is_closing((uv_handle_t *)&w->timer))
        uv_close((uv_handle_t *)&w->timer, NULL);
}

void exec_wait_release(struct exec_wait *w)
{
    free(w->all);
    w->all = NULL;
}
