#include "tests/unit/runner/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/runner/fixture.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"

enum { WAIT_MS = 20 * 1000, END_MS = 10 * 1000 };

static void set_folder(const char *dir, const char *variable, const char *name)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(dir, name);
    assert_ok(fs_mkdirs(path, 0700, &err));
    setenv(variable, path, 1);
}

int world_set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    struct err err = ERR_INIT;
    static const char form[] = "/tmp/headgate-world-XXXXXX";
    memcpy(w->dir, form, sizeof(form));
    if (!mkdtemp(w->dir))
        return -1;
    set_folder(w->dir, "HOME", "home");
    set_folder(w->dir, "XDG_CONFIG_HOME", "home/.config");
    set_folder(w->dir, "XDG_RUNTIME_DIR", "run");
    set_folder(w->dir, "TMPDIR", "tmp");
    set_folder(w->dir, "HEADGATE_STATE", "state");
    unsetenv("CHILD_FILE_BYTES");
    signal(SIGPIPE, SIG_IGN);
    if (!paths_init(&w->paths, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = w;
    return 0;
}

/* What a server says only when it is at fault itself, and what the sanitizers say. */
static bool log_is_clean(const struct world *w)
{
    static const char *const faults[] = {"left open", "Sanitizer", "runtime error"};
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(w->paths.state, "server.log");
    if (fs_exists(path) && !fs_read_file(&text, AT_FDCWD, path, 64 * 1024 * 1024, &err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        if (!strstr(text.ptr, faults[i]))
            continue;
        print_error("%s", text.ptr);
        return false;
    }
    return true;
}

int world_tear_down(void **state)
{
    struct world *w = *state;
    struct err err = ERR_INIT;
    struct sync_conn c;
    if (sync_open(&c, w->paths.control, &err)) {
        /* A child that a killed server was about to start may hold its listener for a moment more.
         */
        json_t *hello =
            world_ask(&c, "hello", json_pack("{s:i, s:s}", "v", 1, "client", "shell"), &err);
        if (hello) {
            w->server = (pid_t)jx_int(hello, "pid", 0);
            json_decref(world_ask(&c, "server.stop", NULL, &err));
        }
        json_decref(hello);
        sync_close(&c);
    }
    bool ok = w->server == 0 || world_await_end(w->server);
    ok = log_is_clean(w) && ok;
    paths_done(&w->paths);
    ok = fs_remove_tree(AT_FDCWD, w->dir, &err) && ok;
    free(w);
    return ok ? 0 : -1;
}

static int run_child(const char *argument)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    AUTO_FREE char *self = fs_realpath("/proc/self/exe", &err);
    AUTO_FREE char *folder = fs_dirname(self);
    AUTO_FREE char *program = fs_join(folder, "runner_server_child");
    strv_push(&argv, program);
    if (argument)
        strv_push(&argv, argument);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = WAIT_MS};
    assert_ok(proc_run(&result, &cmd, &err));
    if (result.errout.len)
        print_message("server: %s", result.errout.ptr);
    return result.status;
}

int world_start(struct world *w)
{
    int status = run_child(NULL);
    if (status == 0) {
        AUTO_JSON json_t *info = world_get(w, "server.info", NULL);
        w->server = (pid_t)jx_int(info, "pid", 0);
        assert_true(w->server > 0);
    }
    return status;
}

int world_start_foreground(struct world *w)
{
    (void)w;
    return run_child("foreground");
}

bool world_await_end(pid_t pid)
{
    AUTO_FD int pidfd = proc_pidfd(pid);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    return pidfd < 0 || poll(&end, 1, END_MS) == 1;
}

void world_kill(struct world *w)
{
    assert_int_equal(kill(w->server, SIGKILL), 0);
    assert_true(world_await_end(w->server));
    w->server = 0;
}

void world_write(struct world *w, const char *name, const char *text)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(w->dir, name);
    AUTO_FREE char *folder = fs_dirname(path);
    assert_ok(fs_mkdirs(folder, 0700, &err));
    assert_ok(fs_write_plain(AT_FDCWD, path, text, strlen(text), 0600, &err));
}

