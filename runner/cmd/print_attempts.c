#include "runner/cmd/print_attempts.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "runner/agents/pulse_words.h"
#include "runner/base/clash_words.h"
#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum { OID_SHORT = 10, CLASHES_IN_ROW = 3 };

static void add_elapsed(struct buf *out, const struct print *p, const json_t *attempt)
{
    int64_t started_ms = jx_int(attempt, "started_ms", 0),
            ended_ms = jx_int(attempt, "ended_ms", 0);
    if (started_ms > 0)
        clock_add_duration(out, (ended_ms > 0 ? ended_ms : p->now_ms) - started_ms);
}

static void add_short_oid(struct buf *out, const char *oid)
{
    AUTO_FREE char *clean = text_clean(oid);
    buf_addf(out, "%.*s", OID_SHORT, clean);
}

static void state_cell(struct print_table *t, const struct print *p, const json_t *attempt)
{
    enum print_style style;
    AUTO_BUF struct buf state = BUF_INIT;
    print_attempt_standing(&state, attempt, p->now_ms, &style);
    print_table_cell(t, style, state.ptr);
}

static void elapsed_cell(struct print_table *t, const struct print *p, const json_t *attempt)
{
    AUTO_BUF struct buf text = BUF_INIT;
    add_elapsed(&text, p, attempt);
    print_table_cell(t, PRINT_PLAIN, text.ptr);
}

/* Changed files, with a star when there is work that no commit holds. */
static void files_cell(struct print_table *t, const json_t *attempt)
{
    int64_t files = jx_int(attempt, "files", 0);
    const char *star = jx_bool(attempt, "dirty", false) ? "*" : "";
    AUTO_FREE char *text = files || *star ? xasprintf("%" PRId64 "%s", files, star) : xstrdup("");
    print_table_cell(t, PRINT_PLAIN, text);
}

static bool any_clash(const json_t *attempts)
{
    size_t i;
    const json_t *a;
    json_array_foreach(attempts, i, a)
    {
        if (json_array_size(jx_arr(a, "conflicts")) > 0)
            return true;
    }
    return false;
}

static const char *title_of(const json_t *attempt)
{
    const char *title = jx_str(attempt, "title", "");
    return *title ? title : jx_str(attempt, "task", "");
}

void print_attempts(struct buf *out, const struct print *p, const json_t *attempts)
{
    static const char *const with_clashes[] = {"ID",      "STATE", "AGENT", "RUNG",      "TIME",
                                               "COMMITS", "FILES", "ASKS",  "CONFLICTS", "TASK"};
    static const char *const headers[] = {"ID",      "STATE", "AGENT", "RUNG", "TIME",
                                          "COMMITS", "FILES", "ASKS",  "TASK"};
    bool has_clashes = any_clash(attempts);
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    const json_t *a;
    if (json_array_size(attempts) == 0) {
        buf_adds(out, "no attempts yet; start some: headgate run -n 4 'PROMPT'\n");
        return;
    }
    print_table_init(&t, has_clashes ? with_clashes : headers,
                     ARRAY_LEN(headers) + (has_clashes ? 1 : 0));
    json_array_foreach(attempts, i, a)
    {
        AUTO_BUF struct buf clashes = BUF_INIT;
        clash_words(&clashes, jx_arr(a, "conflicts"), CLASHES_IN_ROW, 1);
        print_table_cell(&t, PRINT_BOLD, jx_str(a, "id", "?"));
        state_cell(&t, p, a);
        print_table_cell(&t, PRINT_PLAIN, jx_str(a, "agent", ""));
        print_table_cell(&t, PRINT_PLAIN, jx_str(a, "ladder", ""));
        elapsed_cell(&t, p, a);
        print_table_int(&t, jx_int(a, "commits", 0));
        files_cell(&t, a);
        print_table_int(&t, jx_int(a, "pending", 0));
        if (has_clashes)
            print_table_cell(&t, PRINT_RED, clashes.ptr);
        print_table_cell(&t, PRINT_PLAIN, title_of(a));
    }
    print_table_add(out, p, &t);
}

void print_attempt_end(struct buf *out, const json_t *attempt)
{
    enum print_style style;
    int64_t status = jx_int(attempt, "exit_status", 0);
    const char *state = print_attempt_state(attempt, &style);
    buf_adds(out, state);
    if (strcmp(state, "failed") == 0 && status > 0)
        buf_addf(out, " with exit code %" PRId64, status);
}

static const char *layer_state(const json_t *layer)
{
    return jx_str(layer, "state", "?");
}

static bool is_active(const json_t *layer)
{
    return strcmp(layer_state(layer), "active") == 0;
}

