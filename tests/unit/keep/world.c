#include "tests/unit/keep/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "gate/spool.h"
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/wire/socket.h"

enum {
    WORLD_WAIT_MS = 30 * 1000,
    WORLD_BOX_UID = 61234, /* needs no account */
};

/* The keeper of a test that failed lives on until its teardown. */
static struct proc_id left_over;

static void world_check(bool is_ok, const struct err *err, const char *what)
{
    if (!is_ok)
        fail_msg("%s: %s", what, err->text);
}
#define CHECK(call) world_check((call), &err, #call)

static void world_mkdir(const struct world *w, const char *name, bool is_of_box)
{
    AUTO_FREE char *path = fs_join(w->dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
    if (is_of_box && geteuid() == 0)
        assert_int_equal(chown(path, WORLD_BOX_UID, WORLD_BOX_UID), 0);
}

static void world_init_spec(struct world *w, const char *script)
{
    struct box_spec *spec = &w->spec;
    AUTO_FREE char *worktree = fs_join(w->dir, "w");
    AUTO_FREE char *inside = fs_dirname(CALLER);
    bool is_root = geteuid() == 0;
    box_spec_init(spec);
    strv_push(&spec->argv, "sh");
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, script);
    strv_push(&spec->env, "PATH=/t:/usr/bin:/bin");
    strv_push(&spec->env, "HOME=/h");
    strv_push(&spec->env, "TERM=xterm");
    spec->cwd = xstrdup("/w");
    spec->uid = is_root ? WORLD_BOX_UID : geteuid();
    spec->gid = is_root ? WORLD_BOX_UID : getegid();
    spec->home = fs_join(w->dir, "h");
    spec->home_inside = xstrdup("/h");
    box_spec_bind(spec, worktree, "/w", BOX_BIND_WRITE);
    box_spec_bind(spec, inside, "/t", 0);
    box_spec_bind(spec, w->gate_socket, "/run/headgate/gate.sock", 0);
}

void world_init(struct world *w, const char *script)
{
    char dir[] = "/tmp/keep_test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    *w = (struct world){.dir = xstrdup(dir), .server = {.fd = -1}};
    /* The box's account passes through to the folders that are its own. */
    assert_int_equal(chmod(dir, 0711), 0);
    world_mkdir(w, "a", false);
    world_mkdir(w, "r", false);
    world_mkdir(w, "w", true);
    world_mkdir(w, "h", true);
    w->attempt = fs_join(w->dir, "a");
    w->socket = fs_join(w->dir, "r/k");
    w->gate_socket = fs_join(w->dir, "r/g");
    world_init_spec(w, script);
    w->config = json_pack("{s:i s:s s:s s:s s:s s:s s:s s:s s:b s:i s:s s:{s:i s:s s:[]}}", "v", 1,
                          "attempt", "3.2", "agent", "command", "socket", w->socket, "gate_socket",
                          w->gate_socket, "plan", "plan", "worktree", "/w", "home", "/h",
                          "interactive", 0, "grace_ms", 300, "output", "lines", "policy", "epoch",
                          1, "ladder", "auto", "rules");
    assert_non_null(w->config);
}

static void world_write_files(struct world *w)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_BUF struct buf config = BUF_INIT;
    AUTO_FD int dirfd = -1;
    struct err err = ERR_INIT;
    /* A plan shows only what is there: the file of a dead listener, which the keeper replaces. */
    close(socket_listen(w->gate_socket, 0600, &err));
    w->spec.pty = jx_bool(w->config, "interactive", false);
    CHECK(box_plan(&plan, &w->spec, &err));
    jx_dump(&config, w->config);
    dirfd = fs_open_dir(AT_FDCWD, w->attempt, &err);
    CHECK(fs_write_plain(dirfd, "plan", plan.ptr, plan.len, 0600, &err));
    CHECK(fs_write_plain(dirfd, "keep.json", config.ptr, config.len, 0600, &err));
}

int world_try_start(struct world *w, struct buf *ret_text)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    if (w->config)
        world_write_files(w);
    strv_push(&argv, KEEPER);
    strv_push(&argv, w->attempt);
    const struct proc_cmd cmd = {.argv = &argv, .timeout_ms = WORLD_WAIT_MS};
    CHECK(proc_run(&result, &cmd, &err));
    buf_add(ret_text, result.errout.ptr, result.errout.len);
    return result.status;
}

void world_connect(struct world *w)
{
    struct err err = ERR_INIT;
    CHECK(sync_open(&w->server, w->socket, &err));
    world_send(w, json_pack("{s:s s:i s:s s:I}", "t", "hello", "v", 1, "role", "server", "acked",
                            (json_int_t)w->acked));
    json_decref(w->welcome);
    w->welcome = world_message(w, "welcome");
    CHECK(proc_id_of(&w->keeper, (pid_t)jx_int(w->welcome, "pid", 0), &err));
    left_over = w->keeper;
}

void world_disconnect(struct world *w)
{
    sync_close(&w->server);
}

void world_start(struct world *w)
{
    AUTO_BUF struct buf text = BUF_INIT;
    int status = world_try_start(w, &text);
    if (status != 0)
        fail_msg("headgate-keep exited %d: %s", status, text.ptr);
    world_connect(w);
}

void world_wait_keeper_end(const struct world *w)
{
    AUTO_FD int pidfd = proc_pidfd(w->keeper.pid);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    if (pidfd >= 0 && proc_id_alive(&w->keeper))
        assert_int_equal(poll(&p, 1, WORLD_WAIT_MS), 1);
}

int world_teardown(void **state)
{
    (void)state;
    if (left_over.pid && proc_id_alive(&left_over))
        kill(left_over.pid, SIGKILL);
    left_over = (struct proc_id){0};
    return 0;
}

