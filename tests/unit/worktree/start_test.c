/*
 * What a run starts from: uncommitted work, branches that only a remote has, what it has by now.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "worktree/start.h"

/* Everything of the person's that must stay as it is. */
static char *everything(const struct fixture *f)
{
    return sh(f, f->repo,
              "git for-each-ref refs/heads; git symbolic-ref -q HEAD; md5sum <.git/index; git "
              "stash list; "
              "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 md5sum; ls .git");
}

static void start_wip(const struct fixture *f, struct wt_repo *repo, struct wt_start *s)
{
    struct err err = ERR_INIT;
    assert_ok(wt_repo_open(repo, f->repo, &err), &err);
    assert_ok(wt_start_wip(s, repo, &err), &err);
}

#define WITH_START                                   \
    struct fixture *f = *state;                      \
    struct err err = ERR_INIT;                       \
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT; \
    AUTO_WT_START struct wt_start s = WT_START_INIT

static void takes_uncommitted_work(void **state)
{
    WITH_START;
    in_repo(
        f, "echo staged >src/one.c && git add src/one.c && echo more >>src/one.c && "
           "echo new >new && echo secret >.env && rm 'a b/two words' && git rm -q --cached run.sh");
    AUTO_FREE char *before = everything(f);
    start_wip(f, &repo, &s);
    assert_true(s.is_wip);
    assert_string_equal(s.commit.ref, "main with uncommitted work");
    assert_text(everything(f), before);
    assert_text(sh(f, f->repo,
                   "git diff --name-status main %s; git show %s:src/one.c; "
                   "git rev-parse %s^ main | uniq | wc -l; git log -1 --format=%%an %s",
                   s.commit.oid, s.commit.oid, s.commit.oid, s.commit.oid),
                "D\ta b/two words\nA\tnew\nM\tsrc/one.c\nstaged\nmore\n1\nPerson");
    /* Not even the harshest gc takes it. */
    in_repo(f, "git gc -q --prune=now && git cat-file -e %s", s.commit.oid);
    wt_start_let_go(&s, &repo);
    assert_text(sh(f, f->repo, "git for-each-ref refs/headgate"), "");
    assert_ok(true, &err);
}

static void takes_nothing_when_all_is_committed(void **state)
{
    WITH_START;
    start_wip(f, &repo, &s);
    assert_false(s.is_wip);
    assert_null(s.held);
    assert_has(s.note, "no uncommitted work");
    assert_text(sh(f, f->repo, "git rev-parse main"), s.commit.oid);
    assert_ok(true, &err);
}

static void takes_work_before_the_first_commit(void **state)
{
    WITH_START;
    free(sh(f, NULL, "rm -rf repo/.git && git -C repo init -q"));
    start_wip(f, &repo, &s);
    assert_text(sh(f, f->repo, "git log --format=%%s %s; git ls-tree --name-only %s | wc -l",
                   s.commit.oid, s.commit.oid),
                "Work in progress on main\n5");
    assert_ok(true, &err);
}

static void takes_unmerged_files_as_they_are(void **state)
{
    WITH_START;
    in_repo(f, "git checkout -q -b side && echo s >src/one.c && git commit -qam s && git checkout "
               "-q main && "
               "echo m >src/one.c && git commit -qam m && ! git merge -q side >/dev/null 2>&1");
    AUTO_FREE char *before = everything(f);
    start_wip(f, &repo, &s);
    assert_has(s.note, "unmerged");
    assert_text(everything(f), before);
    assert_text(sh(f, f->repo, "git show %s:src/one.c | grep -c '^[<>=]'", s.commit.oid), "3");
    assert_text(sh(f, f->repo, "git ls-files -u | wc -l"), "3");
    assert_ok(true, &err);
}

/* Repositories in the tree that are no submodules, with and without a commit, and what is dirty in
 * a submodule: left out, and said. */
