#include "ui/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clash_words.h"
#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "ui/fixed.h"

enum { CLASHES_MAX = 8 };

static char *text_of(const json_t *obj, const char *key)
{
    const char *text = jx_str(obj, key, "");
    return xstrndup(text, strnlen(text, MODEL_MAX_TEXT));
}

/* ---- runs ---- */

static void run_release(struct model_run *r)
{
    char *texts[] = {r->repo, r->base, r->base_ref, r->agent, r->ladder, r->layers};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
}

static struct model_run run_parse(const json_t *j)
{
    return (struct model_run){
        .id = jx_int(j, "id", 0),
        .jobs = jx_int(j, "jobs", 0),
        .n = jx_int(j, "n", 0),
        .open = jx_int(j, "open", 0),
        .created_ms = jx_int(j, "created_ms", 0),
        .repo = text_of(j, "repo"),
        .base = text_of(j, "base"),
        .base_ref = text_of(j, "base_ref"),
        .agent = text_of(j, "agent"),
        .ladder = text_of(j, "ladder"),
        .layers = xstrdup(""),
    };
}

/* The place of a run, or where it belongs. */
static size_t run_place(const struct model *m, int64_t id, bool *ret_found)
{
    size_t low = 0, high = m->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->runs[middle].id > id)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = low < m->n_runs && m->runs[low].id == id;
    return low;
}

static void run_put(struct model *m, const json_t *j)
{
    bool found;
    size_t at = run_place(m, jx_int(j, "id", 0), &found);
    if (!found && m->n_runs >= MODEL_MAX_RUNS)
        return;
    struct model_run run = run_parse(j);
    if (found) {
        free(run.layers);
        run.layers = steal_ptr(&m->runs[at].layers);
        run_release(&m->runs[at]);
    } else {
        m->runs = xreallocarray(m->runs, m->n_runs + 1, sizeof(*m->runs));
        memmove(m->runs + at + 1, m->runs + at, (m->n_runs - at) * sizeof(*m->runs));
        m->n_runs++;
    }
    m->runs[at] = run;
}

const struct model_run *model_run(const struct model *m, int64_t id)
{
    bool found;
    size_t at = run_place(m, id, &found);
    return found ? &m->runs[at] : NULL;
}

void model_set_layers(struct model *m, int64_t run, const char *summary)
{
    bool found;
    size_t at = run_place(m, run, &found);
    if (!found)
        return;
    free(m->runs[at].layers);
    m->runs[at].layers = xstrdup(summary);
    m->version++;
}

/* ---- attempts ---- */

static void attempt_release(struct model_attempt *a)
{
    char *texts[] = {a->id,     a->state,  a->outcome, a->agent,     a->task,
                     a->title,  a->branch, a->repo,    a->base,      a->base_ref,
                     a->tip,    a->engine, a->tree,    a->last_line, a->error,
                     a->socket, a->log,    a->ladder,  a->conflicts};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    json_decref(a->pulse);
}

static char *clashes_of(const json_t *attempt)
{
    AUTO_BUF struct buf out = BUF_INIT;
    clash_words(&out, jx_arr(attempt, "conflicts"), CLASHES_MAX, 1);
    buf_add(&out, "", 0);
    return xstrndup(out.len ? out.ptr : "", MODEL_MAX_TEXT);
}

