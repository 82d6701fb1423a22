#include "tests/unit/sandbox/boxtest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { LAUNCHER_MAX_BYTES = 64 * 1024 * 1024 };

static struct boxtest fixture;
/* Opened as whoever started us: the build folder may lie where an ordinary user cannot go. */
static int launcher_fd = -1;

const struct boxtest *boxtest(void)
{
    return &fixture;
}

static void give(const char *path)
{
    if (fixture.is_root)
        assert_int_equal(chown(path, fixture.uid, fixture.gid), 0);
}

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf program = BUF_INIT;
    char dir[] = "/tmp/headgate-boxtest-XXXXXX";
    (void)state;
    umask(022);
    fixture.is_root = geteuid() == 0;
    fixture.uid = fixture.is_root ? BOXTEST_UID : geteuid();
    fixture.gid = fixture.is_root ? BOXTEST_UID : getegid();
    if (!mkdtemp(dir) || chmod(dir, 0755) != 0)
        return -1;
    fixture.dir = xstrdup(dir);
    fixture.launcher = fs_join(dir, "headgate-box");
    if (lseek(launcher_fd, 0, SEEK_SET) != 0 ||
        !fs_read_fd(&program, launcher_fd, LAUNCHER_MAX_BYTES, &err) ||
        !fs_write_plain(AT_FDCWD, fixture.launcher, program.ptr, program.len, 0755, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    fixture.work = boxtest_folder(dir, "work");
    return 0;
}

static int tear_down(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    if (!fs_remove_tree(AT_FDCWD, fixture.dir, &err))
        fprintf(stderr, "%s\n", err.text);
    free(fixture.dir);
    free(fixture.work);
    free(fixture.launcher);
    return err.code == ERR_NONE ? 0 : -1;
}

static int run_group(const char *name, const char *who, const struct CMUnitTest *tests, size_t n)
{
    AUTO_FREE char *full = xasprintf("%s as %s", name, who);
    return _cmocka_run_group_tests(full, tests, n, set_up, tear_down);
}

static int run_as_user(const char *name, const struct CMUnitTest *tests, size_t n)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(BOXTEST_UID, BOXTEST_UID, BOXTEST_UID) != 0 ||
            setresuid(BOXTEST_UID, BOXTEST_UID, BOXTEST_UID) != 0 ||
            prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) !=
                0) /* as after an exec: its /proc files are its own */
            _exit(99);
        int failed = run_group(name, "a user", tests, n);
        fflush(NULL);
        _exit(failed ? 1 : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return status != 0;
}

int boxtest_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
    launcher_fd = open(BOXTEST_LAUNCHER, O_RDONLY | O_CLOEXEC);
    if (launcher_fd < 0) {
        perror(BOXTEST_LAUNCHER);
        return 1;
    }
    if (geteuid() != 0)
        return run_group(name, "a user", tests, n);
    int failed = run_as_user(name, tests, n);
    return run_group(name, "root", tests, n) || failed;
}

void boxtest_spec(struct box_spec *spec)
{
    box_spec_init(spec);
    spec->uid = fixture.uid;
    spec->gid = fixture.gid;
    spec->cwd = xstrdup("/");
    strv_push(&spec->env, "PATH=/usr/bin:/bin");
    strv_push(&spec->env, "LC_ALL=C.UTF-8");
    box_spec_bind(spec, fixture.launcher, BOXTEST_PROBE, 0);
}

static char *run(int *ret_status, const struct box_spec *spec)
{
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = BOXTEST_TIMEOUT_MS};
    if (!box_run(&result, NULL, fixture.launcher, spec, &cmd, &err))
        fail_msg("%s", err.text);
    if (result.errout.len)
        print_message("%s", result.errout.ptr);
    if (ret_status)
        *ret_status = result.status;
    else
        assert_int_equal(result.status, 0);
    if (result.out.len > 0 && result.out.ptr[result.out.len - 1] == '\n')
        result.out.ptr[--result.out.len] = '\0';
    return buf_steal(&result.out);
}

