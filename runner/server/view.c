#include "runner/server/view.h"

#include <string.h>

#include "gate/ledger.h"
#include "runner/server/clash.h"
#include "runner/server/live.h"
#include "runner/server/trace.h"
#include "runner/store/rung.h"

enum {
    SHORT_TASK_BYTES = 240,
    SHOWN_CALLS = 200,
    SHOWN_ROWS = 2000,
    ARGS_BYTES = 64 * 1024,         /* of one call in a list */
    ARGS_BYTES_TOTAL = 1024 * 1024, /* of all calls in a list */
};

static void set_short_text(json_t *object, const char *key, const char *text)
{
    size_t len = strlen(text);
    if (len > SHORT_TASK_BYTES) {
        len = SHORT_TASK_BYTES;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    }
    jx_set(object, key, jx_bytes(text, len));
}

/* A JSON text of ours from the store; an empty array where there is none. */
static void set_stored(json_t *object, const char *key, const char *text)
{
    struct err ignored = ERR_INIT;
    json_t *value;
    if (!text || !jx_parse(&value, text, strlen(text), &ignored))
        value = json_array();
    jx_set(object, key, value);
}

/* The same, null where there is none. */
static void set_pulse(json_t *object, const char *text)
{
    struct err ignored = ERR_INIT;
    json_t *value;
    if (!text || !jx_parse(&value, text, strlen(text), &ignored))
        value = json_null();
    jx_set(object, "pulse", value);
}

static void add_identity(json_t *a, const struct attempt_row *row, enum view_form form)
{
    jx_set_str(a, "id", row->id);
    jx_set_int(a, "run", row->run);
    jx_set_int(a, "n", row->n);
    jx_set_str(a, "state", attempt_state_name(row->state));
    /* Known before the harvest, but true for people only after it. */
    jx_set_str(a, "outcome",
               row->state == ATTEMPT_DONE ? attempt_outcome_name(row->outcome) : NULL);
    jx_set_str(a, "agent", row->agent);
    if (form == VIEW_WHOLE)
        jx_set_str(a, "task", row->task);
    else
        set_short_text(a, "task", row->task);
    jx_set_str(a, "title", row->title);
    jx_set_str(a, "branch", row->branch);
    jx_set_str(a, "repo", row->repo);
    jx_set_str(a, "common", row->common);
    jx_set_str(a, "base", row->base);
    jx_set_str(a, "base_ref", row->base_ref);
    jx_set_bool(a, "base_wip", row->is_base_wip);
    jx_set_str(a, "into", row->into);
    jx_set_str(a, "ladder", row->ladder);
    jx_set_str(a, "subdir", row->subdir);
    jx_set_bool(a, "interactive", row->interactive);
}

static void add_course(json_t *a, const struct server *s, const struct attempt_row *row)
{
    const struct live *live = live_find(s, row->id);
    const char *line = live && live->last_line ? live->last_line : row->last_line;
    jx_set_str(a, "tip", row->tip);
    jx_set_str(a, "engine", row->engine);
    jx_set_str(a, "tree", row->tree);
    jx_set_int(a, "created_ms", row->created_ms);
    jx_set_int(a, "started_ms", row->started_ms);
    jx_set_int(a, "ended_ms", row->ended_ms);
    jx_set(a, "exit_status", row->exit_status < 0 ? json_null() : json_integer(row->exit_status));
    jx_set_text(a, "last_line", line);
    jx_set_str(a, "error", row->error);
    set_pulse(a, row->pulse);
    jx_set_str(a, "note", row->note);
    jx_set_int(a, "commits", row->commits);
    jx_set_int(a, "files", row->files);
    jx_set_bool(a, "dirty", row->snapshot != NULL);
    jx_set_str(a, "merged_into", row->merged_into);
    jx_set(a, "conflicts", clash_json(s, row->id));
    AUTO_FREE char *dir = paths_attempt(&s->paths, row->id);
    AUTO_FREE char *socket = paths_keeper_socket(&s->paths, row->id);
    AUTO_FREE char *log = paths_attempt_file(&s->paths, row->id, "log");
    jx_set_str(a, "dir", dir);
    jx_set_str(a, "socket", socket);
    jx_set_str(a, "log", log);
    jx_set(a, "keeper_pid", row->keeper.pid > 0 ? json_integer(row->keeper.pid) : json_null());
}

