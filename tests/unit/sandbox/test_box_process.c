#include "tests/unit/sandbox/boxtest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

static void set_command(struct box_spec *spec, const char *script)
{
    strv_release(&spec->argv);
    strv_push(&spec->argv, "/bin/sh");
    strv_push(&spec->argv, "-c");
    strv_push(&spec->argv, script);
}

static void environment_and_folder_are_exact(void **state)
{
    (void)state;
    static const char *const env[] = {"/usr/bin/env", NULL};
    static const char *const pwd[] = {"/bin/pwd", NULL};
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    strv_release(&spec.env);
    strv_push(&spec.env, "ONE=1");
    strv_push(&spec.env, "EMPTY=");
    strv_push(&spec.env, "TWO=a b\nc");
    free(spec.cwd);
    spec.cwd = xstrdup("/usr/bin");
    AUTO_FREE char *all = boxtest_argv(NULL, &spec, env);
    assert_string_equal(all, "ONE=1\nEMPTY=\nTWO=a b\nc");
    AUTO_FREE char *cwd = boxtest_argv(NULL, &spec, pwd);
    assert_string_equal(cwd, "/usr/bin");
}

static void no_descriptor_is_inherited(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FD int low = open("/etc/hosts", O_RDONLY);
    AUTO_FD int high = fcntl(low, F_DUPFD, 200);
    assert_true(low >= 0 && high >= 200);
    boxtest_spec(&spec);
    boxtest_expect(&spec, "descriptors", "0");
}

static void the_umask_is_the_usual_one(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    mode_t old = umask(077);
    AUTO_FREE char *got = boxtest_sh(NULL, &spec, "umask; ulimit -c");
    umask(old);
    assert_string_equal(got, "0022\n0");
}

static void statuses_are_passed_on(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int status;
    } cases[] = {{"exit 0", 0}, {"exit 7", 7}, {"kill -9 $$", 137}, {"kill -TERM $$", 143}};
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int status;
        AUTO_FREE char *out = boxtest_sh(&status, &spec, cases[i].script);
        assert_int_equal(status, cases[i].status);
    }
}

static void a_program_that_cannot_run(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        enum err_code code;
    } cases[] = {
        {"no-such-program-anywhere", ERR_NOT_FOUND},
        {"/usr/bin/none", ERR_NOT_FOUND},
        {"/etc/hosts", ERR_REFUSED},
        {"/usr", ERR_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_BOX_SPEC struct box_spec spec;
        boxtest_spec(&spec);
        strv_push(&spec.argv, cases[i].program);
        boxtest_expect_failure(&err, &spec);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].program));
    }
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    free(spec.cwd);
    spec.cwd = xstrdup("/nowhere");
    boxtest_expect_failure(&err, &spec);
    assert_int_equal(err.code, ERR_SYS);
    assert_non_null(strstr(err.text, "the folder in which"));
}

