/*
 * What needs no repository: names, links, and the lines that a box prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/mem.h"
#include "worktree/harvest_box.h"
#include "worktree/refs.h"
#include "worktree/review.h"
#include "worktree/treepath.h"

static void ref_names_as_git_has_them(void **state)
{
    (void)state;
    static const char *const good[] = {"main",     "a/b", "headgate/3/2", "x.y", "a-b",
                                       "\303\244", "@x"};
    static const char *const bad[] = {"",     "/a",     "a/",   "a//b",  ".a",      "a/.b",
                                      "a..b", "a.lock", "a.",   "a b",   "a~b",     "a^b",
                                      "a:b",  "a?b",    "a*b",  "a[b",   "a\\b",    "a@{b",
                                      "@",    "-a",     "a\nb", "a\177", "x/y.lock"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(refs_is_valid_name(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(refs_is_valid_name(bad[i]));
}

static void links_that_stay_and_links_that_leave(void **state)
{
    (void)state;
    const struct {
        const char *path, *target;
        bool stays;
    } cases[] = {
        {"l", "a", true},
        {"l", "a/b", true},
        {"a/b/d", "../..", true},
        {"l", "a/b/d/../..", false}, /* through the link of the line before: above the top */
        {"l", "a/../b", false},
        {"d/l", "../a", true},
        {"d/l", "./../a/", true},
        {"l", "..", false},
        {"d/l", "../..", false},
        {"l", "/etc/passwd", false},
        {"d/l", "a/../../../x", false},
        {"l", "", false},
        {"l", "...", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(treepath_link_stays(cases[i].path, cases[i].target), cases[i].stays);
}

static void reasons_by_path(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {".github/workflows/x.yml", "ci"},
        {"sub/.github/workflows/x.yml", NULL},
        {".GitHub/Workflows/x.yml", "ci"},
        {"Jenkinsfile", "ci"},
        {"a/jenkinsfile", "ci"},
        {".husky/pre-commit", "hooks"},
        {"my/hooks/pre-push", "hooks"},
        {"my/hooks-not/pre-push", NULL},
        {"a/.claude/settings.json", "agent settings"},
        {"AGENTS.md", "agent settings"},
        {".vscode/tasks.json", "editor settings"},
        {".envrc", "shell settings"},
        {"Makefile", NULL},
        {"CMakeLists.txt", NULL},
        {"claude/x", NULL},
        {".gitmodules", "submodules"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *why = review_reason_of_path(cases[i][0], "my/hooks/");
        assert_int_equal(!why, !cases[i][1]);
        if (why)
            assert_string_equal(why, cases[i][1]);
    }
}

#define OID "0123456789abcdef0123456789abcdef01234567"

static bool parse(struct harvest_box *b, const char *text, size_t *pack_at)
{
    struct err err = ERR_INIT;
    return harvest_box_parse(b, pack_at, text, strlen(text), 40, &err);
}

static void takes_a_boxs_lines_apart(void **state)
{
    (void)state;
    AUTO_HARVEST_BOX struct harvest_box b = HARVEST_BOX_INIT;
    size_t at = 0;
    static const char text[] =
        "headgate-harvest 1\nhead " OID "\nsnapshot -\nref " OID " refs/tags/v1\nref " OID
        " refs/heads/a\nref " OID " refs/notes/x\nstash " OID "\nworktree " OID
        "\nnested n\nclosed a b\npartial\nnote odd\033name\nend\nPACK";
    assert_true(parse(&b, text, &at));
    assert_string_equal(b.head, OID);
    assert_string_equal(b.snapshot, "");
    assert_int_equal(b.refs.n, 5);
    assert_string_equal(b.refs.v[0].name, "refs/heads/a");
    assert_non_null(refs_find(&b.refs, "refs/stash/0"));
    assert_non_null(refs_find(&b.refs, "refs/worktrees/0"));
    assert_non_null(refs_find(&b.refs, "refs/other/notes/x"));
    assert_string_equal(b.unread.nested.v[0], "n");
    assert_string_equal(b.unread.closed.v[0], "a b");
    assert_true(b.is_partial);
    assert_string_equal(b.note.ptr, "odd\\ename");
    assert_string_equal(text + at, "PACK");
}

static void refuses_other_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "head " OID,
        "head " OID "0\nend\n",
        "head 0123\nend\n",
        "head ../../x\nend\n",
        "ref " OID "\nend\n",
        "ref " OID " HEAD\nend\n",
        "ref " OID " refs/heads/\nend\n",
        "ref " OID " refs/heads/a..b\nend\n",
        "ref " OID " notes/refs/x\nend\n",
        "worktree x\nend\n",
        "partial yes\nend\n",
        "ref - refs/heads/a\nend\n",
        "stash x\nend\n",
        "surprise\nend\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        AUTO_HARVEST_BOX struct harvest_box b = HARVEST_BOX_INIT;
        AUTO_FREE char *text = xasprintf("headgate-harvest 1\n%s", lines[i]);
        size_t at = 0;
        assert_false(parse(&b, text, &at));
        assert_int_equal(b.refs.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_names_as_git_has_them),
        cmocka_unit_test(links_that_stay_and_links_that_leave),
        cmocka_unit_test(reasons_by_path),
        cmocka_unit_test(takes_a_boxs_lines_apart),
        cmocka_unit_test(refuses_other_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