static void leaves_other_repositories_out(void **state)
{
    WITH_START;
    free(sh(f, NULL, "git init -q lib && cd lib && echo l >l && git add l && git commit -qm l"));
    in_repo(f,
            "git -c protocol.file.allow=always submodule --quiet add ../lib sub && "
            "git -c protocol.file.allow=always submodule --quiet add ../lib clean && "
            "git commit -qm subs && echo dirt >>sub/l && git init -q 'in[n]er/a' && "
            "git init -q b && git -C b commit -q --allow-empty -m b && echo mine >'in[n]er/mine'");
    AUTO_FREE char *before = everything(f);
    start_wip(f, &repo, &s);
    assert_text(everything(f), before);
    assert_text(sh(f, f->repo, "git diff --name-only main %s", s.commit.oid), "in[n]er/mine");
    assert_string_equal(s.note,
                        "b, in[n]er/a left out: a repository of its own and no submodule; sub "
                        "taken at its commit: what is uncommitted in it was left out");
    assert_ok(true, &err);
}

/* The work comes back to it, so it must be a branch that is here. */
static void starts_on_a_branch_alone(void **state)
{
    WITH_START;
    static const char *const bad[] = {"HEAD",    "HEAD~1", "v1", "origin/main",
                                      "nowhere", "a b",    "-x"};
    const char *branch = NULL;
    in_repo(f, "git commit -q --allow-empty -m two && git tag v1 && git branch side && "
               "git update-ref refs/remotes/origin/main HEAD");
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (wt_start_on(&s, &branch, &repo, bad[i], false, &err))
            fail_msg("started on %s", bad[i]);
        assert_int_equal(err.code, ERR_NOT_FOUND);
        assert_has(err.text, "no local branch named");
    }
    assert_ok(wt_start_on(&s, &branch, &repo, "refs/heads/side", false, &err), &err);
    assert_string_equal(branch, "side");
    assert_string_equal(s.commit.ref, "side");
}

/* A remote may be a path relative to the top. */
static void fetches_from_a_relative_path(void **state)
{
    WITH_START;
    free(sh(f, NULL, "cp -r repo up && git -C up commit -q --allow-empty -m upstream"));
    in_repo(f, "git remote add origin ../up");
    AUTO_FREE char *folder = fs_join(f->repo, "src");
    assert_ok(wt_repo_open(&repo, folder, &err), &err);
    assert_ok(wt_start_from(&s, &repo, "main", true, &err), &err);
    assert_text(sh(f, f->root, "git -C up rev-parse main"), s.commit.oid);
    wt_start_let_go(&s, &repo);
}

static void refuses_uncommitted_work_of_a_bare_repository(void **state)
{
    WITH_START;
    free(sh(f, NULL, "git clone -q --bare repo bare.git"));
    AUTO_FREE char *bare = fs_join(f->root, "bare.git");
    assert_ok(wt_repo_open(&repo, bare, &err), &err);
    assert_false(wt_start_wip(&s, &repo, &err));
    assert_int_equal(err.code, ERR_USAGE);
}

/* The repository becomes a clone of `up`, which then gets a commit on main and a branch topic. */
static void make_remote(struct fixture *f)
{
    free(
        sh(f, NULL,
           "mv repo up && git clone -q up repo && cd up && git checkout -q -b topic && "
           "echo t >t && git add t && git commit -qm topic && git checkout -q main && echo u >u && "
           "git add u && git commit -qm upstream && git update-ref refs/pull/7/head topic"));
}

static void start_from(struct fixture *f, struct wt_repo *repo, struct wt_start *s, const char *rev,
                       bool fetch)
{
    struct err err = ERR_INIT;
    wt_repo_release(repo);
    wt_start_release(s);
    assert_ok(wt_repo_open(repo, f->repo, &err), &err);
    assert_ok(wt_start_from(s, repo, rev, fetch, &err), &err);
}

