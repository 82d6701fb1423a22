#include "tests/unit/base/scratch.h"

#include <errno.h>
#include <fcntl.h>

#include "runner/base/paths.h"
#include "tests/unit/base/fuse_stub.h"

/* The state folder in ./state, the runtime folder below ./run. */
static int set_up(void **state)
{
    if (scratch_set_up(state) != 0 || mkdir("run", 0700) != 0)
        return -1;
    AUTO_FREE char *run = fs_join(*state, "run");
    AUTO_FREE char *folder = fs_join(*state, "state");
    setenv("XDG_RUNTIME_DIR", run, 1);
    setenv("HEADGATE_STATE", folder, 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    return 0;
}

static void assert_private(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void folders_are_made_and_private(void **state)
{
    struct err err = ERR_INIT;
    AUTO_PATHS struct paths p = {0};
    umask(0);
    assert_ok(paths_init(&p, &err));
    AUTO_FREE char *expected = fs_join(*state, "state");
    AUTO_FREE char *run = fs_join(*state, "run/headgate/");
    assert_string_equal(p.state, expected);
    assert_memory_equal(p.runtime, run, strlen(run));
    assert_int_equal(strlen(p.runtime), strlen(run) + 8);
    const char *const folders[] = {p.state, p.bases, p.attempts, p.runtime, "run/headgate"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_private(folders[i]);
    AUTO_FREE char *config = fs_join(*state, ".config/headgate/config");
    assert_string_equal(p.user_config, config);
    assert_string_equal(p.home, *state);
    AUTO_FREE char *file = paths_attempt_file(&p, "3.2", "log");
    AUTO_FREE char *folder = paths_attempt(&p, "3.2");
    AUTO_FREE char *gate = paths_gate_socket(&p, "3.2");
    AUTO_FREE char *keeper = paths_keeper_socket(&p, "3.2");
    assert_string_equal(fs_basename(file), "log");
    assert_string_equal(fs_basename(folder), "3.2");
    assert_string_equal(fs_basename(gate), "g3.2");
    assert_string_equal(fs_basename(keeper), "k3.2");
    AUTO_PATHS struct paths again = {0};
    assert_ok(paths_init(&again, &err));
    assert_string_equal(again.runtime, p.runtime);
}

static void the_state_follows_the_environment(void **state)
{
    static const struct {
        const char *headgate_state, *xdg_state, *suffix;
    } cases[] = {
        {"/given", "/xdg", "/given"},
        {NULL, "/xdg", "/xdg/headgate/"},
        {"", "/xdg", "/xdg/headgate/"},
        {NULL, NULL, "/.local/state/headgate/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *given = cases[i].headgate_state, *xdg = cases[i].xdg_state;
        AUTO_FREE char *given_path = given && *given ? fs_join(*state, given) : xstrdup("");
        AUTO_FREE char *xdg_path = xdg ? fs_join(*state, xdg) : NULL;
        AUTO_FREE char *expected = fs_join(*state, cases[i].suffix);
        if (given)
            setenv("HEADGATE_STATE", given_path, 1);
        else
            unsetenv("HEADGATE_STATE");
        if (xdg)
            setenv("XDG_STATE_HOME", xdg_path, 1);
        else
            unsetenv("XDG_STATE_HOME");
        struct err err = ERR_INIT;
        AUTO_PATHS struct paths p = {0};
        assert_ok(paths_init(&p, &err));
        assert_memory_equal(p.state, expected, strlen(expected));
    }
}

static void a_relative_state_is_a_usage_error(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct paths p;
    setenv("HEADGATE_STATE", "state", 1);
    assert_false(paths_init(&p, &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_false(fs_exists("state"));
}

static void symlinks_to_the_state_give_one_runtime(void **state)
{
    struct err err = ERR_INIT;
    AUTO_PATHS struct paths direct = {0}, linked = {0};
    assert_ok(paths_init(&direct, &err));
    assert_int_equal(symlink("state", "link"), 0);
    AUTO_FREE char *link = fs_join(*state, "link");
    setenv("HEADGATE_STATE", link, 1);
    assert_ok(paths_init(&linked, &err));
    assert_string_equal(direct.state, linked.state);
    assert_string_equal(direct.runtime, linked.runtime);
}

static void open_folders_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct paths p;
    mkdir("state", 0700);
    chmod("state", 0750);
    assert_false(paths_init(&p, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.text, "chmod 700"));
    chmod("state", 0700);
    mkdir("run/headgate", 0700);
    chmod("run/headgate", 0711);
    assert_false(paths_init(&p, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    rmdir("run/headgate");
    mkdir("elsewhere", 0700);
    assert_int_equal(symlink("../elsewhere", "run/headgate"), 0);
    assert_false(paths_init(&p, &err));
    unlink("run/headgate");
    AUTO_PATHS struct paths fine = {0};
    assert_ok(paths_init(&fine, &err));
}

static void a_file_in_the_way_is_an_error(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct paths p;
    assert_ok(fs_write_plain(AT_FDCWD, "state", "", 0, 0600, &err));
    assert_false(paths_init(&p, &err));
    assert_int_equal(err.sys_errno, ENOTDIR);
}

/* A /tmp of one's own, so that the fallback can be tried without meeting anybody. */
static bool private_tmp(void)
{
    return enter_mount_namespace() &&
           mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
}

static int try_fallback(void)
{
    if (!private_tmp())
        return CHILD_SKIPS;
    struct err err = ERR_INIT;
    struct paths p;
    AUTO_FREE char *mine = xasprintf("/tmp/headgate-%u", geteuid());
    setenv("HEADGATE_STATE", "/tmp/state", 1);
    unsetenv("XDG_RUNTIME_DIR");
    CHILD_ASSERT(paths_init(&p, &err));
    CHILD_ASSERT(strncmp(p.runtime, mine, strlen(mine)) == 0);
    paths_done(&p);
    setenv("XDG_RUNTIME_DIR", "/tmp/absent", 1); /* not usable either */
    CHILD_ASSERT(paths_init(&p, &err));
    CHILD_ASSERT(strncmp(p.runtime, mine, strlen(mine)) == 0);
    paths_done(&p);
    /* Another user was first: with a folder that he owns, or a symlink to one of ours. */
    CHILD_ASSERT(fs_remove_tree(AT_FDCWD, mine, &err));
    CHILD_ASSERT(symlink("/tmp/state", mine) == 0);
    CHILD_ASSERT(!paths_init(&p, &err));
    CHILD_ASSERT(unlink(mine) == 0 && mkdir(mine, 0700) == 0);
    if (geteuid() == 0) {
        CHILD_ASSERT(chown(mine, 12345, 12345) == 0);
        CHILD_ASSERT(!paths_init(&p, &err));
        CHILD_ASSERT(err.code == ERR_REFUSED);
        CHILD_ASSERT(chown(mine, 0, 0) == 0);
    }
    CHILD_ASSERT(chmod(mine, 0777) == 0);
    CHILD_ASSERT(!paths_init(&p, &err));
    CHILD_ASSERT(err.code == ERR_REFUSED);
    return CHILD_OK;
}

static void the_fallback_withstands_others(void **state)
{
    (void)state;
    run_in_child(try_fallback);
}

static int try_long_runtime(void)
{
    if (!private_tmp())
        return CHILD_SKIPS;
    struct err err = ERR_INIT;
    struct paths p;
    char longest[] = "/tmp/dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
    CHILD_ASSERT(mkdir(longest, 0700) == 0);
    setenv("HEADGATE_STATE", "/tmp/state", 1);
    setenv("XDG_RUNTIME_DIR", longest, 1);
    CHILD_ASSERT(paths_init(&p, &err));
    AUTO_FREE char *gate = paths_gate_socket(&p, "10000.10000");
    CHILD_ASSERT(strlen(gate) <= 107);
    CHILD_ASSERT(strncmp(gate, longest, strlen(longest)) != 0);
    paths_done(&p);
    return CHILD_OK;
}

static void socket_names_always_fit(void **state)
{
    (void)state;
    run_in_child(try_long_runtime);
}

static int try_network_state(void)
{
    struct err err = ERR_INIT;
    struct paths p;
    if (!private_tmp() || mkdir("/tmp/remote", 0700) != 0 ||
        !fuse_stub_mount("/tmp/remote", "sshfs"))
        return CHILD_SKIPS;
    setenv("HEADGATE_STATE", "/tmp/remote/a/b", 1);
    CHILD_ASSERT(!paths_init(&p, &err));
    CHILD_ASSERT(err.code == ERR_REFUSED);
    CHILD_ASSERT(strstr(err.text, "fuse.sshfs") != NULL);
    return CHILD_OK;
}

static void network_state_is_refused(void **state)
{
    (void)state;
    run_in_child(try_network_state);
}

static int try_read_only_state(void)
{
    struct err err = ERR_INIT;
    struct paths p;
    if (!private_tmp())
        return CHILD_SKIPS;
    setenv("HEADGATE_STATE", "/tmp/ro", 1);
    CHILD_ASSERT(paths_init(&p, &err));
    paths_done(&p);
    CHILD_ASSERT(mount("/tmp/ro", "/tmp/ro", NULL, MS_BIND, NULL) == 0);
    CHILD_ASSERT(mount(NULL, "/tmp/ro", NULL,
                       MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0);
    CHILD_ASSERT(!paths_init(&p, &err));
    CHILD_ASSERT(err.sys_errno == EROFS);
    CHILD_ASSERT(strstr(err.text, "HEADGATE_STATE") != NULL);
    return CHILD_OK;
}

static void read_only_state_is_an_error(void **state)
{
    (void)state;
    run_in_child(try_read_only_state);
}

static void programs_are_found_beside_this_one(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_FREE char *self = fs_realpath("/proc/self/exe", &err);
    AUTO_FREE char *found = paths_program(fs_basename(self), &err);
    assert_string_equal(found, self);
    assert_null(paths_program("headgate-no-such-program", &err));
    assert_int_equal(err.code, ERR_INTERNAL);
}

#define PATHS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, scratch_tear_down)

/* A cron job has no XDG_RUNTIME_DIR; it must find the sockets of the login that came first. */
static void runtime_folder_is_remembered(void **state)
{
    struct err err = ERR_INIT;
    AUTO_PATHS struct paths login = {0}, cron = {0};
    (void)state;
    assert_ok(paths_init(&login, &err));
    unsetenv("XDG_RUNTIME_DIR");
    assert_ok(paths_init(&cron, &err));
    assert_string_equal(cron.runtime, login.runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PATHS_TEST(folders_are_made_and_private),
        PATHS_TEST(the_state_follows_the_environment),
        PATHS_TEST(a_relative_state_is_a_usage_error),
        PATHS_TEST(symlinks_to_the_state_give_one_runtime),
        PATHS_TEST(open_folders_are_refused),
        PATHS_TEST(a_file_in_the_way_is_an_error),
        PATHS_TEST(the_fallback_withstands_others),
        PATHS_TEST(socket_names_always_fit),
        PATHS_TEST(network_state_is_refused),
        PATHS_TEST(read_only_state_is_an_error),
        PATHS_TEST(programs_are_found_beside_this_one),
        PATHS_TEST(runtime_folder_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
