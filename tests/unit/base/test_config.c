#include "tests/unit/base/scratch.h"

#include <fcntl.h>

#include "runner/base/config.h"
#include "runner/base/limits.h"

static struct config *parsed(const char *text)
{
    struct err err = ERR_INIT;
    struct config *c = NULL;
    assert_ok(config_parse(&c, text, strlen(text), "test", &err));
    return c;
}

static void values_are_read(void **state)
{
    (void)state;
    AUTO_CONFIG struct config *c = parsed("[Run]\n\tJobs = 4k\n\tjobs = 8\n"
                                          "[box]\n\tnet = a:1\n\tnet = \"b:2 ; x\"\n"
                                          "[agent \"My.Own\"]\n\tmodel = one\\\n two\n"
                                          "[ui]\n\tbell\n\tnotify = off\n");
    assert_int_equal(config_int(c, "run.jobs", 1), 8);
    assert_int_equal(config_int(c, "box.pids", 7), 7);
    assert_string_equal(config_str(c, "agent.My.Own.model", "-"), "one two");
    assert_null(config_str(c, "agent.my.own.model", NULL));
    assert_true(config_bool(c, "ui.bell", false));
    assert_false(config_bool(c, "ui.notify", true));
    AUTO_STRV struct strv list = STRV_INIT;
    config_list(&list, c, "box.net");
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0], "a:1");
    assert_string_equal(list.v[1], "b:2 ; x");
}

static void absent_values_fall_back(void **state)
{
    (void)state;
    AUTO_CONFIG struct config *c = parsed("");
    assert_string_equal(config_str(c, "box.user", "headgate"), "headgate");
    assert_true(config_bool(c, "ui.bell", true));
    assert_false(config_bool(c, "ui.bell", false));
    assert_int_equal(config_int(c, "run.jobs", -3), -3);
}

static void numbers_have_gits_suffixes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } cases[] = {
        {"0", 0},
        {"1k", 1024},
        {"2M", 2 << 20},
        {"3g", INT64_C(3) << 30},
        {"x", -1},
        {"1kb", -1},
        {"", -1},
        {"1 k", -1},
        {"99999999999999999999", -1},
        {"9223372036854775807k", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_CONFIG struct config *c = NULL;
        AUTO_FREE char *text = xasprintf("[run]\njobs = \"%s\"\n", cases[i].text);
        bool ok = config_parse(&c, text, strlen(text), "test", &err);
        assert_int_equal(ok, cases[i].value >= 0);
        assert_int_equal(err.code, ok ? ERR_NONE : ERR_USAGE);
        if (ok)
            assert_int_equal(config_int(c, "run.jobs", -2), cases[i].value);
    }
}

static void mistakes_name_file_and_key(void **state)
{
    (void)state;
    static const struct {
        const char *text, *needle;
    } cases[] = {
        {"[run]\njobz = 1\n", "run.jobz"},
        {"[what]\njobs = 1\n", "what.jobs"},
        {"[agent]\nmodel = x\n", "agent.model"},
        {"[agent \"a\"]\nmodle = x\n", "agent.a.modle"},
        {"[ui]\nbell = maybe\n", "ui.bell"},
        {"[include]\npath = /etc/headgate/config\n", "include.path"},
        {"[includeIf \"gitdir:/\"]\npath = x\n", "includeif.gitdir:/.path"},
        {"[run\njobs = 1\n", "line 1"},
        {"jobs = 1\n", "unknown setting jobs"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct config *c = NULL;
        assert_false(config_parse(&c, cases[i].text, strlen(cases[i].text), "the-file", &err));
        assert_null(c);
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, "the-file"));
        assert_non_null(strstr(err.text, cases[i].needle));
    }
}

static void odd_bytes_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct config *c = NULL;
    assert_false(config_parse(&c, "[run]\0\n", 7, "test", &err));
    assert_int_equal(err.code, ERR_FORMAT);
    AUTO_FREE char *large = xcalloc(1, LIMIT_CONFIG_BYTES + 1);
    memset(large, '\n', LIMIT_CONFIG_BYTES + 1);
    assert_false(config_parse(&c, large, LIMIT_CONFIG_BYTES + 1, "test", &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void nothing_else_has_a_say(void **state)
{
    (void)state;
    setenv("GIT_CONFIG_COUNT", "1", 1);
    setenv("GIT_CONFIG_KEY_0", "run.jobs", 1);
    setenv("GIT_CONFIG_VALUE_0", "77", 1);
    setenv("GIT_CONFIG_PARAMETERS", "'run.jobs=78'", 1);
    setenv("GIT_DIR", "/nonexistent", 1);
    struct err err = ERR_INIT;
    static const char broken[] = "[broken";
    assert_ok(fs_write_plain(AT_FDCWD, ".gitconfig", broken, strlen(broken), 0600, &err));
    AUTO_CONFIG struct config *c = parsed("[box]\npids = 5\n");
    assert_int_equal(config_int(c, "run.jobs", 1), 1);
    assert_int_equal(config_int(c, "box.pids", 1), 5);
}

static void the_users_file_is_loaded(void **state)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *file = fs_join(*state, "headgate-config");
    struct paths paths = {.user_config = file};
    AUTO_CONFIG struct config *absent = NULL, *empty = NULL, *filled = NULL;
    assert_ok(config_load(&absent, &paths, &err));
    assert_ok(fs_write_plain(AT_FDCWD, file, "", 0, 0600, &err));
    assert_ok(config_load(&empty, &paths, &err));
    static const char text[] = "[box]\nuser = somebody\n";
    assert_ok(fs_write_plain(AT_FDCWD, file, text, strlen(text), 0600, &err));
    assert_ok(config_load(&filled, &paths, &err));
    assert_string_equal(config_str(filled, "box.user", "-"), "somebody");
    assert_int_equal(err.code, ERR_NONE);
    assert_ok(fs_write_plain(AT_FDCWD, file, "[x", 2, 0600, &err));
    struct config *broken = NULL;
    assert_false(config_load(&broken, &paths, &err));
    assert_non_null(strstr(err.text, file));
}

static void count_visit(const char *key, const char *value, void *arg)
{
    buf_addf(arg, "%s=%s;", key, value);
}

static void each_entry_is_visited_in_order(void **state)
{
    (void)state;
    AUTO_CONFIG struct config *c = parsed("[box]\nnet = a\npids = 1\nnet = b\n");
    AUTO_BUF struct buf seen = BUF_INIT;
    config_each(c, count_visit, &seen);
    assert_string_equal(seen.ptr, "box.net=a;box.pids=1;box.net=b;");
}

#define CONFIG_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFIG_TEST(values_are_read),
        CONFIG_TEST(absent_values_fall_back),
        CONFIG_TEST(numbers_have_gits_suffixes),
        CONFIG_TEST(mistakes_name_file_and_key),
        CONFIG_TEST(odd_bytes_are_refused),
        CONFIG_TEST(the_users_file_is_loaded),
        CONFIG_TEST(each_entry_is_visited_in_order),
        CONFIG_TEST(nothing_else_has_a_say), /* last: it leaves variables behind */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
