#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gate/lexpath.h"
#include "runner/base/mem.h"

static void resolves(void **state)
{
    (void)state;
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"a", "/w/x/a"},
        {"./a/./b/", "/w/x/a/b"},
        {"../a", "/w/a"},
        {"../../../a", "/a"},
        {"/a//b/../c", "/a/c"},
        {"/..", "/"},
        {"/", "/"},
        {"", "/w/x"},
        {".", "/w/x"},
        {"~", "/home/u"},
        {"~/a", "/home/u/a"},
        {"~u/a", "/w/x/~u/a"},
        {"a/~/b", "/w/x/a/~/b"},
        {"...", "/w/x/..."},
        {"..a", "/w/x/..a"},
        {"~/../x", "/home/x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf got = BUF_INIT;
        lexpath_resolve(&got, "/w/x", "/home/u", rows[i].path);
        assert_string_equal(got.ptr, rows[i].want);
        assert_int_equal(got.len, strlen(rows[i].want));
    }
}

static void compares(void **state)
{
    (void)state;
    assert_true(lexpath_is_below("/w/a", "/w"));
    assert_true(lexpath_is_below("/w", "/w"));
    assert_true(lexpath_is_below("/w/a", "/w/"));
    assert_true(lexpath_is_below("/w", "/"));
    assert_false(lexpath_is_below("/wx", "/w"));
    assert_false(lexpath_is_below("/", "/w"));
    assert_false(lexpath_is_below("/w", ""));
    assert_string_equal(lexpath_below("/w/a/b", "/w"), "a/b");
    assert_string_equal(lexpath_below("/w", "/w"), "");
}

static void finds_components(void **state)
{
    (void)state;
    static const struct {
        const char *path, *pattern;
        bool has;
    } rows[] = {
        {".git", ".git", true},
        {".git/config", ".git", true},
        {"sub/.git/hooks/x", ".git", true},
        {".gitignore", ".git", false},
        {"x.git", ".git", false},
        {".github/workflows/ci.yml", ".github/workflows", true},
        {".github/dependabot.yml", ".github/workflows", false},
        {"a/.github/workflows", ".github/workflows", true},
        {".claude/settings.json", ".claude/settings*", true},
        {".claude/settings.local.json", ".claude/settings*", true},
        {".claude/commands/x.md", ".claude/settings*", false},
        {".devcontainer.json", ".devcontainer*", true},
        {"", ".git", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (lexpath_has(rows[i].path, rows[i].pattern) != rows[i].has)
            fail_msg("%s in %s", rows[i].pattern, rows[i].path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(resolves), cmocka_unit_test(compares),
                                       cmocka_unit_test(finds_components)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
