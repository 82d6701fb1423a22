/*
 * Starting a keeper: what is refused with a sentence, what is on record from start to end.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sched.h>
#include <unistd.h>
#include <cmocka.h>
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "tests/unit/keep/world.h"

static void all_is_on_record_after_the_end(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "echo hello; exit 7");
    world_start(&w);
    assert_string_equal(jx_str(w.welcome, "attempt", ""), "3.2");
    assert_int_equal(jx_int(w.welcome, "epoch", 0), 1);
    AUTO_JSON json_t *started = world_record(&w, "started");
    assert_int_equal(jx_int(started, "pid", 0), w.keeper.pid);
    assert_int_equal(jx_int(started, "start_ticks", 0), w.keeper.start_ticks);
    assert_string_equal(jx_str(started, "boot_id", ""), w.keeper.boot_id);
    world_expect_exit(&w, 7, "exit");
    world_send(&w, json_pack("{s:s}", "t", "quit"));
    world_wait_keeper_end(&w);

    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(json_array_size(records), 3);
    const json_t *layers = jx_arr(json_array_get(records, 0), "layers");
    assert_int_equal(json_array_size(layers), LAYER_COUNT + 2); /* and the exec gate, the keeper */
    assert_string_equal(jx_str(json_array_get(layers, LAYER_PID), "state", ""), "active");
    world_expect_in_log(&w, "hello\n");
    assert_false(fs_exists(w.socket));
    assert_false(fs_exists(w.gate_socket));
    world_done(&w);
}

static void death_by_signal_is_128_and_the_signal(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "kill -SEGV $$");
    world_start(&w);
    world_expect_exit(&w, 128 + SIGSEGV, "exit");
    world_done(&w);
}

static void a_program_that_does_not_exist_is_127(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "true");
    free(w.spec.argv.v[0]);
    w.spec.argv.v[0] = xstrdup("no-such-program");
    world_start(&w);
    AUTO_JSON json_t *record = world_record(&w, "exited");
    assert_int_equal(jx_int(record, "status", 0), 127);
    assert_string_equal(jx_str(record, "cause", ""), "failed");
    assert_non_null(strstr(jx_str(record, "error", ""), "no-such-program"));
    world_done(&w);
}

static void a_plan_that_is_none_ends_as_failed(void **state)
{
    (void)state;
    struct world w;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    world_init(&w, "true");
    AUTO_FREE char *config = json_dumps(w.config, 0);
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, w.attempt, &err);
    assert_true(fs_write_plain(dirfd, "plan", "nonsense", 8, 0600, &err));
    assert_true(fs_write_plain(dirfd, "keep.json", config, strlen(config), 0600, &err));
    json_decref(w.config);
    w.config = NULL;
    assert_int_equal(world_try_start(&w, &text), 0);
    world_connect(&w);
    AUTO_JSON json_t *record = world_record(&w, "exited");
    assert_string_equal(jx_str(record, "cause", ""), "failed");
    assert_true(strlen(jx_str(record, "error", "")) > 0);
    world_done(&w);
}

static void an_attempt_has_one_keeper(void **state)
{
    (void)state;
    struct world w;
    AUTO_BUF struct buf text = BUF_INIT;
    world_init(&w, "sleep 1000");
    world_start(&w);
    json_t *config = w.config;
    w.config = NULL; /* the first one's files stay */
    assert_int_equal(world_try_start(&w, &text), 1);
    w.config = config;
    assert_string_equal(text.ptr, "headgate-keep: another keeper has this attempt\n");
    world_done(&w);
}

static void a_bad_configuration_is_one_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *member, *text;
    } cases[] = {{"attempt", "headgate-keep: keep.json has no good 'attempt'\n"},
                 {"socket", "headgate-keep: keep.json has no good 'socket'\n"},
                 {"v", "headgate-keep: keep.json is of another version\n"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        AUTO_BUF struct buf text = BUF_INIT;
        world_init(&w, "true");
        json_object_set_new(w.config, cases[i].member, json_string("../x"));
        assert_int_equal(world_try_start(&w, &text), 1);
        assert_string_equal(text.ptr, cases[i].text);
        world_done(&w);
    }
}

static void a_socket_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct world w;
    AUTO_BUF struct buf text = BUF_INIT;
    world_init(&w, "true");
    json_object_set_new(w.config, "socket", json_string("/nonexistent/k"));
    assert_int_equal(world_try_start(&w, &text), 5);
    assert_non_null(strstr(text.ptr, "/nonexistent/k"));
    world_done(&w);
}

