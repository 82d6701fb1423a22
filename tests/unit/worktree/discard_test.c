#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/clock.h"
#include "worktree/changed.h"
#include "worktree/moment.h"
#include "worktree/record.h"

#define WITH_ATTEMPT                                       \
    struct fixture *f = *state;                            \
    struct err err = ERR_INIT;                             \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    make_attempt(f, &a, "1.1", true, f->engine)

static void commit_and_harvest(struct fixture *f, const struct wt_attempt *a, bool with_snapshot)
{
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    free(inside(f, a, "echo x >x && git add x && git commit -qm x"));
    harvest(f, a, with_snapshot, &h);
}

/* No ref, no entry, no folder, no object folder of ours. */
static void assert_no_trace(struct fixture *f, const struct wt_attempt *a)
{
    assert_text(sh(f, f->repo, "git for-each-ref --format='%%(refname)'"), "refs/heads/main");
    assert_text(
        sh(f, f->repo, "ls -d .git/worktrees .git/headgate* .git/objects/tmp* 2>/dev/null; true"),
        "");
    assert_text(sh(f, a->dir, "ls -A"), "");
    free(sh(f, f->repo, "test -z \"$(git status --porcelain)\" && git fsck"));
}

static void removes_what_did_nothing(void **state)
{
    WITH_ATTEMPT;
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_no_trace(f, &a);
    assert_true(wt_recover(a.dir, &err));
}

static void refuses_to_lose_commits(void **state)
{
    WITH_ATTEMPT;
    commit_and_harvest(f, &a, true);
    assert_false(wt_discard(&a, false, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "1 commit in no other branch");
    free(sh(f, f->repo, "git log -1 headgate/1/1 && test -d '%s/git'", a.dir));
    in_repo(f, "git merge -q headgate/1/1");
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_no_trace(f, &a);
}

static void refuses_to_lose_what_was_not_harvested(void **state)
{
    WITH_ATTEMPT;
    commit_and_harvest(f, &a, true);
    in_repo(f, "git merge -q headgate/1/1");
    free(inside(f, &a, "echo more >>x"));
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "brought home last");
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_no_trace(f, &a);
}

static void refuses_uncommitted_work_without_a_snapshot(void **state)
{
    WITH_ATTEMPT;
    free(inside(f, &a, "echo only-here >y"));
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    harvest(f, &a, false, &h);
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "brought home last");
}

/* Each mount of an overlay touches what stands for files that are gone. */
static void deleted_files_are_no_later_change(void **state)
{
    WITH_ATTEMPT;
    free(inside(
        f, &a,
        "git rm -q src/one.c && git rm -qr . && echo x >x && git add x && git commit -qm gone"));
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    harvest(f, &a, true, &h);
    in_repo(f, "git merge -q headgate/1/1");
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_no_trace(f, &a);
}

static void a_file_that_is_deleted_later_is_one(void **state)
{
    WITH_ATTEMPT;
    commit_and_harvest(f, &a, true);
    in_repo(f, "git merge -q headgate/1/1");
    clock_pass_tick();
    free(inside(f, &a, "set -- $(git ls-files | grep -v /) && rm \"$1\""));
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "brought home last");
}

/* A file that was looked at gets the time of the exact clock, the others that of a lagging one. */
static void what_came_just_before_is_known(void **state)
{
    enum { TRIES = 20 };
    WITH_ATTEMPT;
    const char *files = attempt_files(&a);
    struct stat st;
    struct timespec when;
    for (int i = 0; i < TRIES; i++) {
        assert_int_equal(stat(files, &st), 0);
        assert_int_equal(chmod(files, 0700), 0);
        assert_ok(moment_begin(&a, &err) && moment_keep(&a, &err), &err);
        assert_true(moment_known(&when, &a, RECORD_ATTEMPT));
        assert_false(changed_since(files, NULL, &when));
        assert_int_equal(chmod(files, 0755), 0);
        assert_true(changed_since(files, NULL, &when));
    }
}

static void force_removes_everything(void **state)
{
    WITH_ATTEMPT;
    commit_and_harvest(f, &a, false);
    free(inside(f, &a, "mkdir -p d && chmod 000 d && ln -s %s escape && git tag t", f->repo));
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_no_trace(f, &a);
    free(sh(f, f->repo, "test -f src/one.c"));
}

static void leaves_a_checked_out_branch(void **state)
{
    WITH_ATTEMPT;
    commit_and_harvest(f, &a, true);
    in_repo(f, "git switch -q headgate/1/1");
    assert_false(wt_discard(&a, true, &err));
    assert_has(err.text, "switch to another branch");
    in_repo(f, "git switch -q main");
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_no_trace(f, &a);
}

static void leaves_others_alone(void **state)
{
    WITH_ATTEMPT;
    AUTO_WT_ATTEMPT struct wt_attempt b = WT_ATTEMPT_INIT;
    make_attempt(f, &b, "1.2", true, f->engine);
    in_repo(f, "git worktree add -q --detach ../own && git branch headgate-mine");
    free(inside(f, &b, "echo b >b && git add b && git commit -qm b"));
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    harvest(f, &b, false, &h);
    AUTO_FREE char *before = sh(f, f->repo,
                                "git for-each-ref refs/heads/headgate/1/2 refs/headgate/1/2 "
                                "refs/headgate/keep/1/2 refs/heads/headgate-mine");
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_text(sh(f, f->repo,
                   "git for-each-ref refs/heads/headgate refs/headgate "
                   "refs/heads/headgate-mine"),
                before);
    free(sh(f, f->repo, "git -C ../own status && git -C '%s' status", b.tree));
    free(inside(f, &b, "test \"$(cat b)\" = b && git status"));
}

