#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool open_at(const struct fixture *f, const char *below, struct wt_repo *ret,
                    struct err *err)
{
    AUTO_FREE char *path = fs_join(f->root, below);
    return wt_repo_open(ret, path, err);
}

static void opens_the_kinds_of_repositories(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    free(
        sh(f, NULL,
           "git clone -q --bare repo bare.git; git clone -q --depth 1 file://%s/repo shallow; "
           "git init -q --object-format=sha256 big; git -C repo worktree add -q -b side ../linked; "
           "mkdir -p 'repo/a b/deep'; git clone -q repo \"$(printf 'new\\nline')\"; "
           "git -C linked checkout -q --detach",
           f->root));
    const struct {
        const char *path, *subdir, *head, *format;
        bool is_bare, is_shallow;
    } cases[] = {
        {"repo", "", "refs/heads/main", "sha1", false, false},
        {"repo/a b/deep", "a b/deep", "refs/heads/main", "sha1", false, false},
        {"bare.git", "", "refs/heads/main", "sha1", true, false},
        {"shallow", "", "refs/heads/main", "sha1", false, true},
        {"big", "", "refs/heads/main", "sha256", false, false},
        {"linked", "", NULL, "sha1", false, false},
        {"new\nline", "", "refs/heads/main", "sha1", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
        assert_ok(open_at(f, cases[i].path, &repo, &err), &err);
        assert_string_equal(repo.subdir, cases[i].subdir);
        assert_string_equal(repo.object_format, cases[i].format);
        assert_int_equal(repo.is_bare, cases[i].is_bare);
        assert_int_equal(repo.is_shallow, cases[i].is_shallow);
        assert_int_equal(!repo.head_ref, !cases[i].head);
        if (cases[i].head)
            assert_string_equal(repo.head_ref, cases[i].head);
        assert_int_equal(!repo.toplevel, cases[i].is_bare);
        assert_true(fs_is_dir(repo.common_dir) && fs_is_dir(repo.git_dir));
    }
    AUTO_WT_REPO struct wt_repo linked = WT_REPO_INIT;
    assert_ok(open_at(f, "linked", &linked, &err), &err);
    assert_string_not_equal(linked.common_dir, linked.git_dir);
}

static void one_clear_sentence_each(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL, "mkdir plain; mkdir -p repo/.git/x"));
    const struct {
        const char *path;
        enum err_code code;
        const char *says;
    } cases[] = {
        {"plain", ERR_NOT_FOUND, "git init"},
        {"nowhere", ERR_NOT_FOUND, "does not exist"},
        {"repo/.git", ERR_USAGE, "name its working tree"},
        {"repo/src/one.c", ERR_SYS, "one.c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
        assert_false(open_at(f, cases[i].path, &repo, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_has(err.text, cases[i].says);
        assert_null(repo.common_dir);
    }
}

static void an_unreadable_repository_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    if (geteuid() != 0) {
        in_repo(f, "chmod 000 .git/HEAD .git/objects .git/refs");
        assert_false(wt_repo_open(&repo, f->repo, &err));
        in_repo(f, "chmod 755 .git/objects .git/refs && chmod 644 .git/HEAD");
        return;
    }
    in_repo(f, "chown -R 65534 .");
    assert_false(wt_repo_open(&repo, f->repo, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "safe.directory");
}

static void resolves_names(void **state)
{
    struct fixture *f = *state;
    in_repo(f, "git tag -a -m t v1 && git branch other && git commit -q --allow-empty -m second");
    AUTO_FREE char *first = sh(f, f->repo, "git rev-parse other");
    AUTO_FREE char *second = sh(f, f->repo, "git rev-parse main");
    AUTO_FREE char *abbreviated = xstrndup(first, 10);
    const struct {
        const char *rev, *oid, *subject;
    } cases[] = {
        {NULL, second, "second"},    {"", second, "second"},     {"other", first, "first"},
        {"v1", first, "first"},      {"HEAD~1", first, "first"}, {abbreviated, first, "first"},
        {":/first", first, "first"},
    };
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    struct err err = ERR_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_WT_COMMIT struct wt_commit commit = WT_COMMIT_INIT;
        assert_ok(wt_resolve(&commit, &repo, cases[i].rev, &err), &err);
        assert_string_equal(commit.oid, cases[i].oid);
        assert_string_equal(commit.subject, cases[i].subject);
    }
    AUTO_WT_COMMIT struct wt_commit none = WT_COMMIT_INIT;
    assert_false(wt_resolve(&none, &repo, "no-such", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_has(err.text, "no-such");
    assert_false(wt_resolve(&none, &repo, "--all", &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_false(wt_resolve(&none, &repo, "main:src", &err)); /* a tree */
}

static void a_repository_without_commits_says_so(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_COMMIT struct wt_commit commit = WT_COMMIT_INIT;
    free(sh(f, NULL, "git init -q empty"));
    assert_ok(open_at(f, "empty", &repo, &err), &err);
    assert_false(wt_resolve(&commit, &repo, NULL, &err));
    assert_int_equal(err.code, ERR_FAILED);
    assert_has(err.text, "no commit yet");
    assert_false(wt_resolve(&commit, &repo, "main", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void finds_free_run_numbers(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    int64_t n = 0;
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_ok(wt_free_run_number(&n, &repo, 1, &err), &err);
    assert_int_equal(n, 1);
    in_repo(f, "git branch headgate/1/1 && git branch headgate/3 && git update-ref "
               "refs/headgate/2/1/head main && "
               "git update-ref refs/headgate/keep/5/1/x main && git branch headgate/x");
    assert_ok(wt_free_run_number(&n, &repo, 1, &err), &err);
    assert_int_equal(n, 4);
    assert_ok(wt_free_run_number(&n, &repo, 5, &err), &err);
    assert_int_equal(n, 6);
    in_repo(f, "git branch -D -q headgate/1/1 headgate/3 headgate/x && git branch headgate");
    assert_false(wt_free_run_number(&n, &repo, 1, &err));
    assert_has(err.text, "git branch -m");
}

static void a_taken_name_is_a_conflict(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    static const char *const taken[] = {"headgate/1/1", "headgate/1", "headgate/1/1/x", "headgate"};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        in_repo(f, "git branch %s", taken[i]);
        assert_false(try_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY, &err));
        assert_int_equal(err.code, ERR_CONFLICT);
        assert_has(err.text, "headgate");
        assert_text(sh(f, f->attempts, "ls -A 1.1"), "");
        in_repo(f, "git branch -D -q %s", taken[i]);
    }
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opens_the_kinds_of_repositories),      TEST(one_clear_sentence_each),
        TEST(an_unreadable_repository_is_refused),  TEST(resolves_names),
        TEST(a_repository_without_commits_says_so), TEST(finds_free_run_numbers),
        TEST(a_taken_name_is_a_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