static void finds_a_branch_of_the_remote(void **state)
{
    WITH_START;
    make_remote(f);
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_false(wt_start_from(&s, &repo, "topic", false, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_has(err.text, "--fetch");
    in_repo(f, "git fetch -q");
    start_from(f, &repo, &s, "topic", false);
    assert_string_equal(s.commit.ref, "origin/topic");
    assert_has(s.note, "no local branch topic");
    assert_text(sh(f, f->repo, "git rev-parse origin/topic"), s.commit.oid);
    in_repo(f, "git remote add fork ../up && git fetch -q fork");
    wt_start_release(&s);
    assert_false(wt_start_from(&s, &repo, "topic", false, &err));
    assert_has(err.text, "fork/topic or origin/topic");
}

static void fetches_when_asked(void **state)
{
    WITH_START;
    make_remote(f);
    start_from(f, &repo, &s, "topic", true);
    assert_string_equal(s.commit.subject, "topic");
    assert_string_equal(s.commit.ref, "origin/topic");
    assert_non_null(s.held);
    wt_start_let_go(&s, &repo);
    start_from(f, &repo, &s, "origin/topic", true);
    assert_string_equal(s.commit.subject, "topic");
    wt_start_let_go(&s, &repo);
    start_from(f, &repo, &s, "refs/pull/7/head", true);
    assert_string_equal(s.commit.subject, "topic");
    wt_start_let_go(&s, &repo);
    assert_text(
        sh(f, f->repo, "git for-each-ref refs/headgate; git branch --list --format='%%(refname)'"),
        "refs/heads/main");
    assert_false(wt_start_from(&s, &repo, "nowhere", true, &err));
    assert_has(err.text, "cannot fetch nowhere from origin");
}

/* What HEAD follows: the newest of both that has everything. */
static void starts_from_the_newest(void **state)
{
    WITH_START;
    make_remote(f);
    start_from(f, &repo, &s, NULL, false);
    assert_string_equal(s.commit.subject, "first");
    assert_null(s.note);
    start_from(f, &repo, &s, NULL, true);
    assert_string_equal(s.commit.subject, "upstream");
    wt_start_let_go(&s, &repo);
    start_from(f, &repo, &s, "main", false);
    assert_has(s.note, "main is behind origin/main by 1");
    in_repo(f, "echo own >own && git add own && git commit -qm own");
    start_from(f, &repo, &s, NULL, true);
    assert_string_equal(s.commit.subject, "own");
    assert_has(s.note, "main has 1 commit more");
    wt_start_let_go(&s, &repo);
    in_repo(f, "git checkout -q --detach");
    wt_repo_release(&repo);
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_false(wt_start_from(&s, &repo, NULL, true, &err));
    assert_has(err.text, "HEAD is on no branch");
}

static void pins_a_base_until_discard(void **state)
{
    WITH_START;
    AUTO_STRV struct strv branches = STRV_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    in_repo(f, "echo w >w");
    start_wip(f, &repo, &s);
    strv_push(&branches, "headgate/1/1");
    strv_push(&branches, "headgate/1/2");
    assert_ok(wt_pin(repo.common_dir, &branches, s.commit.oid, &err), &err);
    wt_start_let_go(&s, &repo);
    int64_t number = 0;
    assert_ok(wt_free_run_number(&number, &repo, 1, &err), &err);
    assert_int_equal(number, 2);
    in_repo(f, "git gc -q --prune=now && git cat-file -e %s", s.commit.oid);
    f->base = s.commit.oid;
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
    assert_text(inside(f, &a, "git status --porcelain; cat w"), "w");
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_ok(wt_unpin(repo.common_dir, "headgate/1/2", &err), &err);
    assert_ok(wt_unpin(repo.common_dir, "headgate/1/2", &err), &err);
    assert_text(sh(f, f->repo, "git for-each-ref refs/headgate"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(takes_uncommitted_work),
        TEST(takes_nothing_when_all_is_committed),
        TEST(takes_work_before_the_first_commit),
        TEST(takes_unmerged_files_as_they_are),
        TEST(refuses_uncommitted_work_of_a_bare_repository),
        TEST(leaves_other_repositories_out),
        TEST(starts_on_a_branch_alone),
        TEST(fetches_from_a_relative_path),
        TEST(finds_a_branch_of_the_remote),
        TEST(fetches_when_asked),
        TEST(starts_from_the_newest),
        TEST(pins_a_base_until_discard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
