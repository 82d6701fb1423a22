#include "runner/server/notify_news.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/server/idle.h"
#include "runner/server/live.h"
#include "runner/server/notify.h"
#include "runner/server/notify_command.h"
#include "runner/store/run_row.h"

/* Agents that meet the same thing do so within a moment. */
enum { GATHER_MS = 2000, PAUSE_MS = 15 * 1000, NAMED_MAX = 100, TEXT_COLUMNS = 400 };

/* What a kind is called: in the setting and in news of an agent, as the state that holds while it
 * is so, and to people. */
static const struct {
    const char *name, *state, *one, *many;
} kinds[NEWS_KIND_COUNT] = {
    [NEWS_CALL] = {"call", NULL, NULL, NULL}, /* told by notify_call() */
    [NEWS_LIMIT] = {"limit", "limited", "met a limit of its model", "met a limit of their model"},
    [NEWS_WAITING] = {"waiting", "waiting", "waits for input", "wait for input"},
    [NEWS_FAILED] = {"failed", NULL, "failed", "failed"},
    [NEWS_ENDED] = {"ended", NULL, "was the last of its run to end",
                    "were the last of their runs to end"},
    [NEWS_RETRY] = {"retry", "retrying", "tries again", "try again"},
    [NEWS_ERROR] = {"error", NULL, "met an error", "met errors"},
};

static const unsigned needs_person =
    1U << NEWS_CALL | 1U << NEWS_LIMIT | 1U << NEWS_WAITING | 1U << NEWS_FAILED | 1U << NEWS_ENDED;

struct news_board {
    struct strv gathered[NEWS_KIND_COUNT]; /* attempts */
    int64_t not_before_ms[NEWS_KIND_COUNT];
};

/* ---- the setting ---- */

static enum news_kind kind_of(const char *name, size_t len)
{
    enum news_kind kind = 0;
    while (kind < NEWS_KIND_COUNT &&
           (strlen(kinds[kind].name) != len || memcmp(kinds[kind].name, name, len) != 0))
        kind++;
    return kind;
}

bool notify_kinds(unsigned *ret, const struct config *config, struct err *err)
{
    static const char between[] = ", \t";
    const char *at = config_str(config, "gate.notify", NULL);
    unsigned listed = at ? 0 : needs_person;
    for (size_t len; at && *(at += strspn(at, between)); at += len) {
        len = strcspn(at, between);
        enum news_kind kind = kind_of(at, len);
        if (kind < NEWS_KIND_COUNT)
            listed |= 1U << kind;
        else if (len == strlen("all") && memcmp(at, "all", len) == 0)
            listed |= (1U << NEWS_KIND_COUNT) - 1;
        else if (len != strlen("none") || memcmp(at, "none", len) != 0)
            return err_set(err, ERR_USAGE,
                           "gate.notify: '%.*s' is none of call, limit, waiting, failed, ended, "
                           "retry, error, all, none",
                           len < 32 ? (int)len : 32, at);
    }
    *ret = listed;
    return true;
}

bool notify_has(const struct server *s, enum news_kind kind)
{
    struct err ignored = ERR_INIT;
    unsigned listed = 0;
    return notify_kinds(&listed, s->config, &ignored) && listed & 1U << kind;
}

/* ---- what is told ---- */

static bool is_so_still(enum news_kind kind, const struct attempt_row *row, const json_t *pulse)
{
    switch (kind) {
    case NEWS_LIMIT:
    case NEWS_WAITING:
    case NEWS_RETRY:
        return row->state == ATTEMPT_RUNNING &&
               strcmp(jx_str(pulse, "state", ""), kinds[kind].state) == 0;
    case NEWS_FAILED:
    case NEWS_ENDED:
        return row->state == ATTEMPT_DONE;
    case NEWS_ERROR:
        return true;
    case NEWS_CALL:
    case NEWS_KIND_COUNT:
        break;
    }
    return false;
}

static const char *reason_of(enum news_kind kind, const struct attempt_row *row,
                             const json_t *pulse)
{
    const char *error = jx_str(pulse, "error", NULL);
    if (kind == NEWS_ENDED)
        return attempt_outcome_name(row->outcome);
    if (kind == NEWS_ERROR)
        return error;
    if (kind == NEWS_FAILED)
        return row->error ? row->error : error ? error : attempt_outcome_name(row->outcome);
    return jx_str(pulse, "why", NULL);
}

/* The message, of the first attempt and with the names of all. */
static json_t *message_of(enum news_kind kind, const struct attempt_row *row, const json_t *pulse)
{
    json_t *j = json_object();
    jx_set_int(j, "v", 1);
    jx_set_str(j, "news", kinds[kind].name);
    jx_set_str(j, "attempt", row->id);
    jx_set(j, "attempts", json_array());
    jx_set_str(j, "agent", row->agent);
    notify_set_line(j, "reason", reason_of(kind, row, pulse), TEXT_COLUMNS);
    jx_set_int(j, "until_ms", kind == NEWS_LIMIT ? jx_int(pulse, "until_ms", 0) : 0);
    notify_set_line(j, "task", row->title, TEXT_COLUMNS);
    notify_set_line(j, "repo", row->repo, TEXT_COLUMNS);
    return j;
}

