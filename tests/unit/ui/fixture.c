#include "tests/unit/ui/fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/digest.h"
#include "runner/base/mem.h"
#include "ui/screens.h"

/* ---- the host ---- */

static void on_request(void *arg, enum desk_ask ask, const char *subject, const char *op,
                       json_t *request)
{
    struct fixture *f = arg;
    AUTO_JSON json_t *owned = request;
    (void)ask;
    (void)subject;
    buf_addf(&f->asked, "%s ", op);
    jx_canonical(&f->asked, owned);
    buf_addch(&f->asked, '\n');
}

static void on_diff(void *arg, const char *attempt, const char *repo, const char *from,
                    const char *to)
{
    struct fixture *f = arg;
    buf_addf(&f->asked, "diff %s %s %.4s %.4s\n", attempt, repo, from, to);
}

static void on_tail(void *arg, const char *log)
{
    struct fixture *f = arg;
    buf_addf(&f->asked, "tail %s\n", log ? log : "-");
}

static void on_live_open(void *arg, const char *keeper_socket, int rows, int cols)
{
    struct fixture *f = arg;
    buf_addf(&f->asked, "live %s %dx%d\n", keeper_socket, cols, rows);
}

static void on_live_send(void *arg, const void *bytes, size_t len)
{
    struct fixture *f = arg;
    buf_adds(&f->asked, "send ");
    buf_add(&f->asked, bytes, len);
    buf_addch(&f->asked, '\n');
}

static void on_live_resize(void *arg, int rows, int cols)
{
    struct fixture *f = arg;
    buf_addf(&f->asked, "resize %dx%d\n", cols, rows);
}

static void on_live_close(void *arg)
{
    struct fixture *f = arg;
    buf_adds(&f->asked, "live close\n");
}

static void on_bell(void *arg)
{
    struct fixture *f = arg;
    buf_adds(&f->asked, "bell\n");
}

static void on_alert(void *arg, size_t n)
{
    struct fixture *f = arg;
    buf_addf(&f->asked, "alert %zu\n", n);
}

static void on_quit(void *arg)
{
    struct fixture *f = arg;
    buf_adds(&f->asked, "quit\n");
}

static const struct desk_host host = {
    .request = on_request,
    .diff = on_diff,
    .tail = on_tail,
    .live_open = on_live_open,
    .live_send = on_live_send,
    .live_resize = on_live_resize,
    .live_close = on_live_close,
    .bell = on_bell,
    .alert = on_alert,
    .quit = on_quit,
};

void fixture_init(struct fixture *f, int rows, int cols)
{
    *f = (struct fixture){.asked = BUF_INIT, .canvas = CANVAS_INIT};
    desk_init(&f->desk, &host, f);
    f->desk.now_ms = FIXTURE_NOW_MS;
    desk_on_link(&f->desk, LINK_UP);
    scr_attempts_open(&f->desk);
    fixture_draw(f, rows, cols);
}

void fixture_release(struct fixture *f)
{
    desk_release(&f->desk);
    buf_release(&f->asked);
    canvas_release(&f->canvas);
}

void fixture_type(struct fixture *f, const char *keys)
{
    struct key_reader reader = {.n = 0};
    size_t len = strlen(keys);
    for (size_t at = 0; at < len && f->desk.top;) {
        size_t used = desk_on_bytes(&f->desk, (const unsigned char *)keys + at, len - at);
        struct key key;
        if (used == 0 && key_next(&key, &reader, (const unsigned char *)keys + at, len - at, &used))
            desk_on_key(&f->desk, &key);
        at += used;
    }
    struct key key;
    if (key_is_waiting(&reader) && key_flush(&key, &reader))
        desk_on_key(&f->desk, &key);
}

void fixture_draw(struct fixture *f, int rows, int cols)
{
    desk_draw(&f->desk, &f->canvas, rows, cols);
}

const char *fixture_asked(struct fixture *f)
{
    static char shown[64 * 1024];
    snprintf(shown, sizeof(shown), "%s", f->asked.ptr);
    buf_clear(&f->asked);
    return shown;
}

/* ---- JSON ---- */

json_t *fixture_run(int64_t id)
{
    json_t *run = json_object();
    jx_set_int(run, "id", id);
    jx_set_str(run, "repo", "/home/ana/src/parser");
    jx_set_str(run, "base", "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d");
    jx_set_str(run, "base_ref", "main");
    jx_set_str(run, "agent", "claude");
    jx_set_str(run, "ladder", "confirm");
    jx_set_int(run, "jobs", 4);
    jx_set_int(run, "n", 64);
    return run;
}

static void set_id(json_t *attempt, const char *key, const char *before, int64_t run, int64_t n,
                   const char *between)
{
    AUTO_FREE char *text = xasprintf("%s%" PRId64 "%s%" PRId64, before, run, between, n);
    jx_set_str(attempt, key, text);
}

