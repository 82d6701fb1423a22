#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/profile.h"
#include "sandbox/toolchain.h"

/* A person's home as version managers lay it out. */
struct person {
    char *home, *private_home;
};

static int set_up(void **state)
{
    char dir[] = "/tmp/headgate-profile-XXXXXX";
    struct person *p = xcalloc(1, sizeof(*p));
    if (!mkdtemp(dir))
        return -1;
    p->home = xstrdup(dir);
    p->private_home = fs_join(dir, "private");
    *state = p;
    return mkdir(p->private_home, 0700);
}

static int tear_down(void **state)
{
    struct person *p = *state;
    struct err err = ERR_INIT;
    if (!fs_remove_tree(AT_FDCWD, p->home, &err))
        return -1;
    free(p->home);
    free(p->private_home);
    free(p);
    return 0;
}

static void folder(const struct person *p, const char *name)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(p->home, name);
    if (!fs_mkdirs(path, 0755, &err))
        fail_msg("%s", err.text);
}

static void program(const struct person *p, const char *name)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(p->home, name);
    AUTO_FREE char *dir = fs_dirname(path);
    if (!fs_mkdirs(dir, 0755, &err) || !fs_write_plain(AT_FDCWD, path, "x", 1, 0755, &err))
        fail_msg("%s", err.text);
}

static void link_to(const struct person *p, const char *name, const char *target)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *path = fs_join(p->home, name);
    AUTO_FREE char *dir = fs_dirname(path);
    if (!fs_mkdirs(dir, 0755, &err) || symlink(target, path) != 0)
        fail_msg("cannot link %s", path);
}

/* The roots found for a PATH of folders below the home, as "inside" or "host>inside", without the
 * home's path. */
static char *roots_of(const struct person *p, const char *folders)
{
    struct toolchains t;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_STRV struct strv names = STRV_INIT;
    AUTO_BUF struct buf path = BUF_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    size_t home_len = strlen(p->home) + 1;
    strv_split(&names, folders, ' ', false);
    for (size_t i = 0; i < names.n; i++)
        buf_addf(&path, "%s/%s:", p->home, names.v[i]);
    buf_adds(&path, "/usr/bin:/bin");
    strv_env_set(&env, "PATH", path.ptr);
    toolchains_find(&t, &env, p->home);
    for (size_t i = 0; i < t.n; i++) {
        const char *host = t.root[i].host, *inside = t.root[i].inside;
        assert_int_equal(strncmp(host, p->home, home_len - 1), 0);
        if (strcmp(host, inside) != 0)
            buf_addf(&text, "%s>", host + home_len);
        buf_addf(&text, "%s\n", inside + home_len);
    }
    toolchains_release(&t);
    return buf_steal(&text);
}

static void expect_roots(void **state, const char *folders, const char *expected)
{
    AUTO_FREE char *got = roots_of(*state, folders);
    assert_string_equal(got, expected);
}

static void nvm(void **state)
{
    program(*state, ".nvm/versions/node/v20.1.0/bin/node");
    program(*state, ".nvm/versions/node/v18.0.0/bin/node");
    link_to(*state, ".nvm/versions/node/v20.1.0/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js");
    expect_roots(state, ".nvm/versions/node/v20.1.0/bin", ".nvm/versions/node/v20.1.0\n");
}

static void fnm_through_a_link_outside(void **state)
{
    program(*state, ".local/share/fnm/node-versions/v20/installation/bin/node");
    link_to(*state, "run/fnm_multishells/77_1",
            "../../.local/share/fnm/node-versions/v20/installation");
    expect_roots(state, "run/fnm_multishells/77_1/bin",
                 ".local/share/fnm/node-versions/v20/installation\n"
                 ".local/share/fnm/node-versions/v20/installation>run/fnm_multishells/77_1\n");
}

static void pyenv(void **state)
{
    program(*state, ".pyenv/shims/python");
    program(*state, ".pyenv/versions/3.12/bin/python");
    expect_roots(state, ".pyenv/shims .pyenv/bin", ".pyenv\n");
}

static void cargo_without_its_credentials(void **state)
{
    program(*state, ".cargo/bin/cargo");
    program(*state, ".cargo/credentials.toml");
    program(*state, ".cargo/config.toml");
    folder(*state, ".cargo/registry");
    folder(*state, ".rustup/toolchains");
    expect_roots(state, ".cargo/bin", ".cargo/bin\n.cargo/config.toml\n.rustup\n");
}