/* NULL: all of it has passed. */
static json_t *gathered_message(struct server *s, enum news_kind kind, size_t *ret_n)
{
    const struct strv *ids = &s->news->gathered[kind];
    json_t *message = NULL;
    size_t n = 0;
    for (size_t i = 0; i < ids->n; i++) {
        AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
        AUTO_JSON json_t *pulse = NULL;
        struct err ignored = ERR_INIT;
        if (!attempt_row_get(&row, s->db, ids->v[i], &ignored)) /* it was discarded */
            continue;
        if (row.pulse && !jx_parse(&pulse, row.pulse, strlen(row.pulse), &ignored))
            pulse = NULL;
        if (!is_so_still(kind, &row, pulse))
            continue;
        if (!message)
            message = message_of(kind, &row, pulse);
        if (n++ < NAMED_MAX)
            json_array_append_new(jx_arr(message, "attempts"), json_string(row.id));
    }
    if (message)
        jx_set_int(message, "n", (int64_t)n);
    *ret_n = n;
    return message;
}

static void tell(struct server *s, enum news_kind kind)
{
    size_t n;
    AUTO_JSON json_t *message = gathered_message(s, kind, &n);
    if (!message)
        return;
    const char *id = jx_str(message, "attempt", "");
    AUTO_FREE char *title = n == 1 ? xasprintf("Attempt %s %s", id, kinds[kind].one)
                                   : xasprintf("%zu attempts %s", n, kinds[kind].many);
    notify_desktop(s, id, title, jx_str(message, n == 1 ? "reason" : "task", ""));
    notify_command_news(s, id, message);
}

/* ---- gathering ---- */

static void on_news(uv_timer_t *timer);

static void wake_at(struct server *s, int64_t at_ms, int64_t now_ms)
{
    uv_timer_start(&s->news_timer, on_news, at_ms > now_ms ? (uint64_t)(at_ms - now_ms) : 0, 0);
}

static void on_news(uv_timer_t *timer)
{
    struct server *s = timer->data;
    int64_t now_ms = clock_mono_ms(), next_ms = INT64_MAX;
    for (enum news_kind kind = 0; kind < NEWS_KIND_COUNT; kind++) {
        struct strv *ids = &s->news->gathered[kind];
        int64_t *due_ms = &s->news->not_before_ms[kind];
        if (ids->n > 0 && *due_ms <= now_ms) {
            tell(s, kind);
            strv_release(ids);
            *due_ms = now_ms + PAUSE_MS;
        } else if (ids->n > 0 && *due_ms < next_ms) {
            next_ms = *due_ms;
        }
    }
    if (next_ms != INT64_MAX)
        wake_at(s, next_ms, now_ms);
    idle_touch(s);
}

static void gather(struct server *s, enum news_kind kind, const char *id)
{
    if (s->is_stopping || !notify_has(s, kind))
        return;
    if (!s->news)
        s->news = xcalloc(1, sizeof(*s->news));
    struct strv *ids = &s->news->gathered[kind];
    int64_t now_ms = clock_mono_ms(), *due_ms = &s->news->not_before_ms[kind];
    for (size_t i = 0; i < ids->n; i++)
        if (strcmp(ids->v[i], id) == 0)
            return;
    if (ids->n == 0 && *due_ms < now_ms + GATHER_MS)
        *due_ms = now_ms + GATHER_MS;
    strv_push(ids, id);
    if (!uv_is_active((uv_handle_t *)&s->news_timer) ||
        (int64_t)uv_timer_get_due_in(&s->news_timer) > *due_ms - now_ms)
        wake_at(s, *due_ms, now_ms);
}

void notify_pulse(struct server *s, const struct attempt_row *row, const json_t *news)
{
    AUTO_JSON json_t *pulse = NULL;
    struct err ignored = ERR_INIT;
    struct live *live = live_find(s, row->id);
    size_t i;
    const json_t *item;
    if (!live || !row->pulse || !jx_parse(&pulse, row->pulse, strlen(row->pulse), &ignored))
        return;
    for (enum news_kind kind = 0; kind < NEWS_KIND_COUNT; kind++)
        if (kinds[kind].state && !is_so_still(kind, row, pulse))
            live->told &= ~(1U << kind);
    json_array_foreach(news, i, item)
    {
        const char *name = jx_str(item, "kind", "");
        enum news_kind kind = kind_of(name, strlen(name));
        if (kind == NEWS_KIND_COUNT || live->told & 1U << kind || !is_so_still(kind, row, pulse) ||
            jx_bool(item, "attended", false))
            continue;
        live->told |= 1U << kind;
        gather(s, kind, row->id);
    }
}

/* A person who stopped it knows. */
void notify_ended(struct server *s, const struct attempt_row *row)
{
    AUTO_RUN_ROW struct run_row run = RUN_ROW_INIT;
    AUTO_STRV struct strv open = STRV_INIT;
    struct err ignored = ERR_INIT;
    if (row->outcome == OUTCOME_STOPPED)
        return;
    if (row->outcome != OUTCOME_OK)
        gather(s, NEWS_FAILED, row->id);
    if (run_row_get(&run, s->db, row->run, &ignored) &&
        attempt_row_ids(&open, s->db, ATTEMPTS_OPEN, row->run, 1, &ignored) && open.n == 0 &&
        (run.n > 1 || row->outcome == OUTCOME_OK))
        gather(s, NEWS_ENDED, row->id);
}

bool notify_news_waits(const struct server *s)
{
    for (enum news_kind kind = 0; s->news && kind < NEWS_KIND_COUNT; kind++)
        if (s->news->gathered[kind].n > 0)
            return true;
    return false;
}

void notify_news_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->news_timer);
    s->news_timer.data = s;
}

void notify_news_close(struct server *s)
{
    uv_close((uv_handle_t *)&s->news_timer, NULL);
    for (enum news_kind kind = 0; s->news && kind < NEWS_KIND_COUNT; kind++)
        strv_release(&s->news->gathered[kind]);
    free(s->news);
    s->news = NULL;
}