static void sigterm_ends_agent_and_keeper(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "trap 'exit 3' TERM; echo up > /w/up; while :; do sleep 0.05; done");
    int up = world_fifo_from_box(&w, "up");
    world_start(&w);
    world_await_byte(up);
    kill(w.keeper.pid, SIGTERM);
    world_wait_keeper_end(&w);
    AUTO_JSON json_t *records = world_spool(&w);
    const json_t *last = json_array_get(records, json_array_size(records) - 1);
    assert_string_equal(jx_str(last, "r", ""), "exited");
    assert_string_equal(jx_str(last, "cause", ""), "stopped");
    assert_int_equal(jx_int(last, "status", 0), 3);
    close(up);
    world_done(&w);
}

/* A second life of an attempt (resume) goes on in the same spool and log, with numbers that never
 * came before. */
static void a_resumed_attempt_continues_its_records(void **state)
{
    (void)state;
    struct world w;
    world_init(&w, "keep_caller call Bash '{\"command\":\"true\"}'");
    int64_t numbers[2] = {0};
    for (int life = 0; life < 2; life++) {
        world_start(&w);
        AUTO_JSON json_t *decided = world_record(&w, "decided");
        numbers[life] = jx_int(decided, "call", 0);
        world_expect_exit(&w, 0, "exit");
        world_send(&w, json_pack("{s:s}", "t", "quit"));
        world_wait_keeper_end(&w);
        world_disconnect(&w);
    }
    assert_true(numbers[0] > 0 && numbers[1] > numbers[0]);
    AUTO_JSON json_t *records = world_spool(&w);
    assert_int_equal(world_count(records, "exited"), 2);
    world_done(&w);
}

/* A file system of the attempt's own that gets full. Needs a mount, so it is a skip without root.
 */
static void on_a_full_disk_nothing_is_allowed_and_nothing_hangs(void **state)
{
    (void)state;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        print_message("skipped: a small file system needs root\n");
        skip();
    }
    struct world w;
    struct err err = ERR_INIT;
    world_init(&w, "read x < /w/go; X=$(head -c 3000 /dev/zero | tr '\\0' x); for i in 1 2 3; do "
                   "keep_caller call Bash \"{\\\"command\\\":\\\"$X\\\"}\" > /w/answer; done; "
                   "echo up > /w/up");
    world_fifo_to_box(&w, "go");
    int up = world_fifo_from_box(&w, "up");
    assert_int_equal(mount("small", w.attempt, "tmpfs", 0, "size=256k,mode=0700"), 0);
    world_start(&w);
    AUTO_JSON json_t *started = world_record(&w, "started");
    AUTO_FREE char *filler = fs_join(w.attempt, "filler");
    int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char zeros[4096];
    while (write(fd, zeros, sizeof zeros) > 0)
        continue;
    close(fd);
    world_go(&w, "go");
    world_await_byte(up);
    /* The first may have found room in the spool's last page. */
    AUTO_BUF struct buf answer = BUF_INIT;
    AUTO_FREE char *path = xasprintf("%s/w/answer", w.dir);
    assert_true(fs_read_file(&answer, AT_FDCWD, path, 65536, &err));
    assert_non_null(strstr(answer.ptr, "\"decision\":\"deny\""));
    assert_non_null(strstr(answer.ptr, "could not be recorded"));
    /* The end cannot be recorded either: it is tried again until there is room. */
    unlink(filler);
    world_expect_exit(&w, 0, "exit");
    AUTO_JSON json_t *records = world_spool(&w);
    assert_true(world_count(records, "decided") < 3);
    close(up);
    umount2(w.attempt, MNT_DETACH);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(all_is_on_record_after_the_end),
        world_test(death_by_signal_is_128_and_the_signal),
        world_test(a_program_that_does_not_exist_is_127),
        world_test(a_plan_that_is_none_ends_as_failed),
        world_test(an_attempt_has_one_keeper),
        world_test(a_bad_configuration_is_one_sentence),
        world_test(a_socket_that_cannot_be_is_refused),
        world_test(sigterm_ends_agent_and_keeper),
        world_test(a_resumed_attempt_continues_its_records),
        world_test(on_a_full_disk_nothing_is_allowed_and_nothing_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