static void a_launcher_that_is_missing(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct box_child child;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_BUF struct buf plan = BUF_INIT;
    const int standard[3] = {0, 1, 2};
    boxtest_spec(&spec);
    strv_push(&spec.argv, "true");
    assert_true(box_plan(&plan, &spec, &err));
    assert_false(box_spawn(&child, "/nonexistent/headgate-box", &plan, standard, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    assert_false(box_spawn(&child, "/bin/true", &plan, standard, &err));
    assert_int_equal(err.code, ERR_INTERNAL);
    plan.ptr[0] ^= 1;
    assert_false(box_spawn(&child, boxtest()->launcher, &plan, standard, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
}

/* Long after the agent a daemon of it would hold the pipe open; box_run then met its time limit. */
static const char daemon_script[] =
    "(setsid sh -c 'trap \"\" TERM HUP INT; echo up; sleep 4' &) ; "
    "nohup sleep 4 >&1 2>/dev/null & read x < /proc/sys/kernel/ostype; exit 0";

static void daemons_end_with_the_agent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    struct proc_cmd cmd = {.timeout_ms = 3000};
    boxtest_spec(&spec);
    set_command(&spec, daemon_script);
    if (!box_run(&result, NULL, boxtest()->launcher, &spec, &cmd, &err))
        fail_msg("%s", err.text);
    spec.without = 1U << LAYER_PID;
    cmd.timeout_ms = 1000;
    assert_false(box_run(&result, NULL, boxtest()->launcher, &spec, &cmd, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void open_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static void assert_closes(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    do {
        if (poll(&p, 1, BOXTEST_TIMEOUT_MS) != 1)
            fail_msg("a process of the box lives on");
    } while (read(fd, &c, 1) > 0);
}

static void the_box_ends_with_its_caller(void **state)
{
    (void)state;
    int ends[2];
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_command(&spec, "trap '' HUP TERM; (setsid sleep 1000 &); echo ready; exec sleep 1000");
    open_pipe(ends);
    pid_t caller = fork();
    if (caller == 0) {
        struct boxtest_live box;
        const int std_fds[3] = {0, ends[1], 2};
        struct err err = ERR_INIT;
        boxtest_start(&box, &spec, std_fds);
        boxtest_await(&box, BOX_MSG_LAYERS);
        if (box_go(box.child.ctl_fd, &err))
            pause();
        _exit(1);
    }
    close(ends[1]);
    boxtest_read_until(ends[0], "ready");
    kill(caller, SIGKILL);
    assert_int_equal(waitpid(caller, NULL, 0), caller);
    assert_closes(ends[0]);
    close(ends[0]);
}

/* A caller that died before the go leaves nothing, and nothing of the agent has happened. */
static void no_go_no_agent(void **state)
{
    (void)state;
    struct boxtest_live box;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *folder = boxtest_folder(boxtest()->work, "no-go");
    AUTO_FREE char *marker = fs_join(folder, "ran");
    AUTO_FREE char *script = xasprintf("touch %s", marker);
    boxtest_spec(&spec);
    box_spec_bind(&spec, folder, folder, BOX_BIND_WRITE);
    set_command(&spec, script);
    boxtest_start(&box, &spec, NULL);
    boxtest_await(&box, BOX_MSG_LAYERS);
    close(box.child.ctl_fd);
    box.child.ctl_fd = -1;
    assert_int_equal(boxtest_reap(&box), 137);
    assert_false(fs_exists(marker));
}

/* The go is said at once; the start fails before it is read. */
static void a_failure_is_heard_after_an_early_go(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_command(&spec, "true");
    spec.without = spec.require = 1U << LAYER_NET;
    for (int i = 0; i < 5; i++) {
        struct err err = ERR_INIT;
        struct boxtest_live box;
        struct box_msg msg = {.kind = BOX_MSG_NONE, .fd = -1};
        boxtest_start(&box, &spec, NULL);
        (void)!box_go(box.child.ctl_fd, &err);
        while (msg.kind == BOX_MSG_NONE) {
            struct pollfd p = {.fd = box.child.ctl_fd, .events = POLLIN};
            assert_int_equal(poll(&p, 1, BOXTEST_TIMEOUT_MS), 1);
            assert_true(box_recv(&msg, box.child.ctl_fd, &err));
        }
        assert_int_equal(msg.kind, BOX_MSG_FAILED);
        assert_int_equal(msg.error.code, ERR_LAYER);
        assert_int_equal(boxtest_reap(&box), 125);
    }
}

static void signals_reach_the_agent(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_command(&spec, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    for (int from_outside = 0; from_outside < 2; from_outside++) {
        int ends[2];
        struct err err = ERR_INIT;
        struct boxtest_live box;
        open_pipe(ends);
        const int std_fds[3] = {0, ends[1], 2};
        boxtest_start(&box, &spec, std_fds);
        close(ends[1]);
        assert_true(box_go(box.child.ctl_fd, &err));
        boxtest_await(&box, BOX_MSG_STARTED);
        boxtest_read_until(ends[0], "ready");
        if (from_outside)
            assert_int_equal(kill(box.child.pid, SIGTERM), 0);
        else
            assert_true(box_signal(box.child.ctl_fd, 0, SIGTERM, &err));
        boxtest_await(&box, BOX_MSG_EXITED);
        assert_int_equal(box.last.id, 0);
        assert_int_equal(box.last.status, 9);
        assert_int_equal(boxtest_reap(&box), 9);
        close(ends[0]);
    }
}

static void the_agent_gets_a_terminal_of_the_box(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live box;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.pty = true;
    spec.cols = 100;
    spec.rows = 30;
    set_command(&spec, "tty; stty size; set -m; sleep 100 & kill %1; wait %1; echo job $?;"
                       "trap 'echo got-int; exit 5' INT; echo ready; while :; do sleep 0.01; done");
    boxtest_start(&box, &spec, NULL);
    boxtest_await(&box, BOX_MSG_PTY);
    assert_int_equal(box.last.id, 0);
    AUTO_FD int master = box.last.fd;
    assert_true(box_go(box.child.ctl_fd, &err));
    boxtest_read_until(master, "/dev/pts/0\r\n30 100\r\n");
    boxtest_read_until(master, "job 143");
    boxtest_read_until(master, "ready");
    assert_int_equal(write(master, "\003", 1), 1);
    boxtest_read_until(master, "got-int");
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.status, 5);
    assert_int_equal(boxtest_reap(&box), 5);
}

static void terminals_of_the_host_are_unseen(void **state)
{
    (void)state;
    AUTO_FD int host = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    AUTO_BOX_SPEC struct box_spec spec;
    assert_true(host >= 0);
    AUTO_FREE char *attempt = xasprintf("read:%s", ptsname(host));
    boxtest_spec(&spec);
    boxtest_expect(&spec, "tty", "ENXIO");
    AUTO_FREE char *list = boxtest_sh(NULL, &spec, "ls /dev/pts");
    assert_string_equal(list, "ptmx");
    boxtest_expect(&spec, attempt, "ENOENT");
    spec.without = 1U << LAYER_PTY;
    AUTO_FREE char *control = boxtest_try(&spec, attempt);
    assert_string_not_equal(control, "ENOENT");
}

static void join(struct boxtest_live *box, int id, const char *script)
{
    struct err err = ERR_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    strv_push(&argv, "/bin/sh");
    strv_push(&argv, "-c");
    strv_push(&argv, script);
    strv_push(&env, "PATH=/usr/bin:/bin");
    strv_push(&env, "JOINED=yes");
    if (!box_join(box->child.ctl_fd, id, &argv, &env, "/usr", 90, 20, &err))
        fail_msg("%s", err.text);
}

static void further_programs_join(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live box;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_command(&spec, "exec sleep 1000");
    strv_push(&spec.env, "OF_AGENT=kept");
    strv_push(&spec.env, "JOINED=no");
    boxtest_start(&box, &spec, NULL);
    assert_true(box_go(box.child.ctl_fd, &err));
    boxtest_await(&box, BOX_MSG_STARTED);
    join(&box, 5,
         "tty; stty size; pwd; echo $OF_AGENT $JOINED; grep -E '^(NoNewPrivs|Seccomp|CapBnd):' "
         "/proc/self/status | tr -d '\\t\\n'; exit 3");
    boxtest_await(&box, BOX_MSG_PTY);
    assert_int_equal(box.last.id, 5);
    AUTO_FD int master = box.last.fd;
    boxtest_read_until(master, "/dev/pts/0\r\n20 90\r\n/usr\r\nkept yes\r\n"
                               "CapBnd:0000000000000000NoNewPrivs:1Seccomp:2");
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.id, 5);
    assert_int_equal(box.last.status, 3);
    join(&box, 6, "trap '' HUP; echo there; exec sleep 1000");
    boxtest_await(&box, BOX_MSG_PTY);
    AUTO_FD int second = box.last.fd;
    boxtest_read_until(second, "there");
    assert_true(
        box_signal(box.child.ctl_fd, 0, SIGKILL, &err)); /* the agent ends, and all with it */
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.id, 0);
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.id, 6);
    assert_int_equal(box.last.status, 137);
    assert_int_equal(boxtest_reap(&box), 137);
}

static void a_failed_join_is_told_and_harmless(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live box;
    struct box_msg msg = {.kind = BOX_MSG_NONE};
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_command(&spec, "exec sleep 1000");
    boxtest_start(&box, &spec, NULL);
    assert_true(box_go(box.child.ctl_fd, &err));
    boxtest_await(&box, BOX_MSG_STARTED);
    strv_push(&argv, "no-such-shell");
    assert_true(box_join(box.child.ctl_fd, 7, &argv, &env, "/", 80, 24, &err));
    while (msg.kind == BOX_MSG_NONE || msg.kind == BOX_MSG_PTY) {
        struct pollfd p = {.fd = box.child.ctl_fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, BOXTEST_TIMEOUT_MS), 1);
        assert_true(box_recv(&msg, box.child.ctl_fd, &err));
        if (msg.fd >= 0)
            close(msg.fd);
    }
    assert_int_equal(msg.kind, BOX_MSG_FAILED);
    assert_int_equal(msg.id, 7);
    assert_int_equal(msg.error.code, ERR_NOT_FOUND);
    join(&box, 8, "exit 4");
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(box.last.id, 8);
    assert_int_equal(kill(box.child.pid, SIGKILL), 0);
    assert_int_equal(boxtest_reap(&box), 137);
}

static void mapped_ports_are_handed_out(void **state)
{
    (void)state;
    static const char *const addresses[] = {"127.0.0.1", "::1"};
    struct err err = ERR_INIT;
    struct boxtest_live box;
    int ends[2], listeners[2];
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    strv_push(&spec.listen_ports, "443"); /* a privileged one, on purpose */
    strv_push(&spec.argv, "/bin/bash");
    strv_push(&spec.argv, "-c");
    strv_push(&spec.argv, "for a in 127.0.0.1 ::1; do exec 3<>/dev/tcp/$a/443 && cat <&3; done");
    open_pipe(ends);
    const int std_fds[3] = {0, ends[1], 2};
    boxtest_start(&box, &spec, std_fds);
    close(ends[1]);
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        boxtest_await(&box, BOX_MSG_LISTENER);
        assert_int_equal(box.last.port, 443);
        listeners[i] = box.last.fd;
    }
    assert_true(box_go(box.child.ctl_fd, &err));
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        struct pollfd p = {.fd = listeners[i], .events = POLLIN};
        assert_int_equal(poll(&p, 1, BOXTEST_TIMEOUT_MS), 1);
        AUTO_FD int fd = accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC);
        assert_int_equal(send(fd, addresses[i], strlen(addresses[i]), 0), strlen(addresses[i]));
        close(listeners[i]);
    }
    boxtest_read_until(ends[0], "127.0.0.1::1");
    boxtest_await(&box, BOX_MSG_EXITED);
    assert_int_equal(boxtest_reap(&box), 0);
    close(ends[0]);
}