void print_layers_line(struct buf *out, const json_t *layers)
{
    size_t i, active = 0, n = json_array_size(layers);
    const json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        active += is_active(layer);
    }
    if (n && active == n) {
        buf_addf(out, "all %zu active", n);
        return;
    }
    buf_addf(out, "%zu active", active);
    json_array_foreach(layers, i, layer)
    {
        if (is_active(layer))
            continue;
        AUTO_FREE char *name = text_clean(jx_str(layer, "name", "?"));
        AUTO_FREE char *state = text_clean(layer_state(layer));
        buf_addf(out, ", %s %s", name, state);
    }
}

/* A line below a layer: what doctor tried and what came of it; what the layer does not cover. */
static void print_remark(struct buf *out, const struct print *p, const char *remark)
{
    if (!*remark)
        return;
    buf_adds(out, "            ");
    print_text(out, p, PRINT_DIM, remark);
    buf_addch(out, '\n');
}

void print_layers(struct buf *out, const struct print *p, const json_t *layers, bool all)
{
    enum { NAME_COLUMNS = 9, STATE_COLUMNS = 11 };
    size_t i;
    const json_t *layer;
    json_array_foreach(layers, i, layer)
    {
        bool active = is_active(layer);
        if (active && !all)
            continue;
        const char *reason = jx_str(layer, "reason", ""), *how = jx_str(layer, "mechanism", "");
        enum print_style style = active ? PRINT_GREEN : PRINT_YELLOW;
        AUTO_FREE char *name = xasprintf("%-*s", NAME_COLUMNS, jx_str(layer, "name", "?"));
        AUTO_FREE char *state = xasprintf("%-*s", STATE_COLUMNS, layer_state(layer));
        buf_adds(out, "  ");
        print_text(out, p, PRINT_BOLD, name);
        buf_addch(out, ' ');
        print_text(out, p, style, state);
        buf_adds(out, "  ");
        print_text(out, p, PRINT_PLAIN, how);
        buf_adds(out, *how && *reason ? "; " : "");
        print_text(out, p, PRINT_PLAIN, reason);
        buf_rtrim(out);
        buf_addch(out, '\n');
        print_remark(out, p, jx_str(layer, "proof", ""));
        print_remark(out, p, jx_str(layer, "limits", ""));
    }
}

void print_run_header(struct buf *out, const struct print *p, const json_t *created)
{
    const json_t *base = jx_obj(created, "base"), *layers = jx_arr(created, "layers");
    const json_t *run = json_object_get(created, "run");
    const char *why = jx_str(created, "rung_why", ""), *ref = jx_str(base, "ref", "");
    size_t i;
    const json_t *note;
    AUTO_BUF struct buf number = BUF_INIT;
    if (json_is_string(run))
        buf_adds(&number, json_string_value(run));
    else
        buf_addf(&number, "%" PRId64, (int64_t)json_integer_value(run));
    buf_adds(out, "run ");
    print_text(out, p, PRINT_BOLD, number.ptr);
    buf_adds(out, ": ladder ");
    print_text(out, p, PRINT_BOLD, jx_str(created, "rung", "?"));
    buf_adds(out, *why ? " (" : "");
    print_text(out, p, PRINT_PLAIN, why);
    buf_adds(out, *why ? "); base " : "; base ");
    print_text(out, p, PRINT_PLAIN, ref);
    buf_adds(out, *ref ? " " : "");
    add_short_oid(out, jx_str(base, "oid", "?"));
    buf_adds(out, "; network ");
    print_text(out, p, PRINT_PLAIN, jx_str(created, "network", "?"));
    if (jx_str(created, "exec", NULL)) {
        buf_adds(out, "; execs ");
        print_text(out, p, PRINT_PLAIN, jx_str(created, "exec", ""));
    }
    if (jx_str(created, "asks", NULL)) {
        buf_adds(out, "; calls wait ");
        print_text(out, p, PRINT_PLAIN, jx_str(created, "asks", ""));
    }
    buf_adds(out, "; layers: ");
    print_layers_line(out, layers);
    buf_addch(out, '\n');
    print_layers(out, p, layers, false);
    json_array_foreach(jx_arr(created, "notes"), i, note)
    {
        buf_adds(out, "note: ");
        print_text(out, p, PRINT_PLAIN, json_string_value(note));
        buf_addch(out, '\n');
    }
    print_count(out, jx_int(created, "n", 0), "attempt", "attempts");
    buf_addf(out, ", at most %" PRId64 " at once\n", jx_int(created, "jobs", 1));
}

static void review_parts(const json_t *note, const char **ret_path, char **ret_why)
{
    if (json_is_string(note)) {
        const char *text = json_string_value(note), *tab = strchr(text, '\t');
        *ret_path = tab ? tab + 1 : text;
        *ret_why = tab ? xstrndup(text, (size_t)(tab - text)) : xstrdup("");
        return;
    }
    *ret_path = jx_str(note, "path", "?");
    *ret_why = xstrdup(jx_str(note, "why", ""));
}

