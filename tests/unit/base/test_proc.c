#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "runner/base/clock.h"
#include "runner/base/proc.h"

/* Run `sh -c script` with the given rest of the command. */
static bool run_sh(struct proc_result *ret, const char *script, struct proc_cmd cmd,
                   struct err *err)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    strv_push_all(&argv, (char *const[]){"sh", "-c", NULL});
    strv_push(&argv, script);
    cmd.argv = &argv;
    return proc_run(ret, &cmd, err);
}

static void status_and_output_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int status;
        const char *out, *errout;
    } cases[] = {
        {"exit 0", 0, "", ""},
        {"echo out; echo err >&2; exit 3", 3, "out\n", "err\n"},
        {"kill -TERM $$", 128 + SIGTERM, "", ""},
        {"cat", 0, "", ""}, /* standard input is empty */
        {"exec >&- 2>&-; exit 4", 4, "", ""},
        /* Not over before the last holder of the pipe has let go. */
        {"(exec 2>&-; read x < /dev/null; echo late) & exit 5", 5, "late\n", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
        assert_ok(run_sh(&r, cases[i].script, (struct proc_cmd){0}, &err));
        assert_int_equal(r.status, cases[i].status);
        assert_string_equal(r.out.ptr, cases[i].out);
        assert_string_equal(r.errout.ptr, cases[i].errout);
    }
}

static void large_input_flows_through(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BUF struct buf input = BUF_INIT;
    for (int i = 0; i < 300000; i++)
        buf_addf(&input, "%d\n", i);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct proc_cmd cmd = {.input = input.ptr, .input_len = input.len};
    assert_ok(run_sh(&r, "cat; cat /dev/null", cmd, &err));
    assert_int_equal(r.out.len, input.len);
    assert_memory_equal(r.out.ptr, input.ptr, input.len);
    assert_ok(run_sh(&r, "exit 7", cmd, &err)); /* unread input is no error */
    assert_int_equal(r.status, 7);
    assert_int_equal(r.out.len, 0);
}

static void descriptors_are_lent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(fs_write_plain(AT_FDCWD, "in", "from a file", 11, 0600, &err));
    AUTO_FD int in = open("in", O_RDONLY | O_CLOEXEC);
    AUTO_FD int out = open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct proc_cmd cmd = {.input_fd = in, .output_fd = out};
    assert_ok(run_sh(&r, "cat; echo e >&2", cmd, &err));
    assert_int_equal(r.out.len, 0);
    assert_string_equal(r.errout.ptr, "e\n");
    AUTO_BUF struct buf written = BUF_INIT;
    assert_ok(fs_read_file(&written, AT_FDCWD, "out", 100, &err));
    assert_string_equal(written.ptr, "from a file");
    assert_true(fcntl(in, F_GETFD) >= 0 && fcntl(out, F_GETFD) >= 0);
}