static void local_bin_and_what_its_links_lead_to(void **state)
{
    program(*state, ".local/bin/own");
    program(*state, ".local/share/claude/versions/2.1.332");
    link_to(*state, ".local/bin/claude", "../share/claude/versions/2.1.332");
    program(*state, ".local/share/pipx/venvs/black/bin/black");
    link_to(*state, ".local/bin/black", "../share/pipx/venvs/black/bin/black");
    link_to(*state, ".local/share/pipx/venvs/black/bin/python",
            "../../../../../../.pyenv/versions/3.12/bin/python");
    program(*state, ".pyenv/versions/3.12/bin/python");
    link_to(*state, ".local/bin/gone", "nowhere");
    link_to(*state, ".local/bin/sh", "/bin/sh");
    expect_roots(state, ".local/bin",
                 ".local/bin\n.local/share/claude/versions\n.local/share/pipx/venvs/black\n"
                 ".pyenv/versions/3.12\n");
}

static void the_home_itself_is_never_shown(void **state)
{
    program(*state, "bin/tool");
    program(*state, "go/bin/gopls");
    program(*state, "go/pkg/mod/cache");
    link_to(*state, "bin/odd", "../loose-script");
    program(*state, "loose-script");
    expect_roots(state, "bin go/bin .", "bin\ngo/bin\nloose-script\n");
    AUTO_FREE char *nothing = roots_of(*state, "absent/bin");
    assert_string_equal(nothing, "");
}

static void only_named_variables_pass(void **state)
{
    (void)state;
    static const char *const env[] = {"PATH=/usr/bin",
                                      "LC_TIME=C",
                                      "LC_=x",
                                      "TZ=UTC",
                                      "AWS_SECRET_ACCESS_KEY=k",
                                      "GITHUB_TOKEN=t",
                                      "SSH_AUTH_SOCK=/x",
                                      "DBUS_SESSION_BUS_ADDRESS=x",
                                      "XDG_RUNTIME_DIR=/run/user/1",
                                      "PATHX=1",
                                      "LD_PRELOAD=x.so",
                                      "novalue",
                                      "HOME=/h",
                                      "ANTHROPIC_API_KEY=k",
                                      "CMAKE_GENERATOR=Ninja",
                                      NULL};
    AUTO_STRV struct strv in = STRV_INIT;
    AUTO_STRV struct strv out = STRV_INIT;
    strv_push_all(&in, (char *const *)(uintptr_t)env);
    profile_env_filter(&out, &in);
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < out.n; i++)
        buf_addf(&text, "%s ", out.v[i]);
    assert_string_equal(text.ptr, "PATH=/usr/bin LC_TIME=C LC_=x TZ=UTC CMAKE_GENERATOR=Ninja ");
}

static void the_profile_fills_a_spec(void **state)
{
    const struct person *p = *state;
    struct err err = ERR_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_FREE char *path = xasprintf("PATH=%s/bin:/usr/bin", p->home);
    program(p, "bin/tool");
    strv_push(&env, path);
    strv_push(&env, "SHELL=/home/x/fish");
    strv_push(&env, "CARGO_HOME=/elsewhere");
    box_spec_init(&spec);
    assert_true(profile_apply(&spec, &env, p->home, p->private_home, &err));
    assert_string_equal(spec.home, p->private_home);
    assert_string_equal(spec.home_inside, p->home);
    assert_string_equal(strv_env_get(&spec.env, "HOME"), p->home);
    assert_string_equal(strv_env_get(&spec.env, "TMPDIR"), "/tmp");
    assert_string_equal(strv_env_get(&spec.env, "SHELL"), "/bin/sh");
    AUTO_FREE char *cargo = fs_join(p->home, ".cargo");
    assert_string_equal(strv_env_get(&spec.env, "CARGO_HOME"), cargo);
    assert_int_equal(spec.n_binds, 1);
    assert_int_equal(spec.binds[0].flags, 0);
}

static void a_home_can_be_in_memory(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_BOX_SPEC struct box_spec spec;
    box_spec_init(&spec);
    assert_true(profile_apply(&spec, &env, "/home/person", NULL, &err));
    assert_null(spec.home);
    assert_string_equal(spec.home_inside, "/home/person");
}

static void odd_homes_are_replaced(void **state)
{
    const struct person *p = *state;
    static const char *const odd[] = {"/",    "",    "relative", "/usr/home",
                                      "/etc", "//x", "/a/../b",  "/x/"};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct err err = ERR_INIT;
        AUTO_STRV struct strv env = STRV_INIT;
        AUTO_BOX_SPEC struct box_spec spec;
        box_spec_init(&spec);
        assert_true(profile_apply(&spec, &env, odd[i], p->private_home, &err));
        assert_string_equal(spec.home_inside, "/home/agent");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nvm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fnm_through_a_link_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pyenv, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cargo_without_its_credentials, set_up, tear_down),
        cmocka_unit_test_setup_teardown(local_bin_and_what_its_links_lead_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_home_itself_is_never_shown, set_up, tear_down),
        cmocka_unit_test(only_named_variables_pass),
        cmocka_unit_test_setup_teardown(the_profile_fills_a_spec, set_up, tear_down),
        cmocka_unit_test(a_home_can_be_in_memory),
        cmocka_unit_test_setup_teardown(odd_homes_are_replaced, set_up, tear_down)};
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