void print_review(struct buf *out, const struct print *p, const json_t *attempt)
{
    static const char *const headers[] = {"WHY", "PATH"};
    const json_t *review = jx_arr(attempt, "review"), *note;
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i, n = json_array_size(review);
    print_text(out, p, PRINT_BOLD, jx_str(attempt, "id", "?"));
    if (n == 0) {
        buf_adds(out, ": nothing that would run on this host by itself was changed\n");
        return;
    }
    buf_adds(out, ": ");
    print_count(out, (int64_t)n, "change", "changes");
    buf_adds(out, " that could run on this host next\n");
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(review, i, note)
    {
        const char *path;
        AUTO_FREE char *why = NULL;
        review_parts(note, &path, &why);
        print_table_cell(&t, PRINT_YELLOW, why);
        print_table_cell(&t, PRINT_PLAIN, path);
    }
    print_table_add(out, p, &t);
}

/* What the agent told of itself: how it stands, what it used, what went wrong. */
static void print_pulse(struct buf *out, const struct print *p, const json_t *a)
{
    const json_t *pulse = jx_obj(a, "pulse");
    AUTO_BUF struct buf words = BUF_INIT, use = BUF_INIT, troubles = BUF_INIT;
    bool is_limit = strcmp(jx_str(pulse, "state", ""), "limited") == 0;
    if (pulse_words(&words, pulse, p->now_ms) &&
        (is_limit || strcmp(jx_str(a, "state", ""), "running") == 0)) {
        buf_addf(&words, "%s%s%s", jx_str(pulse, "why", NULL) ? " (" : "", jx_str(pulse, "why", ""),
                 jx_str(pulse, "why", NULL) ? ")" : "");
        print_field(out, p, "agent is", words.ptr);
    }
    if (pulse_add_use(&use, pulse))
        print_field(out, p, "tokens", use.ptr);
    if (pulse_add_troubles(&troubles, pulse))
        print_field(out, p, "troubles", troubles.ptr);
}

static void add_work(struct buf *out, const json_t *a)
{
    print_count(out, jx_int(a, "commits", 0), "commit", "commits");
    buf_adds(out, ", ");
    print_count(out, jx_int(a, "files", 0), "file", "files");
    buf_adds(out, jx_bool(a, "dirty", false) ? ", uncommitted work" : "");
}

static void add_base(struct buf *out, const json_t *a)
{
    add_short_oid(out, jx_str(a, "base", ""));
    if (*jx_str(a, "base_ref", ""))
        buf_addf(out, " (%s)", jx_str(a, "base_ref", ""));
}

static void add_pending(struct buf *out, const struct print *p, const json_t *attempt)
{
    int64_t n = jx_int(attempt, "pending", 0);
    AUTO_BUF struct buf text = BUF_INIT;
    if (n <= 0)
        return;
    print_count(&text, n, "call waits: headgate gate ls", "calls wait: headgate gate ls");
    print_field(out, p, "gate", text.ptr);
}

/* "registry.example.org:443  2 connections, 1.2 KiB up, 30.0 KiB down" */
static void print_hosts(struct buf *out, const struct print *p, const json_t *hosts)
{
    size_t i;
    const json_t *h;
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    static const char *const headers[] = {"  HOST", "PORT",   "CONNECTIONS", "UP",
                                          "DOWN",   "DENIED", "REFUSED"};
    if (json_array_size(hosts) == 0)
        return;
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(hosts, i, h)
    {
        AUTO_BUF struct buf up = BUF_INIT, down = BUF_INIT, refused = BUF_INIT;
        AUTO_FREE char *host = xasprintf("  %s", jx_str(h, "host", "?"));
        int64_t n = jx_int(h, "refused", 0);
        text_add_size(&up, jx_int(h, "up", 0));
        text_add_size(&down, jx_int(h, "down", 0));
        if (n)
            buf_addf(&refused, "%" PRId64 ": %s", n, jx_str(h, "refused_why", ""));
        print_table_cell(&t, PRINT_PLAIN, host);
        print_table_int(&t, jx_int(h, "port", 0));
        print_table_int(&t, jx_int(h, "connections", 0));
        print_table_cell(&t, PRINT_PLAIN, up.ptr);
        print_table_cell(&t, PRINT_PLAIN, down.ptr);
        print_table_int(&t, jx_int(h, "denied", 0));
        print_table_cell(&t, n ? PRINT_RED : PRINT_PLAIN, refused.ptr);
    }
    buf_adds(out, "hosts:\n");
    print_table_add(out, p, &t);
}

/* With the reason for it, which is also why not those before it. */
static void add_engine(struct buf *out, const json_t *a)
{
    const char *why = jx_str(a, "engine_why", "");
    buf_adds(out, jx_str(a, "engine", ""));
    if (out->len > 0 && *why)
        buf_addf(out, " (%s)", why);
}