static void limits_end_the_child(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    assert_false(run_sh(&r, "exec yes", (struct proc_cmd){.max_output_bytes = 1000}, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(r.status, -1);
    assert_ok(run_sh(&r, "printf 12345", (struct proc_cmd){.max_output_bytes = 5}, &err));
    assert_false(run_sh(&r, "printf 123456", (struct proc_cmd){.max_output_bytes = 5}, &err));
    int64_t start = clock_mono_ms();
    assert_false(run_sh(&r, "exec sleep 60", (struct proc_cmd){.timeout_ms = 50}, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    struct proc_cmd session = {.timeout_ms = 50, .new_session = true};
    assert_false(run_sh(&r, "sleep 60; echo", session, &err));
    assert_false(run_sh(&r, "exec >&- 2>&-; sleep 60", session, &err));
    assert_true(clock_mono_ms() - start < 30000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
}

static void only_the_head_of_stderr_is_kept(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    assert_ok(run_sh(&r, "head -c 1000000 /dev/zero >&2; echo end", (struct proc_cmd){0}, &err));
    assert_int_equal(r.errout.len, 64 * 1024);
    assert_string_equal(r.out.ptr, "end\n");
}

static void programs_come_from_the_childs_path(void **state)
{
    struct err err = ERR_INIT;
    assert_ok(fs_mkdirs("bin/folder", 0755, &err));
    static const char script[] = "#!/bin/sh\necho mine $A\n";
    assert_ok(fs_write_plain(AT_FDCWD, "bin/tool", script, strlen(script), 0755, &err));
    assert_ok(fs_write_plain(AT_FDCWD, "bin/plain", script, strlen(script), 0644, &err));
    AUTO_STRV struct strv env = STRV_INIT;
    strv_pushf(&env, "PATH=/nowhere:%s/bin", (const char *)*state);
    strv_push(&env, "A=b");
    static const struct {
        const char *name;
        enum err_code code;
        int sys_errno;
    } cases[] = {
        {"tool", ERR_NONE, 0},           {"bin/tool", ERR_NONE, 0},   {"sh", ERR_NOT_FOUND, 0},
        {"plain", ERR_SYS, EACCES},      {"folder", ERR_SYS, EACCES}, {"", ERR_NOT_FOUND, 0},
        {"bin/absent", ERR_SYS, ENOENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_STRV struct strv argv = STRV_INIT;
        strv_push(&argv, cases[i].name);
        AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
        struct proc_cmd cmd = {.argv = &argv, .env = &env};
        err = (struct err)ERR_INIT;
        assert_int_equal(proc_run(&r, &cmd, &err), cases[i].code == ERR_NONE);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.sys_errno, cases[i].sys_errno);
        if (cases[i].code == ERR_NONE)
            assert_string_equal(r.out.ptr, "mine b\n");
    }
}

static void the_folder_is_the_commands(void **state)
{
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    mkdir("sub", 0755);
    assert_ok(run_sh(&r, "pwd", (struct proc_cmd){.cwd = "sub"}, &err));
    AUTO_FREE char *expected = xasprintf("%s/sub\n", (const char *)*state);
    assert_string_equal(r.out.ptr, expected);
    assert_false(run_sh(&r, "pwd", (struct proc_cmd){.cwd = "absent"}, &err));
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.text, "absent"));
}

static int run_with_odd_signals(void)
{
    struct err err = ERR_INIT;
    sigset_t all;
    sigfillset(&all);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    CHILD_ASSERT(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    strv_push_all(&argv, (char *const[]){"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL});
    CHILD_ASSERT(proc_run(&r, &(struct proc_cmd){.argv = &argv}, &err));
    /* glibc's posix_spawn ignores the two signals that it keeps for itself, 32 and 33. */
    CHILD_ASSERT(strcmp(r.out.ptr, "SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n") == 0);
    return CHILD_OK;
}

static void signals_are_back_to_default(void **state)
{
    (void)state;
    run_in_child(run_with_odd_signals);
}

static void no_descriptor_leaks_into_the_child(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_FD int leaky = open("/dev/null", O_RDONLY); /* deliberately without O_CLOEXEC */
    assert_true(leaky > 2);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_STRV struct strv argv = STRV_INIT;
    strv_push_all(&argv, (char *const[]){"ls", "/proc/self/fd", NULL});
    assert_ok(proc_run(&r, &(struct proc_cmd){.argv = &argv}, &err));
    assert_string_equal(r.out.ptr, "0\n1\n2\n3\n"); /* 3 is ls reading the folder */
}

static int run_with_nothing_open(void)
{
    struct err err = ERR_INIT;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct proc_cmd cmd = {.input = "in", .input_len = 2};
    CHILD_ASSERT(run_sh(&r, "cat; echo err >&2", cmd, &err));
    CHILD_ASSERT(strcmp(r.out.ptr, "in") == 0);
    CHILD_ASSERT(strcmp(r.errout.ptr, "err\n") == 0);
    return CHILD_OK;
}

static void closed_standard_descriptors_do_no_harm(void **state)
{
    (void)state;
    run_in_child(run_with_nothing_open);
}

static void sessions_are_new_when_asked(void **state)
{
    (void)state;
    static const char script[] = "read -r a b c d e f rest < /proc/$$/stat; test $$ = $f";
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    assert_ok(run_sh(&r, script, (struct proc_cmd){.new_session = true}, &err));
    assert_int_equal(r.status, 0);
    assert_ok(run_sh(&r, script, (struct proc_cmd){0}, &err));
    assert_int_equal(r.status, 1);
}

static void identity_outlives_the_pid(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct proc_id self, child;
    assert_ok(proc_id_of(&self, getpid(), &err));
    assert_true(proc_id_alive(&self));
    assert_int_equal(strlen(self.boot_id), 36);
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_ok(proc_id_of(&child, pid, &err));
    assert_true(proc_id_alive(&child));
    struct proc_id other = child;
    other.start_ticks++;
    assert_false(proc_id_alive(&other));
    other = child;
    other.boot_id[0] ^= 1;
    assert_false(proc_id_alive(&other));
    kill(pid, SIGKILL);
    AUTO_FD int pidfd = proc_pidfd(pid);
    struct pollfd fd = {.fd = pidfd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 30000), 1);
    assert_false(proc_id_alive(&child)); /* a zombie */
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(proc_exit_code(status), 128 + SIGKILL);
    assert_false(proc_id_alive(&child));
    assert_false(proc_id_of(&child, pid, &err));
    assert_int_equal(proc_pidfd(pid), -1);
    assert_false(proc_id_alive(&(struct proc_id){0}));
}

#define PROC_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROC_TEST(status_and_output_come_back),
        PROC_TEST(large_input_flows_through),
        PROC_TEST(descriptors_are_lent),
        PROC_TEST(limits_end_the_child),
        PROC_TEST(only_the_head_of_stderr_is_kept),
        PROC_TEST(programs_come_from_the_childs_path),
        PROC_TEST(the_folder_is_the_commands),
        PROC_TEST(signals_are_back_to_default),
        PROC_TEST(no_descriptor_leaks_into_the_child),
        PROC_TEST(closed_standard_descriptors_do_no_harm),
        PROC_TEST(sessions_are_new_when_asked),
        PROC_TEST(identity_outlives_the_pid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