/* The spec is borrowed and const: only its command is exchanged for the time of the call. */
char *boxtest_argv(int *ret_status, const struct box_spec *spec, const char *const *argv)
{
    struct box_spec with = *spec;
    with.argv = (struct strv)STRV_INIT;
    strv_push_all(&with.argv, (char *const *)(uintptr_t)argv);
    char *out = run(ret_status, &with);
    strv_release(&with.argv);
    return out;
}

char *boxtest_sh(int *ret_status, const struct box_spec *spec, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return boxtest_argv(ret_status, spec, argv);
}

char *boxtest_try(const struct box_spec *spec, const char *attempt)
{
    const char *const argv[] = {BOXTEST_PROBE, "--probe", attempt, NULL};
    return boxtest_argv(NULL, spec, argv);
}

void boxtest_expect(const struct box_spec *spec, const char *attempt, const char *expected)
{
    AUTO_FREE char *got = boxtest_try(spec, attempt);
    if (strcmp(got, expected) != 0)
        fail_msg("%s came out as %s, not %s", attempt, got, expected);
}

void boxtest_expect_failure(struct err *ret, const struct box_spec *spec)
{
    struct err err = ERR_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    const struct proc_cmd cmd = {.timeout_ms = BOXTEST_TIMEOUT_MS};
    struct box_spec with = *spec;
    if (spec->argv.n == 0)
        strv_push(&with.argv, "true");
    if (box_run(&result, NULL, fixture.launcher, &with, &cmd, &err))
        fail_msg("a box came about that should not");
    if (spec->argv.n == 0)
        strv_release(&with.argv);
    *ret = err;
}

char *boxtest_file(const char *folder, const char *name, const char *text)
{
    struct err err = ERR_INIT;
    char *path = fs_join(folder, name);
    if (!fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, &err))
        fail_msg("%s", err.text);
    give(path);
    return path;
}

char *boxtest_folder(const char *folder, const char *name)
{
    char *path = fs_join(folder, name);
    if (mkdir(path, 0755) != 0)
        fail_msg("cannot create %s", path);
    give(path);
    return path;
}

void boxtest_start(struct boxtest_live *ret, const struct box_spec *spec, const int std_fds[3])
{
    struct err err = ERR_INIT;
    AUTO_BUF struct buf plan = BUF_INIT;
    const int standard[3] = {0, 1, 2};
    if (!box_plan(&plan, spec, &err) ||
        !box_spawn(&ret->child, fixture.launcher, &plan, std_fds ? std_fds : standard, &err))
        fail_msg("%s", err.text);
    ret->last = (struct box_msg){.fd = -1};
}

void boxtest_await(struct boxtest_live *b, enum box_msg_kind kind)
{
    struct err err = ERR_INIT;
    for (;;) {
        struct pollfd p = {.fd = b->child.ctl_fd, .events = POLLIN};
        if (poll(&p, 1, BOXTEST_TIMEOUT_MS) != 1)
            fail_msg("no message %d came", (int)kind);
        if (!box_recv(&b->last, b->child.ctl_fd, &err))
            fail_msg("%s", err.text);
        if (b->last.kind == kind)
            return;
        if (b->last.kind == BOX_MSG_FAILED)
            fail_msg("%s", b->last.error.text);
        if (b->last.kind == BOX_MSG_CLOSED)
            fail_msg("the box ended before message %d", (int)kind);
        if (b->last.fd >= 0)
            close(b->last.fd);
    }
}

int boxtest_reap(struct boxtest_live *b)
{
    int status;
    while (waitpid(b->child.pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    box_close(&b->child);
    return proc_exit_code(status);
}

void boxtest_read_until(int fd, const char *text)
{
    AUTO_BUF struct buf seen = BUF_INIT;
    while (!strstr(seen.ptr, text)) {
        char c; /* one at a time: what follows is for the next call */
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, BOXTEST_TIMEOUT_MS) != 1)
            fail_msg("\"%s\" never came, but \"%s\"", text, seen.ptr);
        if (read(fd, &c, 1) != 1)
            fail_msg("the end came before \"%s\", after \"%s\"", text, seen.ptr);
        buf_addch(&seen, c);
    }
}