void print_attempt(struct buf *out, const struct print *p, const json_t *a)
{
    enum print_style style;
    AUTO_BUF struct buf end = BUF_INIT, time = BUF_INIT, work = BUF_INIT, base = BUF_INIT;
    AUTO_BUF struct buf clashes = BUF_INIT, engine = BUF_INIT;
    (void)print_attempt_state(a, &style);
    print_attempt_end(&end, a);
    add_elapsed(&time, p, a);
    add_work(&work, a);
    add_base(&base, a);
    print_text(out, p, PRINT_BOLD, jx_str(a, "id", "?"));
    buf_addch(out, ' ');
    print_text(out, p, style, end.ptr);
    buf_addch(out, '\n');
    print_field(out, p, "error", jx_str(a, "error", NULL));
    print_field(out, p, "agent", jx_str(a, "agent", NULL));
    print_field(out, p, "ladder", jx_str(a, "ladder", NULL));
    print_field(out, p, "time", time.ptr);
    add_pending(out, p, a);
    print_pulse(out, p, a);
    print_field(out, p, "branch", jx_str(a, "branch", NULL));
    print_field(out, p, "base", base.ptr);
    print_field(out, p, "target", jx_str(a, "into", NULL));
    print_field(out, p, "work", work.ptr);
    print_field(out, p, "note", jx_str(a, "note", NULL));
    clash_words(&clashes, jx_arr(a, "conflicts"), SIZE_MAX, SIZE_MAX);
    print_field(out, p, "conflicts", clashes.len ? clashes.ptr : NULL);
    print_field(out, p, "repository", jx_str(a, "repo", NULL));
    print_field(out, p, "worktree", jx_str(a, "tree", NULL));
    add_engine(&engine, a);
    print_field(out, p, "engine", engine.len ? engine.ptr : NULL);
    print_field(out, p, "log", jx_str(a, "log", NULL));
    print_field(out, p, "last line", jx_str(a, "last_line", NULL));
    if (*jx_str(a, "task", "")) {
        buf_adds(out, "  task:\n");
        print_block(out, jx_str(a, "task", ""), 4);
    }
    print_hosts(out, p, jx_arr(a, "hosts"));
    if (json_array_size(jx_arr(a, "layers"))) {
        buf_adds(out, "layers of its box:\n");
        print_layers(out, p, jx_arr(a, "layers"), true);
    }
    if (json_array_size(jx_arr(a, "review")))
        print_review(out, p, a);
}

static void add_next(struct buf *out, const json_t *attempts)
{
    size_t i;
    const json_t *a;
    json_array_foreach(attempts, i, a)
    {
        if (jx_int(a, "files", 0) == 0 && jx_int(a, "commits", 0) == 0)
            continue;
        const char *id = jx_str(a, "id", "?");
        const char *first = json_array_size(jx_arr(a, "review")) ? "review" : "diff";
        buf_addf(out, "next: headgate %s %s, then headgate merge %s or headgate discard %s\n",
                 first, id, id, id);
        return;
    }
}

void print_run_summary(struct buf *out, const struct print *p, const json_t *attempts)
{
    static const char *const headers[] = {"ID",    "RESULT", "TIME",  "COMMITS",
                                          "FILES", "REVIEW", "BRANCH"};
    AUTO_PRINT_TABLE struct print_table t = PRINT_TABLE_INIT;
    size_t i;
    const json_t *a;
    print_table_init(&t, headers, ARRAY_LEN(headers));
    json_array_foreach(attempts, i, a)
    {
        print_table_cell(&t, PRINT_BOLD, jx_str(a, "id", "?"));
        state_cell(&t, p, a);
        elapsed_cell(&t, p, a);
        print_table_int(&t, jx_int(a, "commits", 0));
        files_cell(&t, a);
        print_table_int(&t, (int64_t)json_array_size(jx_arr(a, "review")));
        print_table_cell(&t, PRINT_PLAIN, jx_str(a, "branch", ""));
    }
    print_table_add(out, p, &t);
    json_array_foreach(attempts, i, a)
    {
        AUTO_BUF struct buf end = BUF_INIT;
        if (strcmp(jx_str(a, "outcome", ""), "ok") == 0)
            continue;
        const char *error = jx_str(a, "error", "");
        print_attempt_end(&end, a);
        AUTO_FREE char *line = xasprintf("%s: %s%s%s (headgate logs %s)", jx_str(a, "id", "?"),
                                         end.ptr, *error ? ": " : "", error, jx_str(a, "id", "?"));
        print_text(out, p, PRINT_PLAIN, line);
        buf_addch(out, '\n');
    }
    add_next(out, attempts);
}