json_t *view_cut_calls(json_t *calls)
{
    size_t i, total = 0;
    json_t *call;
    json_array_foreach(calls, i, call)
    {
        AUTO_BUF struct buf text = BUF_INIT;
        jx_dump(&text, json_object_get(call, "args"));
        if (text.len <= ARGS_BYTES && total + text.len <= ARGS_BYTES_TOTAL) {
            total += text.len;
            continue;
        }
        AUTO_FREE char *cut = xasprintf("%zu bytes; 'headgate gate show %s' has them", text.len,
                                        jx_str(call, "id", ""));
        json_t *args = json_object();
        jx_set_str(args, "cut", cut);
        jx_set(call, "args", args);
    }
    return calls;
}

bool view_add_rungs(json_t *calls, struct server *s, struct err *err)
{
    AUTO_FREE char *attempt = xstrdup("");
    enum ladder ladder = LADDER_CONFIRM;
    bool has_rung = false;
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call)
    {
        const char *of = jx_str(call, "attempt", "");
        if (strcmp(of, attempt) != 0) {
            free(attempt);
            attempt = xstrdup(of);
            if (!rung_of(&ladder, &has_rung, s->db, attempt, err))
                return false;
        }
        jx_set_str(call, "ladder", has_rung ? ladder_name(ladder) : NULL);
    }
    return true;
}

static bool add_details(json_t *a, struct server *s, const struct attempt_row *row, struct err *err)
{
    json_t *calls;
    AUTO_JSON json_t *told = NULL;
    if (!ledger_log_told(&told, s->db, row->id, SHOWN_ROWS, err) ||
        !ledger_list(&calls, s->db, 0, row->id, SHOWN_CALLS, err))
        return false;
    jx_set(a, "hosts", trace_hosts(told));
    jx_set(a, "calls", view_cut_calls(calls));
    jx_set_str(a, "engine_why", row->engine_why);
    jx_set_str(a, "snapshot", row->snapshot);
    jx_set_str(a, "merged_commit", row->merged_commit);
    set_stored(a, "layers", row->layers);
    set_stored(a, "review", row->review);
    return true;
}

bool view_attempt(json_t **ret, struct server *s, const char *id, enum view_form form,
                  struct err *err)
{
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    AUTO_JSON json_t *a = json_object();
    int64_t pending;
    if (!attempt_row_get(&row, s->db, id, err) || !ledger_count_pending(&pending, s->db, id, err))
        return false;
    add_identity(a, &row, form);
    add_course(a, s, &row);
    jx_set_int(a, "pending", pending);
    if (form == VIEW_WHOLE && !add_details(a, s, &row, err))
        return false;
    *ret = steal_json(&a);
    return true;
}

bool view_attempts(json_t **ret, struct server *s, const struct strv *ids, enum view_form form,
                   struct err *err)
{
    AUTO_JSON json_t *array = json_array();
    for (size_t i = 0; i < ids->n; i++) {
        json_t *attempt;
        if (!view_attempt(&attempt, s, ids->v[i], form, err))
            return false;
        json_array_append_new(array, attempt);
    }
    *ret = steal_json(&array);
    return true;
}

json_t *view_layers(const struct layer_report *report)
{
    json_t *array = json_array();
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer_status *status = &report->layer[i];
        json_t *layer = json_object();
        jx_set_str(layer, "name", layer_name((enum layer_id)i));
        jx_set_str(layer, "state", layer_state_name(status->state));
        jx_set_str(layer, "mechanism", status->mechanism);
        jx_set_str(layer, "reason", status->reason);
        json_array_append_new(array, layer);
    }
    return array;
}

bool view_resolve(struct strv *ret, struct server *s, const json_t *request,
                  enum attempt_which which, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    AUTO_STRV struct strv found = STRV_INIT;
    jx_strv(&words, request, "ids");
    if (words.n == 0 && jx_bool(request, "all", false))
        return attempt_row_ids(ret, s->db, which, 0, INT64_MAX, err);
    if (words.n == 0)
        return err_set(err, ERR_USAGE,
                       "no attempt is named; give RUN.N, or RUN for all of its attempts");
    for (size_t i = 0; i < words.n; i++)
        if (!attempt_row_resolve(&found, s->db, words.v[i], err))
            return false;
    for (size_t i = 0; i < found.n; i++)
        if (words.n == 1 || !strv_has(ret, found.v[i]))
            strv_push(ret, found.v[i]);
    return true;
}