static struct model_attempt attempt_parse(const json_t *j)
{
    return (struct model_attempt){
        .run = jx_int(j, "run", 0),
        .n = jx_int(j, "n", 0),
        .created_ms = jx_int(j, "created_ms", 0),
        .started_ms = jx_int(j, "started_ms", 0),
        .ended_ms = jx_int(j, "ended_ms", 0),
        .exit_status = jx_int(j, "exit_status", -1),
        .pending = jx_int(j, "pending", 0),
        .commits = jx_int(j, "commits", 0),
        .files = jx_int(j, "files", 0),
        .dirty = jx_bool(j, "dirty", false),
        .interactive = jx_bool(j, "interactive", false),
        .id = text_of(j, "id"),
        .state = text_of(j, "state"),
        .outcome = text_of(j, "outcome"),
        .agent = text_of(j, "agent"),
        .task = text_of(j, "task"),
        .title = text_of(j, "title"),
        .branch = text_of(j, "branch"),
        .repo = text_of(j, "repo"),
        .base = text_of(j, "base"),
        .base_ref = text_of(j, "base_ref"),
        .tip = text_of(j, "tip"),
        .engine = text_of(j, "engine"),
        .tree = text_of(j, "tree"),
        .last_line = text_of(j, "last_line"),
        .error = text_of(j, "error"),
        .socket = text_of(j, "socket"),
        .log = text_of(j, "log"),
        .ladder = text_of(j, "ladder"),
        .conflicts = clashes_of(j),
        .pulse = json_incref(jx_obj(j, "pulse")),
    };
}

static bool parse_attempt_id(const char *id, int64_t *ret_run, int64_t *ret_n)
{
    int end = -1;
    return sscanf(id, "%9" SCNd64 ".%9" SCNd64 "%n", ret_run, ret_n, &end) == 2 && end >= 0 &&
           id[end] == '\0';
}

static size_t attempt_place(const struct model *m, int64_t run, int64_t n, bool *ret_found)
{
    size_t low = 0, high = m->n_attempts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct model_attempt *a = &m->attempts[middle];
        if (a->run > run || (a->run == run && a->n < n))
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = low < m->n_attempts && m->attempts[low].run == run && m->attempts[low].n == n;
    return low;
}

static void attempt_put(struct model *m, const json_t *j)
{
    int64_t run, n;
    if (!parse_attempt_id(jx_str(j, "id", ""), &run, &n))
        return;
    bool found;
    size_t at = attempt_place(m, run, n, &found);
    if (!found && m->n_attempts >= MODEL_MAX_ATTEMPTS) {
        m->left_out++;
        return;
    }
    if (found) {
        attempt_release(&m->attempts[at]);
    } else {
        m->attempts = xreallocarray(m->attempts, m->n_attempts + 1, sizeof(*m->attempts));
        memmove(m->attempts + at + 1, m->attempts + at,
                (m->n_attempts - at) * sizeof(*m->attempts));
        m->n_attempts++;
    }
    m->attempts[at] = attempt_parse(j);
    m->attempts[at].run = run;
    m->attempts[at].n = n;
}

static struct model_attempt *attempt_find(const struct model *m, const char *id)
{
    int64_t run, n;
    bool found = false;
    size_t at = parse_attempt_id(id, &run, &n) ? attempt_place(m, run, n, &found) : 0;
    return found ? &m->attempts[at] : NULL;
}

const struct model_attempt *model_attempt(const struct model *m, const char *id)
{
    return attempt_find(m, id);
}

bool model_attempt_is_open(const struct model_attempt *a)
{
    return strcmp(a->state, "done") != 0;
}

/* ---- calls ---- */

void model_call_release(struct model_call *c)
{
    char *texts[] = {c->id,     c->attempt,    c->state,  c->source,   c->agent,
                     c->tool,   c->cwd,        c->action, c->digest,   c->why,
                     c->reason, c->decided_by, c->sub_id, c->sub_type, c->worktree};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
    json_decref(c->args);
    *c = (struct model_call){.id = NULL};
}

/* About what a value takes in memory; bounded in depth by the parser. */
static size_t json_weight(const json_t *j)
{
    size_t sum = sizeof(void *) * 8, i;
    const char *key;
    json_t *value;
    if (json_is_string(j))
        return sum + json_string_length(j);
    json_object_foreach((json_t *)j, key, value) sum += strlen(key) + json_weight(value);
    json_array_foreach(j, i, value) sum += json_weight(value);
    return sum;
}