static void survives_a_repository_that_is_gone(void **state)
{
    WITH_ATTEMPT;
    free(sh(f, f->root, "rm -r repo"));
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "is gone");
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_text(sh(f, a.dir, "ls -A"), "");
}

static void opens_without_filters_and_hooks(void **state)
{
    WITH_ATTEMPT;
    free(inside(
        f, &a,
        "echo '* filter=evil' >.gitattributes && echo o >o && git add . && git commit -qm o"));
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    harvest(f, &a, false, &h);
    in_repo(f,
            "git config filter.evil.smudge 'touch %s/ran; cat' && "
            "printf '#!/bin/sh\\ntouch %s/ran\\n' >.git/hooks/post-checkout && "
            "chmod +x .git/hooks/post-checkout",
            f->root, f->root);
    AUTO_FREE char *target = fs_join(f->root, "opened here");
    assert_ok(wt_open(&a, target, &err), &err);
    assert_text(sh(f, target, "cat o"), "o");
    assert_text(sh(f, target, "git rev-parse HEAD"), h.tip);
    assert_int_equal(sh_status(f, f->root, "test -e ran"), 1);
    assert_false(wt_open(&a, target, &err));
    assert_false(wt_open(&a, "relative", &err));
    assert_false(wt_open(&a, a.tree, &err));
}

/* A commit whose base is no delta of the one before. */
#define WHOLE_BASE(name) "echo '# " name "' >.gitattributes && git add -A . && git commit -qm " name

static void cleans_unused_bases(void **state)
{
    WITH_ATTEMPT;
    AUTO_STRV struct strv gone = STRV_INIT, none = STRV_INIT, second = STRV_INIT, both = STRV_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt b = WT_ATTEMPT_INIT;
    in_repo(f, WHOLE_BASE("next"));
    make_attempt(f, &b, "1.2", true, f->engine);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_int_equal(gone.n, 0);
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, &none, &err), &err);
    assert_int_equal(gone.n, 1);
    strv_push(&second, "1.2"); /* were it gone as well */
    assert_ok(wt_clean_bases(&both, f->bases, f->attempts, &second, &err), &err);
    assert_int_equal(both.n, 2);
    assert_true(strcmp(both.v[0], both.v[1]) < 0 && fs_is_dir(b.lower));
    assert_true(fs_is_dir(a.lower));
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_string_equal(gone.v[0], gone.v[1]);
    assert_false(fs_exists(a.lower));
    assert_true(fs_is_dir(b.lower));
    free(inside(f, &b, "cat src/one.c"));
}

/* Over the limit the one that was longest of no use goes, and never one that an attempt stands on.
 */
static void trims_bases_to_a_limit(void **state)
{
    WITH_ATTEMPT;
    AUTO_STRV struct strv gone = STRV_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt b = WT_ATTEMPT_INIT, c = WT_ATTEMPT_INIT, d = WT_ATTEMPT_INIT;
    in_repo(f, "head -c 3000000 /dev/urandom >big && " WHOLE_BASE("big"));
    make_attempt(f, &b, "1.2", true, f->engine);
    in_repo(f, WHOLE_BASE("more"));
    make_attempt(f, &c, "1.3", true, f->engine);
    assert_ok(wt_discard(&b, true, &err) && wt_discard(&c, true, &err), &err);
    in_repo(f, "git reset -q --hard HEAD~1");
    make_attempt(f, &d, "1.4", true, f->engine); /* b's base is of use again */
    assert_ok(wt_discard(&d, true, &err), &err);
    assert_ok(wt_trim_bases(&gone, f->bases, f->attempts, 20000000, &err), &err);
    assert_int_equal(gone.n, 0);
    assert_ok(wt_trim_bases(&gone, f->bases, f->attempts, 4000000, &err), &err);
    assert_int_equal(gone.n, 1);
    assert_false(fs_exists(c.lower));
    assert_ok(wt_trim_bases(&gone, f->bases, f->attempts, 0, &err), &err);
    assert_int_equal(gone.n, 2);
    assert_true(fs_is_dir(a.lower));
    free(inside(f, &a, "cat src/one.c"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(removes_what_did_nothing),
        TEST(refuses_to_lose_commits),
        TEST(refuses_to_lose_what_was_not_harvested),
        TEST(refuses_uncommitted_work_without_a_snapshot),
        TEST(deleted_files_are_no_later_change),
        TEST(a_file_that_is_deleted_later_is_one),
        TEST(what_came_just_before_is_known),
        TEST(force_removes_everything),
        TEST(leaves_others_alone),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(leaves_a_checked_out_branch),     TEST(survives_a_repository_that_is_gone),
        TEST(opens_without_filters_and_hooks), TEST(cleans_unused_bases),
        TEST(trims_bases_to_a_limit),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