json_t *fixture_attempt(int64_t run, int64_t n, const char *state)
{
    json_t *a = json_object();
    bool is_done = strcmp(state, "done") == 0, is_queued = strcmp(state, "queued") == 0;
    jx_set_int(a, "run", run);
    jx_set_int(a, "n", n);
    set_id(a, "id", "", run, n, ".");
    set_id(a, "branch", "headgate/", run, n, "/");
    set_id(a, "socket", "/run/k", run, n, ".");
    set_id(a, "log", "/state/attempts/", run, n, ".");
    jx_set_str(a, "state", state);
    jx_set_str(a, "outcome", is_done ? "ok" : NULL);
    jx_set_str(a, "agent", "claude");
    jx_set_str(a, "task",
               "Replace the hand-written lexer by the generated one and keep every test green");
    jx_set_str(a, "title", "Replace the lexer");
    jx_set_str(a, "repo", "/home/ana/src/parser");
    jx_set_str(a, "base", "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d");
    jx_set_str(a, "base_ref", "main");
    jx_set_str(a, "ladder", "confirm");
    jx_set_str(a, "tip", is_queued ? NULL : "9f8e7d6c5b4a39281706f5e4d3c2b1a009f8e7d6");
    jx_set_str(a, "engine", "overlay");
    jx_set_str(a, "last_line", is_queued ? NULL : "Reading src/lexer.c");
    jx_set_int(a, "created_ms", FIXTURE_NOW_MS - 600000);
    jx_set_int(a, "started_ms", is_queued ? 0 : FIXTURE_NOW_MS - 60000 * n - 5000);
    jx_set_int(a, "ended_ms", is_done ? FIXTURE_NOW_MS - 1000 : 0);
    jx_set(a, "exit_status", is_done ? json_integer(0) : json_null());
    jx_set_int(a, "commits", n);
    jx_set_int(a, "files", 2 * n);
    jx_set_bool(a, "interactive", n % 2 == 0);
    return a;
}

json_t *fixture_call(int n, const char *attempt, const char *tool, const char *args)
{
    struct err err = ERR_INIT;
    json_t *call = json_object(), *value;
    char action[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
    AUTO_FREE char *id = xasprintf("c%d", n), *what = xasprintf("%s %s", tool, args);
    if (!jx_parse(&value, args, strlen(args), &err)) {
        fprintf(stderr, "%s: %s\n", args, err.text);
        abort();
    }
    digest_bytes(action, what, strlen(what));
    digest_bytes(digest, id, strlen(id));
    jx_set_str(call, "id", id);
    jx_set_str(call, "attempt", attempt);
    jx_set_str(call, "state", "pending");
    jx_set_str(call, "source", "hook");
    jx_set_str(call, "agent", "claude");
    jx_set_str(call, "tool", tool);
    jx_set(call, "args", value);
    jx_set_str(call, "cwd", "/home/ana/src/parser");
    jx_set_str(call, "why", "ladder");
    jx_set_str(call, "reason", "it is asked at 'confirm'");
    jx_set_str(call, "action", action);
    jx_set_str(call, "digest", digest);
    jx_set_int(call, "asked_ms", FIXTURE_NOW_MS - 90000 + n * 1000);
    jx_set_int(call, "deadline_ms", FIXTURE_NOW_MS + 600000);
    return call;
}

json_t *fixture_snapshot(void)
{
    json_t *snapshot = json_object();
    jx_set(snapshot, "runs", json_array());
    jx_set(snapshot, "attempts", json_array());
    jx_set(snapshot, "calls", json_array());
    jx_set_int(snapshot, "now_ms", FIXTURE_NOW_MS);
    return snapshot;
}

void fixture_add(json_t *snapshot, const char *array, json_t *item)
{
    json_array_append_new(jx_arr(snapshot, array), item);
}

json_t *fixture_busy(int n)
{
    static const char *const states[] = {"running", "running", "running", "harvesting",
                                         "done",    "running", "done",    "queued"};
    json_t *snapshot = fixture_snapshot();
    fixture_add(snapshot, "runs", fixture_run(3));
    for (int i = 1; i <= n; i++) {
        json_t *a = fixture_attempt(3, i, states[(size_t)(i - 1) % ARRAY_LEN(states)]);
        if (i % 8 == 7)
            jx_set_str(a, "outcome", "failed");
        fixture_add(snapshot, "attempts", a);
    }
    static const char push[] = "{\"command\":\"git push origin main\",\"timeout\":5000}";
    json_t *held = fixture_call(1, "3.1", "Bash", push);
    jx_set_str(held, "why", "floor");
    jx_set_str(held, "reason", "git push would publish something outside of the box");
    fixture_add(snapshot, "calls", held);
    fixture_add(
        snapshot, "calls",
        fixture_call(
            2, "3.2", "Write",
            "{\"file_path\":\".github/workflows/ci.yml\",\"content\":\"on: push\\njobs:\\n\"}"));
    fixture_add(snapshot, "calls", fixture_call(3, "3.3", "Bash", push));
    fixture_add(snapshot, "calls", fixture_call(4, "3.6", "Bash", push));
    return snapshot;
}

void fixture_load(struct fixture *f, json_t *snapshot)
{
    AUTO_JSON json_t *owned = snapshot;
    desk_on_snapshot(&f->desk, owned);
}

void fixture_event(struct fixture *f, const char *kind, json_t *item)
{
    AUTO_JSON json_t *event = json_object();
    jx_set_str(event, "e", kind);
    jx_set(event, kind, item);
    desk_on_event(&f->desk, event);
}
