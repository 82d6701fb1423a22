#include "tests/unit/sandbox/boxtest.h"

#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

#define SECRET "s3cr3t-of-the-set-up"

static void set_setup(struct box_spec *spec, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-e", "-c", script, NULL};
    strv_push_all(&spec->setup, (char *const *)(uintptr_t)argv);
}

/* Every environment, command line and readable memory file of the box, its temporary folders, and
 * what the shell itself has. */
static const char search[] =
    "for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ; do\n"
    "  if tr '\\0' '\\n' <\"$f\" 2>/dev/null | grep -q 's3cr3t[-]of'; then echo \"found $f\"; fi\n"
    "done\n"
    "grep -rl 's3cr3t[-]of' /tmp /dev/shm /run /etc 2>/dev/null\n"
    "for f in /proc/1/mem /proc/1/maps /proc/1/environ /proc/1/fd /proc/1/map_files; do\n"
    "  if ls \"$f\"/* >/dev/null 2>&1 || head -c 1 \"$f\" >/dev/null 2>&1; then\n"
    "    case $f in */environ) [ ! -s $f ] || echo \"readable $f\" ;; *) echo \"readable $f\" ;; "
    "esac\n"
    "  fi\n"
    "done\n"
    "echo \"searched[$TOKEN]\"; ";

static void a_secret_reaches_the_setup_alone(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    strv_push(&spec.env, "COMMON=c");
    strv_push(&spec.setup_env, "TOKEN=" SECRET);
    set_setup(&spec, "echo \"set-up has $TOKEN $COMMON\" | sed s/3cr3t// ; setsid sleep 1000 & "
                     "sleep 1000 & (trap '' TERM HUP; exec sleep 1000) & echo made >/tmp/made");
    AUTO_FREE char *script = xasprintf("%s cat /tmp/made; pgrep -c sleep", search);
    int status;
    AUTO_FREE char *out = boxtest_sh(&status, &spec, script);
    assert_string_equal(out, "set-up has s-of-the-set-up c\nsearched[]\nmade\n0");
}

/* The control of the search: with the variable given to all, it finds it; and without a secret what
 * the set-up left running stays. */
static void what_is_no_secret_stays(void **state)
{
    (void)state;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    strv_push(&spec.env, "TOKEN=" SECRET);
    set_setup(&spec, "setsid sleep 1000 &");
    AUTO_FREE char *script = xasprintf("%s pgrep -c sleep", search);
    AUTO_FREE char *out = boxtest_sh(NULL, &spec, script);
    assert_non_null(strstr(out, "found /proc/"));
    assert_non_null(strstr(out, "searched[" SECRET "]\n1"));
}

static void a_setup_that_fails_is_the_end(void **state)
{
    (void)state;
    static const char *const scripts[] = {"exit 7", "false; true", "kill -9 $$"};
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        int status;
        AUTO_BOX_SPEC struct box_spec spec;
        boxtest_spec(&spec);
        set_setup(&spec, scripts[i]);
        AUTO_FREE char *out = boxtest_sh(&status, &spec, "echo the agent ran");
        assert_int_equal(status, 1);
        assert_string_equal(out, "");
    }
}

static void set_teardown(struct box_spec *spec, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-e", "-c", script, NULL};
    strv_push_all(&spec->teardown, (char *const *)(uintptr_t)argv);
}