void world_connect(struct world *w, struct sync_conn *c)
{
    struct err err = ERR_INIT;
    if (c->fd <= 0 || fcntl(c->fd, F_GETFD) < 0)
        assert_ok(sync_open(c, w->paths.control, &err));
    json_t *hello = world_ask(c, "hello", json_pack("{s:i, s:s}", "v", 1, "client", "shell"), &err);
    if (!hello)
        fail_msg("%s", err.text);
    w->server = (pid_t)jx_int(hello, "pid", 0);
    json_decref(hello);
}

json_t *world_ask(struct sync_conn *c, const char *op, json_t *request, struct err *err)
{
    AUTO_JSON json_t *owned = request;
    json_t *result;
    return sync_call(&result, c, op, owned, err) ? result : NULL;
}

json_t *world_get(struct world *w, const char *op, json_t *request)
{
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    world_connect(w, &c);
    json_t *result = world_ask(&c, op, request, &err);
    if (!result)
        fail_msg("%s: %s", op, err.text);
    sync_close(&c);
    return result;
}

/* The member `kind` of the first object, from the snapshot on, whose id and state are these. */
static json_t *await(struct world *w, const char *list, const char *kind, const char *id,
                     const char *state)
{
    struct err err = ERR_INIT;
    struct sync_conn c = {.fd = -1};
    size_t i;
    json_t *item, *found = NULL;
    world_connect(w, &c);
    AUTO_JSON json_t *snapshot = world_ask(&c, "subscribe", NULL, &err);
    assert_non_null(snapshot);
    json_array_foreach(jx_arr(snapshot, list), i, item)
    {
        if (strcmp(jx_str(item, "id", ""), id) == 0 &&
            strcmp(jx_str(item, "state", ""), state) == 0)
            found = json_incref(item);
    }
    while (!found) {
        AUTO_JSON json_t *message = NULL;
        assert_ok(sync_recv(&message, &c, WAIT_MS, &err));
        if (!message)
            fail_msg("%s %s did not become %s", kind, id, state);
        item = jx_obj(jx_obj(message, "event"), kind);
        if (item && strcmp(jx_str(item, "id", ""), id) == 0 &&
            strcmp(jx_str(item, "state", ""), state) == 0)
            found = json_incref(item);
    }
    sync_close(&c);
    return found;
}

json_t *world_await(struct world *w, const char *attempt, const char *state)
{
    return await(w, "attempts", "attempt", attempt, state);
}

json_t *world_await_call(struct world *w, const char *call, const char *state)
{
    return await(w, "calls", "call", call, state);
}

/* The fixture's rows in this world's store. */
static struct fixture open_store(struct world *w)
{
    struct fixture f = {.db_path = w->paths.db};
    fixture_open_store(&f);
    return f;
}

void world_add_run(struct world *w, int64_t run, int64_t n)
{
    struct fixture f = open_store(w);
    fixture_add_run(&f, run, n);
    fixture_close_store(&f);
}

void world_set_state(struct world *w, const char *id, enum attempt_state state)
{
    struct fixture f = open_store(w);
    fixture_set_state(&f, id, state);
    fixture_close_store(&f);
}

void world_set_tree(struct world *w, const char *id)
{
    struct fixture f = open_store(w);
    struct err err = ERR_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    assert_ok(attempt_row_get(&row, f.db, id, &err));
    attempt_row_set(&row.tree, "/nowhere/tree");
    assert_ok(attempt_row_save(f.db, &row, &err));
    fixture_close_store(&f);
}

void world_reset(struct world *w, const char *id, enum attempt_state state)
{
    struct fixture f = open_store(w);
    struct err err = ERR_INIT;
    AUTO_ATTEMPT_ROW struct attempt_row row = ATTEMPT_ROW_INIT;
    assert_ok(attempt_row_get(&row, f.db, id, &err));
    row.state = state;
    row.outcome = OUTCOME_NONE;
    row.exit_status = -1;
    row.spool_seq = 0;
    assert_ok(attempt_row_save(f.db, &row, &err));
    fixture_close_store(&f);
}