static void many_boxes_start_at_once(void **state)
{
    (void)state;
    enum { BOXES = 12 };
    struct boxtest_live box[BOXES];
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.limits.pids = 40;
    set_command(&spec, "exit 11");
    for (size_t i = 0; i < BOXES; i++)
        boxtest_start(&box[i], &spec, NULL);
    for (size_t i = 0; i < BOXES; i++) {
        struct err err = ERR_INIT;
        boxtest_await(&box[i], BOX_MSG_LAYERS);
        assert_true(box_go(box[i].child.ctl_fd, &err));
    }
    for (size_t i = 0; i < BOXES; i++)
        assert_int_equal(boxtest_reap(&box[i]), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(environment_and_folder_are_exact),
                                       cmocka_unit_test(no_descriptor_is_inherited),
                                       cmocka_unit_test(the_umask_is_the_usual_one),
                                       cmocka_unit_test(statuses_are_passed_on),
                                       cmocka_unit_test(a_program_that_cannot_run),
                                       cmocka_unit_test(a_launcher_that_is_missing),
                                       cmocka_unit_test(daemons_end_with_the_agent),
                                       cmocka_unit_test(the_box_ends_with_its_caller),
                                       cmocka_unit_test(no_go_no_agent),
                                       cmocka_unit_test(a_failure_is_heard_after_an_early_go),
                                       cmocka_unit_test(signals_reach_the_agent),
                                       cmocka_unit_test(the_agent_gets_a_terminal_of_the_box),
                                       cmocka_unit_test(terminals_of_the_host_are_unseen),
                                       cmocka_unit_test(further_programs_join),
                                       cmocka_unit_test(a_failed_join_is_told_and_harmless),
                                       cmocka_unit_test(mapped_ports_are_handed_out),
                                       cmocka_unit_test(many_boxes_start_at_once)};
    return boxtest_main("process", tests, ARRAY_LEN(tests));
}
