/*
 * An attempt that stands still while a person decides: for a tool call and for an exec, until the
 * decision, the deadline or the end; without gate.freeze it goes on.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/keep/freeze.h"
#include "runner/keep/tree.h"
#include "tests/unit/keep/world.h"

enum { WAIT_MS = 20 * 1000 };

/* Beats for ever beside what asks, which comes only when the pipe is open: else its end would not
 * be told. */
#define BEATING                                                         \
    "(exec 9>/w/beat; : >/w/begun; while echo beat >&9; do :; done) & " \
    "until [ -e /w/begun ]; do :; done; "
#define CALL "keep_caller call Write '{\"file_path\":\"/w/f\",\"content\":\"x\"}'; "

/* A box in which SCRIPT runs beside a process that beats. */
static int start(struct world *w, const char *script, bool freezes)
{
    AUTO_FREE char *all = xasprintf(BEATING "%s kill $!", script);
    world_init(w, all);
    w->spec.exec_notify = true;
    jx_set_bool(w->config, "freeze", freezes);
    jx_set_str(jx_obj(w->config, "policy"), "ladder", "confirm");
    jx_set(w->config, "exec",
           json_pack("{s:s s:b s:i}", "policy", "watch", "required", 1, "deadline_ms", 1500));
    json_array_append_new(jx_arr(jx_obj(w->config, "policy"), "rules"),
                          json_pack("{s:i s:s}", "id", 7, "text", "ask exec exec_good"));
    int beat = world_fifo_from_box(w, "beat");
    world_start(w);
    return beat;
}

/* R, S, T...; 0: gone. */
static char state_of(pid_t pid)
{
    char path[64];
    AUTO_BUF struct buf text = BUF_INIT;
    struct err gone = ERR_INIT;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return fs_read_file(&text, AT_FDCWD, path, 4096, &gone) ? strrchr(text.ptr, ')')[2] : '\0';
}

/* Every process of the box but pid 1 and what is parked in an exec. */
static bool stands_still(const struct world *w)
{
    AUTO_TREE struct tree tree = TREE_INIT;
    int n_stopped = 0, n_running = 0;
    tree_list(&tree, w->keeper.pid, 1000);
    for (size_t i = 2; i < tree.n; i++) {
        n_stopped += state_of(tree.v[i]) == 'T';
        n_running += state_of(tree.v[i]) == 'R';
    }
    return n_stopped > 0 && n_running == 0;
}

static void await_still(const struct world *w)
{
    int64_t until_ms = clock_mono_ms() + WAIT_MS;
    while (!stands_still(w))
        if (clock_mono_ms() > until_ms)
            fail_msg("the box does not stand still");
}

/* What is left in the pipe, and then nothing more or the next beat. */
static bool beats(int fd)
{
    char bytes[65536];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 0) == 1 && (p.revents & POLLIN) && read(fd, bytes, sizeof bytes) > 0)
        continue;
    return poll(&p, 1, 200) == 1 && (p.revents & POLLIN);
}

static void decide(struct world *w, const json_t *asked, const char *decision)
{
    world_send(w, json_pack("{s:s s:O s:s s:s s:O}", "t", "decide", "call",
                            json_object_get(asked, "call"), "name", "c1", "decision", decision,
                            "digest", json_object_get(asked, "digest")));
}

static void a_call_freezes_until_it_is_decided(void **state)
{
    (void)state;
    const char *decisions[] = {"allow", "deny"};
    for (int i = 0; i < 2; i++) {
        struct world w;
        int beat = start(&w, CALL, true);
        AUTO_JSON json_t *asked = world_record(&w, "asked");
        await_still(&w);
        assert_false(beats(beat));
        decide(&w, asked, decisions[i]);
        world_expect_exit(&w, 0, "exit");
        world_expect_in_log(&w, i == 0 ? "\"decision\":\"allow\"" : "\"decision\":\"deny\"");
        close(beat);
        world_done(&w);
    }
}

static void without_it_the_box_goes_on(void **state)
{
    (void)state;
    struct world w;
    int beat = start(&w, CALL, false);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    assert_true(beats(beat));
    decide(&w, asked, "allow");
    world_expect_exit(&w, 0, "exit");
    close(beat);
    world_done(&w);
}

static void an_exec_freezes_until_it_is_decided(void **state)
{
    (void)state;
    struct world w;
    int beat = start(&w, "/t/exec_good; echo status $?;", true);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    await_still(&w);
    decide(&w, asked, "allow");
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "status 0\n");
    close(beat);
    world_done(&w);
}

static void a_deadline_thaws(void **state)
{
    (void)state;
    struct world w;
    int beat = start(&w, "/t/exec_good; echo status $?;", true);
    AUTO_JSON json_t *expired = world_record(&w, "expired");
    assert_non_null(expired);
    world_expect_exit(&w, 0, "exit");
    world_expect_in_log(&w, "status 126\n");
    close(beat);
    world_done(&w);
}

static void a_stop_reaches_a_frozen_agent(void **state)
{
    (void)state;
    struct world w;
    int beat = start(&w, "trap 'echo heard; exit 3' TERM; " CALL, true);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    await_still(&w);
    world_send(&w, json_pack("{s:s s:s s:i}", "t", "stop", "cause", "stopped", "grace_ms", 20000));
    world_expect_exit(&w, 3, "stopped");
    world_expect_in_log(&w, "heard\n");
    close(beat);
    world_done(&w);
}

static void a_keeper_that_dies_ends_a_frozen_box(void **state)
{
    (void)state;
    struct world w;
    int beat = start(&w, CALL, true);
    AUTO_JSON json_t *asked = world_record(&w, "asked");
    await_still(&w);
    kill(w.keeper.pid, SIGKILL);
    world_await_hang_up(beat);
    close(beat);
    world_done(&w);
}

/* The group's own file is used where there is one. */
static void a_group_is_frozen_by_its_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/keep_freeze.XXXXXX";
    struct err err = ERR_INIT;
    AUTO_STRV struct strv groups = STRV_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *file = fs_join(dir, "cgroup.freeze");
    assert_true(fs_write_plain(AT_FDCWD, file, "0", 1, 0600, &err));
    strv_push(&groups, dir);
    struct freeze f = {.groups = &groups, .init_pid = getpid(), .may_stop = false};
    freeze_set(&f, true);
    assert_true(fs_read_file(&text, AT_FDCWD, file, 16, &err));
    assert_string_equal(text.ptr, "1");
    freeze_end(&f);
    buf_clear(&text);
    assert_true(fs_read_file(&text, AT_FDCWD, file, 16, &err));
    assert_string_equal(text.ptr, "0");
    freeze_set(&f, true); /* it is over */
    buf_clear(&text);
    assert_true(fs_read_file(&text, AT_FDCWD, file, 16, &err));
    assert_string_equal(text.ptr, "0");
    freeze_release(&f);
    unlink(file);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_call_freezes_until_it_is_decided),
        world_test(without_it_the_box_goes_on),
        world_test(an_exec_freezes_until_it_is_decided),
        world_test(a_deadline_thaws),
        world_test(a_stop_reaches_a_frozen_agent),
        world_test(a_keeper_that_dies_ends_a_frozen_box),
        cmocka_unit_test(a_group_is_frozen_by_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