void world_done(struct world *w)
{
    struct err err = ERR_INIT;
    if (w->keeper.pid && proc_id_alive(&w->keeper)) {
        kill(w->keeper.pid, SIGKILL);
        world_wait_keeper_end(w);
    }
    sync_close(&w->server);
    AUTO_FD int tmp = fs_open_dir(AT_FDCWD, "/tmp", &err);
    CHECK(fs_remove_tree(tmp, fs_basename(w->dir), &err));
    box_spec_release(&w->spec);
    json_decref(w->config);
    json_decref(w->welcome);
    free(w->dir);
    free(w->attempt);
    free(w->socket);
    free(w->gate_socket);
}

void world_init_execs(struct world *w, const char *script, const char *policy)
{
    world_init(w, script);
    w->spec.exec_notify = true;
    jx_set(w->config, "exec",
           json_pack("{s:s s:b s:i}", "policy", policy, "required", 1, "deadline_ms", 1500));
}

void world_set_rule(struct world *w, const char *text)
{
    json_array_append_new(jx_arr(jx_obj(w->config, "policy"), "rules"),
                          json_pack("{s:i s:s}", "id", 7, "text", text));
}

void world_send(struct world *w, json_t *message_stolen)
{
    struct err err = ERR_INIT;
    AUTO_JSON json_t *message = message_stolen;
    assert_non_null(message);
    CHECK(sync_send(&w->server, message, &err));
}

json_t *world_message(struct world *w, const char *type)
{
    struct err err = ERR_INIT;
    int64_t deadline_ms = clock_mono_ms() + WORLD_WAIT_MS;
    for (;;) {
        json_t *msg = NULL;
        CHECK(sync_recv(&msg, &w->server, deadline_ms - clock_mono_ms(), &err));
        if (!msg)
            fail_msg("no message '%s' came", type);
        if (strcmp(jx_str(msg, "t", ""), type) == 0)
            return msg;
        json_decref(msg);
    }
}

json_t *world_record(struct world *w, const char *kind)
{
    for (;;) {
        AUTO_JSON json_t *msg = world_message(w, "record");
        json_t *record = jx_obj(msg, "record");
        int64_t seq = jx_int(record, "seq", 0);
        assert_int_equal(seq, w->acked + 1);
        w->acked = seq;
        world_send(w, json_pack("{s:s s:I}", "t", "ack", "seq", (json_int_t)seq));
        if (strcmp(jx_str(record, "r", ""), kind) == 0)
            return json_incref(record);
        if (strcmp(jx_str(record, "r", ""), "exited") == 0) {
            AUTO_BUF struct buf text = BUF_INIT;
            jx_dump(&text, record);
            fail_msg("no record '%s' came before %s", kind, text.ptr);
        }
    }
}

void world_decide(struct world *w, const json_t *asked, const char *decision)
{
    world_send(w, json_pack("{s:s s:O s:s s:s s:O}", "t", "decide", "call",
                            json_object_get(asked, "call"), "name", "c1", "decision", decision,
                            "digest", json_object_get(asked, "digest")));
}

void world_expect_exit(struct world *w, int64_t status, const char *cause)
{
    AUTO_JSON json_t *record = world_record(w, "exited");
    AUTO_BUF struct buf text = BUF_INIT;
    jx_dump(&text, record);
    if (jx_int(record, "status", -1) != status || strcmp(jx_str(record, "cause", ""), cause) != 0)
        fail_msg("expected status %lld, cause %s, got %s", (long long)status, cause, text.ptr);
}

static bool world_collect(void *arg, const json_t *record)
{
    json_array_append_new(arg, json_deep_copy(record));
    return true;
}

json_t *world_spool(const struct world *w)
{
    json_t *records = json_array();
    struct err err = ERR_INIT;
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, w->attempt, &err);
    CHECK(spool_replay(dirfd, 0, world_collect, records, &err));
    return records;
}

size_t world_count(const json_t *records, const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(records); i++)
        n += strcmp(jx_str(json_array_get(records, i), "r", ""), kind) == 0;
    return n;
}

void world_log(const struct world *w, struct buf *out)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(w->attempt, "log");
    CHECK(fs_read_file(out, AT_FDCWD, path, 256 * 1024 * 1024, &err));
}

void world_expect_in_log(const struct world *w, const char *text)
{
    AUTO_BUF struct buf log = BUF_INIT;
    world_log(w, &log);
    if (!strstr(log.ptr, text))
        fail_msg("the log does not hold '%s': %s", text, log.ptr);
}

static char *world_make_fifo(const struct world *w, const char *name)
{
    char *path = xasprintf("%s/w/%s", w->dir, name);
    mode_t mask = umask(0);
    assert_int_equal(mkfifo(path, 0666), 0);
    umask(mask);
    return path;
}

int world_fifo_from_box(const struct world *w, const char *name)
{
    AUTO_FREE char *path = world_make_fifo(w, name);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void world_fifo_to_box(const struct world *w, const char *name)
{
    free(world_make_fifo(w, name));
}

void world_go(const struct world *w, const char *name)
{
    AUTO_FREE char *path = xasprintf("%s/w/%s", w->dir, name);
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "go\n", 3), 3);
}

void world_await_byte(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    assert_int_equal(poll(&p, 1, WORLD_WAIT_MS), 1);
    assert_int_equal(read(fd, &byte, 1), 1);
}

void world_await_hang_up(int fd)
{
    int64_t deadline_ms = clock_mono_ms() + WORLD_WAIT_MS;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char bytes[256];
        assert_int_equal(poll(&p, 1, (int)(deadline_ms - clock_mono_ms())), 1);
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n == 0)
            return;
    }
}
