#include "runner/cmd/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/clock.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "runner/cmd/print_attempts.h"
#include "runner/cmd/print_calls.h"

void watch_init(struct watch *w, const char *run)
{
    *w = (struct watch){.run = xstrdup(run), .attempts = json_object(), .calls = json_object()};
}

void watch_done(struct watch *w)
{
    free(w->run);
    json_decref(w->attempts);
    json_decref(w->calls);
    *w = (struct watch){0};
}

/* "3.2" belongs to run "3". */
static bool is_mine(const struct watch *w, const char *id)
{
    size_t len = strlen(w->run);
    return strncmp(id, w->run, len) == 0 && id[len] == '.';
}

static bool is_done(const json_t *attempt)
{
    return strcmp(jx_str(attempt, "state", ""), "done") == 0;
}

static void add_ended(struct buf *lines, const struct print *p, const json_t *attempt)
{
    enum print_style style;
    AUTO_BUF struct buf end = BUF_INIT;
    const char *error = jx_str(attempt, "error", "");
    (void)print_attempt_state(attempt, &style);
    print_attempt_end(&end, attempt);
    print_text(lines, p, style, end.ptr);
    buf_adds(lines, ", ");
    print_count(lines, jx_int(attempt, "commits", 0), "commit", "commits");
    buf_adds(lines, ", ");
    print_count(lines, jx_int(attempt, "files", 0), "file", "files");
    buf_adds(lines, *error ? ": " : "");
    print_text(lines, p, PRINT_PLAIN, error);
}

static void attempt_event(struct watch *w, const struct print *p, json_t *attempt,
                          struct buf *lines)
{
    const char *id = jx_str(attempt, "id", "");
    if (!is_mine(w, id))
        return;
    const char *before = jx_str(json_object_get(w->attempts, id), "state", "");
    const char *state = jx_str(attempt, "state", "?");
    if (strcmp(before, state) != 0) {
        print_text(lines, p, PRINT_BOLD, id);
        buf_addch(lines, ' ');
        if (is_done(attempt))
            add_ended(lines, p, attempt);
        else
            print_text(lines, p, PRINT_PLAIN, state);
        buf_addch(lines, '\n');
    }
    json_object_set(w->attempts, id, attempt);
}

static void add_asks(struct buf *lines, const struct print *p, const json_t *call)
{
    AUTO_BUF struct buf what = BUF_INIT;
    AUTO_FREE char *id = text_clean(jx_str(call, "id", "?"));
    print_call_line(&what, call);
    print_text(lines, p, PRINT_BOLD, jx_str(call, "attempt", "?"));
    buf_addch(lines, ' ');
    print_text(lines, p, PRINT_YELLOW, "asks");
    buf_addf(lines, " %s: %s\n", id, what.ptr);
    buf_addf(lines, "    headgate gate approve %s   or   headgate gate deny %s --reason TEXT\n", id,
             id);
}

static void add_decided(struct buf *lines, const struct print *p, const json_t *call)
{
    const char *by = jx_str(call, "decided_by", ""), *why = jx_str(call, "why", "");
    const char *reason = jx_str(call, "reason", "");
    AUTO_BUF struct buf line = BUF_INIT;
    print_call_decided(&line, p, call);
    buf_rtrim(&line);
    buf_adds(lines, line.ptr);
    if (*by) {
        buf_adds(lines, " (by ");
        print_who(lines, by);
        buf_addch(lines, ')');
    } else if (*why) {
        buf_adds(lines, " (");
        print_text(lines, p, PRINT_PLAIN, why);
        buf_addch(lines, ')');
    }
    buf_adds(lines, *reason ? ": " : "");
    print_text(lines, p, PRINT_PLAIN, reason);
    buf_addch(lines, '\n');
}

/* What passed by the ladder or a rule is not told: it would drown what matters. */
static void call_event(struct watch *w, const struct print *p, json_t *call, struct buf *lines)
{
    const char *id = jx_str(call, "id", ""), *state = jx_str(call, "state", "");
    if (!is_mine(w, jx_str(call, "attempt", "")))
        return;
    bool was_shown = json_object_get(w->calls, id) != NULL;
    if (strcmp(state, "pending") == 0) {
        if (!was_shown) {
            w->asked++;
            add_asks(lines, p, call);
        }
        json_object_set(w->calls, id, call);
        return;
    }
    json_object_del(w->calls, id);
    if (was_shown || strcmp(state, "denied") == 0)
        add_decided(lines, p, call);
}

static void output_event(struct watch *w, const struct print *p, const json_t *event,
                         struct buf *lines)
{
    const char *id = jx_str(event, "attempt", ""), *text = jx_str(event, "line", "");
    json_t *attempt = json_object_get(w->attempts, id);
    if (!attempt || !*text)
        return;
    jx_set_str(attempt, "last_line", text);
    print_text(lines, p, PRINT_DIM, id);
    print_text(lines, p, PRINT_DIM, " | ");
    print_text(lines, p, PRINT_PLAIN, text);
    buf_addch(lines, '\n');
}

void watch_event(struct watch *w, const struct print *p, const json_t *event, struct buf *lines)
{
    const char *kind = jx_str(event, "e", "");
    if (strcmp(kind, "attempt") == 0)
        attempt_event(w, p, json_object_get(event, "attempt"), lines);
    else if (strcmp(kind, "call") == 0)
        call_event(w, p, json_object_get(event, "call"), lines);
    else if (strcmp(kind, "output") == 0)
        output_event(w, p, event, lines);
    else if (strcmp(kind, "gone") == 0)
        json_object_del(w->attempts, jx_str(event, "attempt", ""));
}