void model_call_parse(struct model_call *ret, const json_t *j)
{
    const json_t *sub = jx_obj(j, "subagent");
    json_t *args = json_object_get(j, "args");
    *ret = (struct model_call){
        .id = text_of(j, "id"),
        .attempt = text_of(j, "attempt"),
        .state = text_of(j, "state"),
        .source = text_of(j, "source"),
        .agent = text_of(j, "agent"),
        .tool = text_of(j, "tool"),
        .cwd = xstrdup(jx_str(j, "cwd", "")),
        .worktree = xstrdup(jx_str(j, "worktree", "")),
        .action = text_of(j, "action"),
        .digest = text_of(j, "digest"),
        .why = text_of(j, "why"),
        .reason = text_of(j, "reason"),
        .decided_by = text_of(j, "decided_by"),
        .sub_id = text_of(sub, "id"),
        .sub_type = text_of(sub, "type"),
        .sub_depth = jx_int(sub, "depth", 0),
        .asked_ms = jx_int(j, "asked_ms", 0),
        .deadline_ms = jx_int(j, "deadline_ms", 0),
        .args = json_incref(args),
        .args_bytes = args ? json_weight(args) : 0,
    };
}

static size_t call_index(const struct model *m, const char *id)
{
    for (size_t i = 0; i < m->n_calls; i++)
        if (strcmp(m->calls[i].id, id) == 0)
            return i;
    return SIZE_MAX;
}

static void call_remove(struct model *m, size_t at)
{
    m->args_bytes -= m->calls[at].args ? m->calls[at].args_bytes : 0;
    model_call_release(&m->calls[at]);
    memmove(m->calls + at, m->calls + at + 1, (m->n_calls - at - 1) * sizeof(*m->calls));
    m->n_calls--;
}

static void call_insert(struct model *m, const json_t *j)
{
    if (m->n_calls >= MODEL_MAX_CALLS) {
        m->left_out++;
        return;
    }
    struct model_call call;
    model_call_parse(&call, j);
    if (m->args_bytes + call.args_bytes > MODEL_MAX_ARGS_BYTES) {
        json_decref(call.args);
        call.args = NULL;
    } else {
        m->args_bytes += call.args ? call.args_bytes : 0;
    }
    size_t at = m->n_calls;
    while (at > 0 && m->calls[at - 1].asked_ms > call.asked_ms)
        at--;
    m->calls = xreallocarray(m->calls, m->n_calls + 1, sizeof(*m->calls));
    memmove(m->calls + at + 1, m->calls + at, (m->n_calls - at) * sizeof(*m->calls));
    m->calls[at] = call;
    m->n_calls++;
}

static void settle(struct model *m, const json_t *j)
{
    struct model_settled *s = &m->settled[m->n_settled++ % MODEL_SETTLED];
    fixed_set(s->id, sizeof(s->id), jx_str(j, "id", ""));
    fixed_set(s->state, sizeof(s->state), jx_str(j, "state", ""));
    fixed_set(s->decided_by, sizeof(s->decided_by), jx_str(j, "decided_by", ""));
    fixed_set(s->why, sizeof(s->why), jx_str(j, "why", ""));
}

static unsigned call_put(struct model *m, const json_t *j)
{
    size_t at = call_index(m, jx_str(j, "id", ""));
    if (strcmp(jx_str(j, "state", ""), "pending") == 0) {
        if (at != SIZE_MAX)
            call_remove(m, at);
        call_insert(m, j);
        return at == SIZE_MAX ? MODEL_CHANGED | MODEL_NEW_CALL : MODEL_CHANGED;
    }
    settle(m, j);
    if (at != SIZE_MAX)
        call_remove(m, at);
    return MODEL_CHANGED;
}

const struct model_call *model_call(const struct model *m, const char *id)
{
    size_t at = call_index(m, id);
    return at != SIZE_MAX ? &m->calls[at] : NULL;
}