/* However the agent ends, and whatever becomes of it itself. */
static void a_teardown_is_last_and_the_status_is_the_agents(void **state)
{
    (void)state;
    static const struct {
        const char *agent, *teardown, *out;
        int status;
    } cases[] = {
        {"echo a; echo made >/tmp/made; exit 7", "cat /tmp/made; echo \"[$TOKEN]\"", "a\nmade\n[]",
         7},
        {"echo a; kill -9 $$", "echo down", "a\ndown", 137},
        {"echo a", "echo down; exit 3", "a\ndown", 0},
        {"echo a; sleep 1000 & exit 0", "pgrep -c sleep", "a\n1", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int status;
        AUTO_BOX_SPEC struct box_spec spec;
        boxtest_spec(&spec);
        set_setup(&spec, "true");
        strv_push(&spec.setup_env, "TOKEN=" SECRET);
        set_teardown(&spec, cases[i].teardown);
        AUTO_FREE char *out = boxtest_sh(&status, &spec, cases[i].agent);
        assert_string_equal(out, cases[i].out);
        assert_int_equal(status, cases[i].status);
    }
}

static void nothing_is_torn_down_that_was_not_set_up(void **state)
{
    (void)state;
    int status;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    set_setup(&spec, "exit 3");
    set_teardown(&spec, "echo down");
    AUTO_FREE char *out = boxtest_sh(&status, &spec, "echo a");
    assert_string_equal(out, "");
    assert_int_equal(status, 1);
}

static void a_setup_program_that_is_absent(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    strv_push(&spec.setup, "no-such-program");
    boxtest_expect_failure(&err, &spec);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* Both get the box's one terminal, one after the other, and the agent waits for its own go. */
static void set_up_and_agent_share_the_terminal(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live b;
    AUTO_BOX_SPEC struct box_spec spec;
    boxtest_spec(&spec);
    spec.pty = true;
    strv_push(&spec.setup_env, "TOKEN=x");
    set_setup(&spec, "tty; echo a set-up >/dev/tty");
    const char *const argv[] = {"/bin/sh", "-c", "tty; echo an agent >/dev/tty; exit 3", NULL};
    strv_push_all(&spec.argv, (char *const *)(uintptr_t)argv);
    boxtest_start(&b, &spec, NULL);
    boxtest_await(&b, BOX_MSG_PTY);
    AUTO_FD int pty = b.last.fd;
    assert_true(box_go(b.child.ctl_fd, &err));
    boxtest_await(&b, BOX_MSG_STARTED);
    boxtest_await(&b, BOX_MSG_SET_UP);
    boxtest_read_until(pty, "/dev/pts/0\r\na set-up");
    assert_true(box_go(b.child.ctl_fd, &err));
    boxtest_read_until(pty, "/dev/pts/0\r\nan agent");
    boxtest_await(&b, BOX_MSG_EXITED);
    assert_int_equal(b.last.status, 3);
    assert_int_equal(boxtest_reap(&b), 3);
}

/* Nobody joins while the set-up has secrets. */
static void no_program_joins_the_setup(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct boxtest_live b;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    boxtest_spec(&spec);
    strv_push(&spec.setup_env, "TOKEN=x");
    set_setup(&spec, "sleep 1000");
    strv_push(&spec.argv, "/bin/true");
    boxtest_start(&b, &spec, NULL);
    assert_true(box_go(b.child.ctl_fd, &err));
    boxtest_await(&b, BOX_MSG_STARTED);
    strv_push(&argv, "/bin/true");
    assert_true(box_join(b.child.ctl_fd, 5, &argv, &env, "/", 80, 24, &err));
    struct boxtest_live *live = &b;
    for (;;) {
        if (!box_recv(&live->last, b.child.ctl_fd, &err))
            fail_msg("%s", err.text);
        if (live->last.kind == BOX_MSG_FAILED)
            break;
        assert_int_not_equal(live->last.kind, BOX_MSG_CLOSED);
    }
    assert_int_equal(b.last.id, 5);
    assert_int_equal(b.last.error.code, ERR_CONFLICT);
    assert_true(box_signal(b.child.ctl_fd, 0, 9, &err));
    assert_int_equal(boxtest_reap(&b), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_reaches_the_setup_alone),
        cmocka_unit_test(what_is_no_secret_stays),
        cmocka_unit_test(a_setup_that_fails_is_the_end),
        cmocka_unit_test(a_teardown_is_last_and_the_status_is_the_agents),
        cmocka_unit_test(nothing_is_torn_down_that_was_not_set_up),
        cmocka_unit_test(a_setup_program_that_is_absent),
        cmocka_unit_test(set_up_and_agent_share_the_terminal),
        cmocka_unit_test(no_program_joins_the_setup)};
    return boxtest_main("box set-up", tests, ARRAY_LEN(tests));
}