void watch_snapshot(struct watch *w, const struct print *p, const json_t *snapshot,
                    struct buf *lines)
{
    size_t i;
    json_t *item;
    AUTO_JSON json_t *waiting = json_object();
    json_array_foreach(jx_arr(snapshot, "attempts"), i, item)
    {
        attempt_event(w, p, item, lines);
    }
    json_array_foreach(jx_arr(snapshot, "calls"), i, item)
    {
        call_event(w, p, item, lines);
        json_object_set(waiting, jx_str(item, "id", ""), item);
    }
    const char *id;
    void *next;
    json_object_foreach_safe(w->calls, next, id, item)
    {
        if (!json_object_get(waiting, id))
            json_object_del(w->calls, id); /* decided while we were away */
    }
}

bool watch_is_over(const struct watch *w)
{
    const char *id;
    json_t *attempt;
    json_object_foreach(w->attempts, id, attempt)
    {
        if (!is_done(attempt))
            return false;
    }
    return json_object_size(w->attempts) > 0;
}

const json_t *watch_attempt(const struct watch *w, const char *id)
{
    return json_object_get(w->attempts, id);
}

struct counts {
    size_t done, queued, active;
};

static struct counts count(const struct watch *w)
{
    struct counts n = {0, 0, 0};
    const char *id;
    json_t *attempt;
    json_object_foreach(w->attempts, id, attempt)
    {
        if (is_done(attempt))
            n.done++;
        else if (strcmp(jx_str(attempt, "state", ""), "queued") == 0)
            n.queued++;
        else
            n.active++;
    }
    return n;
}

/* One line, clipped; styles are put around whole lines only, so that clipping cannot cut one. */
static void region_line(struct buf *out, const struct print *p, enum print_style style,
                        const char *text)
{
    AUTO_BUF struct buf line = BUF_INIT;
    text_add_clipped(&line, text, p->columns > 1 ? p->columns - 1 : 1);
    print_text(out, p, style, line.ptr);
    buf_addch(out, '\n');
}

static int add_cards(struct buf *out, const struct watch *w, const struct print *p, int rows)
{
    enum { CARD_ROWS = 2 };
    int used = 0, shown = 0;
    const char *id;
    json_t *call;
    json_object_foreach(w->calls, id, call)
    {
        if (used + CARD_ROWS > rows)
            break;
        AUTO_BUF struct buf what = BUF_INIT;
        print_call_line(&what, call);
        AUTO_FREE char *card =
            xasprintf("%s asks %s: %s", jx_str(call, "attempt", "?"), id, what.ptr);
        AUTO_FREE char *how = xasprintf(
            "    headgate gate approve %s   or   headgate gate deny %s --reason TEXT", id, id);
        region_line(out, p, PRINT_YELLOW, card);
        region_line(out, p, PRINT_PLAIN, how);
        used += CARD_ROWS;
        shown++;
    }
    int hidden = (int)json_object_size(w->calls) - shown;
    if (hidden > 0 && used < rows) {
        AUTO_FREE char *more = xasprintf("%d more wait: headgate gate ls", hidden);
        region_line(out, p, PRINT_YELLOW, more);
        used++;
    }
    return used;
}

static void add_attempt(struct buf *out, const struct print *p, const json_t *attempt)
{
    enum { STATE_COLUMNS = 10, TIME_COLUMNS = 7 };
    enum print_style style;
    AUTO_BUF struct buf state = BUF_INIT;
    print_attempt_standing(&state, attempt, p->now_ms, &style);
    int64_t started_ms = jx_int(attempt, "started_ms", 0),
            ended_ms = jx_int(attempt, "ended_ms", 0);
    AUTO_BUF struct buf time = BUF_INIT;
    AUTO_FREE char *last = text_clean(jx_str(attempt, "last_line", ""));
    if (started_ms > 0)
        clock_add_duration(&time, (ended_ms > 0 ? ended_ms : p->now_ms) - started_ms);
    AUTO_FREE char *line = xasprintf("%-6s %-*s %-*s %s", jx_str(attempt, "id", "?"), STATE_COLUMNS,
                                     state.ptr, TIME_COLUMNS, time.ptr, last);
    region_line(out, p, style, line);
}

void watch_region(struct buf *out, const struct watch *w, const struct print *p, int rows)
{
    struct counts n = count(w);
    int left = rows - 1; /* the last line tells the sums */
    left -= add_cards(out, w, p, left / 2);
    const char *id;
    json_t *attempt;
    json_object_foreach(w->attempts, id, attempt)
    {
        bool is_queued = strcmp(jx_str(attempt, "state", ""), "queued") == 0;
        bool is_passed_over = is_queued || (is_done(attempt) && n.active + n.done > (size_t)left);
        if (is_passed_over || left <= 0)
            continue;
        add_attempt(out, p, attempt);
        left--;
    }
    AUTO_FREE char *sums =
        xasprintf("%zu running, %zu queued, %zu done; Ctrl-C detaches, headgate stop %s ends it",
                  n.active, n.queued, n.done, w->run);
    region_line(out, p, PRINT_DIM, sums);
}