const struct model_settled *model_settled(const struct model *m, const char *id)
{
    size_t kept = m->n_settled < MODEL_SETTLED ? m->n_settled : MODEL_SETTLED;
    for (size_t i = 1; i <= kept; i++) {
        const struct model_settled *s = &m->settled[(m->n_settled - i) % MODEL_SETTLED];
        if (strcmp(s->id, id) == 0)
            return s;
    }
    return NULL;
}

const struct model_call *model_first_call(const struct model *m, const char *attempt)
{
    for (size_t i = 0; i < m->n_calls; i++)
        if (strcmp(m->calls[i].attempt, attempt) == 0)
            return &m->calls[i];
    return NULL;
}

/* ---- the whole ---- */

static void clear_lists(struct model *m)
{
    for (size_t i = 0; i < m->n_runs; i++)
        run_release(&m->runs[i]);
    for (size_t i = 0; i < m->n_attempts; i++)
        attempt_release(&m->attempts[i]);
    for (size_t i = 0; i < m->n_calls; i++)
        model_call_release(&m->calls[i]);
    free(m->runs);
    free(m->attempts);
    free(m->calls);
    m->runs = NULL;
    m->attempts = NULL;
    m->calls = NULL;
    m->n_runs = m->n_attempts = m->n_calls = m->left_out = m->args_bytes = 0;
}

void model_release(struct model *m)
{
    clear_lists(m);
    *m = (struct model)MODEL_INIT;
}

unsigned model_load(struct model *m, const json_t *snapshot)
{
    struct model before = *m;
    m->runs = NULL;
    m->attempts = NULL;
    m->calls = NULL;
    m->n_runs = m->n_attempts = m->n_calls = m->left_out = m->args_bytes = 0;

    unsigned change = MODEL_CHANGED;
    size_t i;
    json_t *item;
    json_array_foreach(jx_arr(snapshot, "runs"), i, item) run_put(m, item);
    json_array_foreach(jx_arr(snapshot, "attempts"), i, item) attempt_put(m, item);
    json_array_foreach(jx_arr(snapshot, "calls"), i, item)
    {
        if (strcmp(jx_str(item, "state", "pending"), "pending") != 0)
            continue;
        call_insert(m, item);
        if (call_index(&before, jx_str(item, "id", "")) == SIZE_MAX)
            change |= MODEL_NEW_CALL;
    }
    for (i = 0; i < before.n_runs; i++)
        model_set_layers(m, before.runs[i].id, before.runs[i].layers);
    clear_lists(&before);
    m->version++;
    return change;
}

static void take_output(struct model *m, const json_t *event)
{
    struct model_attempt *a = attempt_find(m, jx_str(event, "attempt", ""));
    if (a) {
        free(a->last_line);
        a->last_line = text_of(event, "line");
    }
}

static void drop_attempt(struct model *m, const char *id)
{
    struct model_attempt *a = attempt_find(m, id);
    if (!a)
        return;
    for (size_t i = m->n_calls; i-- > 0;)
        if (strcmp(m->calls[i].attempt, id) == 0)
            call_remove(m, i);
    size_t at = (size_t)(a - m->attempts);
    attempt_release(a);
    memmove(m->attempts + at, m->attempts + at + 1,
            (m->n_attempts - at - 1) * sizeof(*m->attempts));
    m->n_attempts--;
}

unsigned model_apply(struct model *m, const json_t *event)
{
    const char *kind = jx_str(event, "e", "");
    unsigned change = MODEL_CHANGED;
    if (strcmp(kind, "attempt") == 0)
        attempt_put(m, jx_obj(event, "attempt"));
    else if (strcmp(kind, "call") == 0)
        change = call_put(m, jx_obj(event, "call"));
    else if (strcmp(kind, "output") == 0)
        take_output(m, event);
    else if (strcmp(kind, "run") == 0)
        run_put(m, jx_obj(event, "run"));
    else if (strcmp(kind, "gone") == 0)
        drop_attempt(m, jx_str(event, "attempt", ""));
    else
        change = MODEL_SAME;
    if (change != MODEL_SAME)
        m->version++;
    return change;
}
