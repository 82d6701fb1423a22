#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worktree/start.h"

static bool try_merge(struct fixture *f, const char *into, enum wt_merge_how how, bool dry_run,
                      struct wt_merge *ret, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    const struct wt_merge_ask ask = {
        .branch = "headgate/1/1", .into = into, .how = how, .dry_run = dry_run};
    return wt_merge(ret, &repo, &ask, err);
}

#define WITH_WORK                                          \
    struct fixture *f = *state;                            \
    struct err err = ERR_INIT;                             \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;       \
    make_two_commits(f, &a)

/* Everything that a refused or a dry merge must leave as it is. */
static char *everything(const struct fixture *f)
{
    return sh(
        f, f->repo,
        "git for-each-ref; git symbolic-ref HEAD; git status --porcelain; cat .git/index | md5sum; "
        "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 md5sum; "
        "find .git/objects | sort");
}

static void fast_forwards_the_checkout(void **state)
{
    WITH_WORK;
    in_repo(f, "echo local >untracked && echo edit >>run.sh");
    assert_ok(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err), &err);
    assert_true(m.was_ff);
    assert_null(m.note);
    assert_text(sh(f, f->repo, "git rev-parse main headgate/1/1 | uniq"), m.commit);
    assert_text(sh(f, f->repo, "git status --porcelain; cat src/one.c"),
                " M run.sh\n?? untracked\nchanged");
    wt_merge_release(&m);
    assert_ok(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err), &err);
    assert_true(m.up_to_date);
    assert_string_equal(m.commit, "");
}

static void makes_a_merge_commit(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person");
    assert_ok(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err), &err);
    assert_false(m.was_ff);
    assert_text(sh(f, f->repo,
                   "git log --format='%%s/%%an/%%cn' -1 && git status --porcelain && "
                   "git rev-parse HEAD^2 headgate/1/1 | uniq | wc -l && cat person new"),
                "Merge branch 'headgate/1/1'/Person/Person\n1\np\nn\nm");
    free(sh(f, f->repo, "git fsck --strict"));
}

static void merges_into_a_branch_that_is_nowhere(void **state)
{
    WITH_WORK;
    in_repo(f, "git branch release && git commit -q --allow-empty -m p");
    assert_ok(try_merge(f, "release", WT_MERGE_AUTO, false, &m, &err), &err);
    assert_text(sh(f, f->repo,
                   "git log -1 --format=%%s release; git log -1 --format=%%s main; "
                   "git status --porcelain"),
                "two\np");
}

static void merges_into_a_linked_worktree(void **state)
{
    WITH_WORK;
    in_repo(f, "git branch side && git worktree add -q ../side side && cd ../side && echo s >s && "
               "git add s && git commit -qm s");
    assert_ok(try_merge(f, "side", WT_MERGE_AUTO, false, &m, &err), &err);
    free(sh(f, f->root, "test -f side/new && test -z \"$(git -C side status --porcelain)\""));
    wt_merge_release(&m);
    free(sh(f, f->root,
            "git -C repo branch gone && git -C repo worktree add -q ../gone gone && rm -r gone"));
    assert_ok(try_merge(f, "gone", WT_MERGE_AUTO, false, &m, &err), &err);
    assert_int_equal(m.n_left, 1);
    assert_false(m.left[0].is_there);
}

static void squashes(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person");
    assert_ok(try_merge(f, NULL, WT_MERGE_SQUASH, false, &m, &err), &err);
    assert_text(sh(f, f->repo, "git log -1 --format=%%B; git rev-parse --short HEAD^@ | wc -l"),
                "Squash headgate/1/1\n\n* one\n* two\n\n1");
    bool is_merged = false;
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_true(is_merged);
}

static void rebases(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person");
    assert_ok(try_merge(f, NULL, WT_MERGE_REBASE, false, &m, &err), &err);
    assert_text(sh(f, f->repo,
                   "git log --format='%%s/%%an' && git diff --name-only headgate/1/1 && "
                   "git status --porcelain"),
                "two/Person\none/Person\nperson/Person\nfirst/Person\nperson");
    free(sh(f, f->repo, "git fsck --strict"));
    wt_merge_release(&m);
    assert_ok(try_merge(f, NULL, WT_MERGE_REBASE, false, &m, &err), &err);
    assert_true(m.up_to_date);
}

/* What is in a merge commit alone, and a commit that differs from one of the target in blanks. */
static void a_rebase_loses_nothing(void **state)
{
    WITH_WORK;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    in_repo(f, "printf ' blank\n' >blank && git add blank && git commit -qm blank");
    free(inside(f, &a, "printf 'blank\n' >blank && git add blank && git commit -qm unlike"));
    harvest(f, &a, true, &h);
    assert_ok(try_merge(f, NULL, WT_MERGE_REBASE, false, &m, &err), &err);
    assert_int_equal(m.conflicts.n, 1);
    assert_string_equal(m.conflicts.v[0], "blank");
    wt_merge_release(&m);
    in_repo(f,
            "git reset -q --hard HEAD~1 && echo p >person && git add person && git commit -qm p");
    free(inside(f, &a,
                "git branch side HEAD~1 && git checkout -q side && echo s >s && git add s && "
                "git commit -qm s && git checkout -q - && git merge -q --no-commit side && "
                "echo own >own && git add own && git commit -qm Merged"));
    wt_harvest_release(&h);
    harvest(f, &a, true, &h);
    AUTO_FREE char *before = everything(f);
    assert_false(try_merge(f, NULL, WT_MERGE_REBASE, false, &m, &err));
    assert_has(err.text, "which a rebase would lose");
    assert_text(everything(f), before);
    err = (struct err)ERR_INIT;
    assert_ok(try_merge(f, NULL, WT_MERGE_SQUASH, false, &m, &err), &err);
    free(sh(f, f->repo, "test -f own && test -f s"));
}

/* In the very moment before the branch moves. */
static void a_prune_meanwhile_takes_nothing(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person && "
               "printf '#!/bin/sh\n[ \"$1\" = prepared ] && grep -q refs/heads/main || exit 0\n"
               "git prune --expire=now && git repack -adq && git prune --expire=now && "
               "touch .git/pruned\n' >.git/hooks/reference-transaction && "
               "chmod +x .git/hooks/reference-transaction");
    static const enum wt_merge_how hows[] = {WT_MERGE_SQUASH, WT_MERGE_AUTO, WT_MERGE_REBASE};
    for (size_t i = 0; i < ARRAY_LEN(hows); i++) {
        in_repo(f, "rm -f .git/pruned");
        assert_ok(try_merge(f, NULL, hows[i], false, &m, &err), &err);
        free(sh(f, f->repo,
                "test -e .git/pruned && git fsck --strict && test -f new && test -f person && "
                "test -z \"$(ls .git/objects/pack/*.keep .git/objects/tmp_* 2>/dev/null)\" && "
                "git -c core.hooksPath=/dev/null reset -q --hard main@{1}"));
        wt_merge_release(&m);
    }
}

/* git writes the files before it moves the branch. */
static void what_did_not_land_is_taken_back(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >mine && echo more >>'a b/two words'");
    static const char files[] =
        "git for-each-ref; git symbolic-ref HEAD; git status --porcelain; "
        "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 md5sum";
    static const struct {
        const char *before, *after;
    } obstacles[] = {
        {"touch .git/refs/heads/main.lock", "rm .git/refs/heads/main.lock"},
        {"chmod a-w src", "chmod u+w src"},
        {"touch .git/index.lock", "rm .git/index.lock"},
    };
    for (size_t i = 0; i < ARRAY_LEN(obstacles); i++) {
        if (geteuid() == 0 && strstr(obstacles[i].before, "chmod"))
            continue; /* nothing that root may not write */
        AUTO_FREE char *before = sh(f, f->repo, files);
        in_repo(f, "%s", obstacles[i].before);
        assert_false(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err));
        in_repo(f, "%s", obstacles[i].after);
        assert_has(err.text, "nothing was changed");
        assert_text(sh(f, f->repo, files), before);
        err = (struct err)ERR_INIT;
    }
    assert_ok(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err), &err);
    free(sh(f, f->repo, "grep -q changed src/one.c && test -f mine && grep -q more a*/two*"));
}

static void conflicts_change_nothing(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c && git commit -qam mine");
    AUTO_FREE char *before = everything(f);
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        assert_ok(try_merge(f, NULL, (enum wt_merge_how)how, false, &m, &err), &err);
        assert_int_equal(m.conflicts.n, 1);
        assert_string_equal(m.conflicts.v[0], "src/one.c");
        assert_string_equal(m.commit, "");
        wt_merge_release(&m);
    }
    assert_text(everything(f), before);
}

static void local_changes_are_not_overwritten(void **state)
{
    WITH_WORK;
    static const char *const changes[] = {
        "echo mine >src/one.c",                           /* modified */
        "echo mine >src/one.c && git add src/one.c",      /* staged */
        "echo mine >new",                                 /* untracked */
        "echo mine >new && echo new >>.git/info/exclude", /* ignored */
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        in_repo(f, "%s", changes[i]);
        AUTO_FREE char *before =
            sh(f, f->repo, "git for-each-ref; git status --porcelain; cat src/one.c");
        if (try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err))
            fail_msg("merged over: %s", changes[i]);
        assert_int_equal(err.code, ERR_REFUSED);
        assert_text(sh(f, f->repo, "git for-each-ref; git status --porcelain; cat src/one.c"),
                    before);
        in_repo(f, "git reset -q --hard && rm -f new && : >.git/info/exclude");
    }
    in_repo(f, "echo mine >src/one.c");
    assert_false(try_merge(f, NULL, WT_MERGE_AUTO, true, &m, &err));
    assert_has(err.text, "src/one.c");
}

static void a_refused_merge_leaves_no_objects(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person && echo mine >src/one.c");
    AUTO_FREE char *before = everything(f);
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        assert_false(try_merge(f, NULL, (enum wt_merge_how)how, false, &m, &err));
        assert_int_equal(err.code, ERR_REFUSED);
    }
    assert_text(everything(f), before);
}

static void a_dry_run_changes_nothing(void **state)
{
    WITH_WORK;
    in_repo(f, "echo p >person && git add person && git commit -qm person");
    AUTO_FREE char *before = everything(f);
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        assert_ok(try_merge(f, NULL, (enum wt_merge_how)how, true, &m, &err), &err);
        assert_int_equal(strlen(m.commit), 40);
        wt_merge_release(&m);
    }
    assert_text(everything(f), before);
}

static void says_what_is_missing(void **state)
{
    WITH_WORK;
    assert_false(try_merge(f, "nowhere", WT_MERGE_AUTO, false, &m, &err));
    assert_has(err.text, "no branch named nowhere");
    in_repo(f, "git checkout -q --detach");
    assert_false(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err));
    assert_has(err.text, "--into");
    in_repo(f, "git switch -q main && git branch -D -q headgate/1/1");
    assert_false(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static bool ask_merge(struct fixture *f, const struct wt_merge_ask *ask, struct wt_merge *ret,
                      struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    return wt_merge(ret, &repo, ask, err);
}

/* An agent that started from uncommitted work brings home what it did itself, and no more. */
static void uncommitted_work_stays_out(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_START struct wt_start s = WT_START_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    in_repo(f, "echo mine >>run.sh && echo mine >mine");
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_ok(wt_start_wip(&s, &repo, &err), &err);
    f->base = s.commit.oid;
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
    free(inside(f, &a,
                "grep -q mine run.sh mine && echo changed >src/one.c && git commit -qam one"));
    harvest(f, &a, true, &h);
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
        const struct wt_merge_ask ask = {.branch = "headgate/1/1",
                                         .how = (enum wt_merge_how)how,
                                         .message = "one",
                                         .leave_out = a.base};
        assert_ok(ask_merge(f, &ask, &m, &err), &err);
        assert_false(m.was_ff);
        assert_text(sh(f, f->repo,
                       "git log --format=%%s; git show --name-only --format= HEAD; "
                       "git status --porcelain"),
                    "one\nfirst\nsrc/one.c\n M run.sh\n?? mine");
        in_repo(f, "git reset -q --keep HEAD~1");
    }
}

static void trailers_name_the_attempt(void **state)
{
    WITH_WORK;
    AUTO_STRV struct strv trailers = STRV_INIT;
    strv_push(&trailers, "Headgate-Attempt: 1.1");
    struct wt_merge_ask ask = {.branch = "headgate/1/1", .message = "m", .trailers = &trailers};
    assert_ok(ask_merge(f, &ask, &m, &err), &err);
    assert_text(sh(f, f->repo, "git log -1 --format=%%B; git rev-parse HEAD^@ | wc -l"),
                "m\n\nHeadgate-Attempt: 1.1\n\n2");
    in_repo(f, "git reset -q --hard HEAD^1");
    wt_merge_release(&m);
    ask.how = WT_MERGE_REBASE;
    assert_ok(ask_merge(f, &ask, &m, &err), &err);
    assert_text(sh(f, f->repo, "git log -2 --format='%%s %%(trailers:only,unfold)'"),
                "two Headgate-Attempt: 1.1\n\none Headgate-Attempt: 1.1");
}

static void a_squash_keeps_the_only_author(void **state)
{
    WITH_WORK;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    free(inside(f, &a, "git commit -q --amend --no-edit --author='Agent <a@x>'"));
    harvest(f, &a, true, &h);
    assert_ok(try_merge(f, NULL, WT_MERGE_SQUASH, false, &m, &err), &err);
    assert_text(sh(f, f->repo, "git log -1 --format='%%an/%%cn'"), "Person/Person");
    in_repo(f, "git reset -q --hard HEAD^");
    free(inside(f, &a,
                "git rebase -q --root --exec \"git commit -q --amend --no-edit "
                "--author='Agent <a@x>'\" >/dev/null 2>&1"));
    wt_harvest_release(&h);
    wt_merge_release(&m);
    harvest(f, &a, true, &h);
    in_repo(f,
            "git branch -f main headgate/1/1~2 2>/dev/null || git reset -q --hard headgate/1/1~2");
    assert_ok(try_merge(f, NULL, WT_MERGE_SQUASH, false, &m, &err), &err);
    assert_text(sh(f, f->repo, "git log -1 --format='%%an/%%cn'"), "Agent/Person");
}

/* As the buttons of a hosting service do it, with a target that has moved since. */
static void squashes_by_others_are_known(void **state)
{
    WITH_WORK;
    bool is_merged = true;
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_false(is_merged);
    in_repo(f, "echo p >person && git add person && git commit -qm person && "
               "git merge -q --squash headgate/1/1 >/dev/null 2>&1 && git commit -qm squashed && "
               "echo q >>person && git commit -qam later");
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_true(is_merged);
    in_repo(
        f, "git reset -q --hard HEAD~2 && git cherry-pick headgate/1/1~2..headgate/1/1 >/dev/null");
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_true(is_merged);
    /* What was edited on the way is not the same, be it in blanks alone. */
    in_repo(f, "sed -i 's/^/ /' new && git commit -q --amend -a --no-edit");
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_false(is_merged);
    in_repo(f, "echo edited >>new && git commit -q --amend -a --no-edit");
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_false(is_merged);
    in_repo(f,
            "git reset -q --hard HEAD~2 && git merge -q --squash headgate/1/1 && git commit -qm s");
    assert_ok(wt_discard(&a, false, &err), &err);
    assert_text(
        sh(f, f->repo, "git for-each-ref refs/headgate; ls .git/objects | grep tmp_ || true"), "");
}

/* A commit whose change was taken back is in no branch, though a merge of it would change nothing.
 */
static void work_that_was_undone_is_not_merged(void **state)
{
    WITH_WORK;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    free(inside(f, &a, "git revert --no-edit HEAD HEAD~1 >/dev/null"));
    harvest(f, &a, true, &h);
    bool is_merged = true;
    assert_ok(wt_is_merged(&is_merged, &a, &err), &err);
    assert_false(is_merged);
    assert_null(m.note);
}

static void who_signs_signs_what_is_made(void **state)
{
    WITH_WORK;
    if (sh_status(f, NULL, "command -v ssh-keygen >/dev/null") != 0)
        skip();
    free(sh(f, NULL,
            "ssh-keygen -q -t ed25519 -N '' -f key && "
            "printf 'person@example.com %%s\n' \"$(cat key.pub)\" >allowed"));
    in_repo(f,
            "git config gpg.format ssh && git config user.signingkey %s/key.pub && "
            "git config gpg.ssh.allowedSignersFile %s/allowed && git config commit.gpgsign true && "
            "echo p >person && git add person && git commit -qm person",
            f->root, f->root);
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        assert_ok(try_merge(f, NULL, (enum wt_merge_how)how, false, &m, &err), &err);
        wt_merge_release(&m);
        in_repo(f, "git verify-commit HEAD");
        if (how == WT_MERGE_REBASE)
            in_repo(f, "git verify-commit HEAD^");
        in_repo(f, "git reset -q --hard HEAD@{1}");
    }
    /* Where nothing would have to be made, a rebase signs each commit all the same. */
    in_repo(f, "git reset -q --hard headgate/1/1~2");
    assert_ok(try_merge(f, NULL, WT_MERGE_REBASE, false, &m, &err), &err);
    in_repo(f, "git verify-commit HEAD HEAD^ && test -z \"$(git diff headgate/1/1)\"");
}

static void the_persons_hooks_run(void **state)
{
    WITH_WORK;
    in_repo(f, "printf '#!/bin/sh\\ntouch hook-ran\\n' >.git/hooks/post-merge && chmod +x "
               ".git/hooks/post-merge");
    assert_ok(try_merge(f, NULL, WT_MERGE_AUTO, false, &m, &err), &err);
    free(sh(f, f->repo, "test -f hook-ran"));
}

static void diffs_between_trees(void **state)
{
    WITH_WORK;
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_FREE char *tip = sh(f, f->repo, "git rev-parse headgate/1/1");
    /* None of these may run: a diff is shown before anybody has looked. */
    in_repo(f, "git config diff.external 'touch ran' && git config diff.x.textconv 'touch ran' && "
               "echo '* diff=x' >.git/info/attributes");
    assert_ok(wt_diff(&out, a.repo, a.base, tip, WT_DIFF_NAMES, false, NULL, &err), &err);
    assert_string_equal(out.ptr, "A\tnew\nM\tsrc/one.c\n");
    buf_clear(&out);
    assert_ok(wt_diff(&out, a.repo, a.base, tip, WT_DIFF_PATCH, false, NULL, &err), &err);
    assert_has(out.ptr, "-one\n+changed\n");
    buf_clear(&out);
    assert_ok(wt_diff(&out, a.repo, a.base, tip, WT_DIFF_STAT, false, NULL, &err), &err);
    assert_has(out.ptr, "2 files changed, 3 insertions(+), 1 deletion(-)");
    buf_clear(&out);
    assert_ok(wt_diff(&out, a.repo, a.base, tip, WT_DIFF_PATCH, true, NULL, &err), &err);
    assert_has(out.ptr, "\033[");
    assert_int_equal(sh_status(f, f->repo, "test -e ran -o -e .git/ran"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fast_forwards_the_checkout),
        TEST(makes_a_merge_commit),
        TEST(merges_into_a_branch_that_is_nowhere),
        TEST(merges_into_a_linked_worktree),
        TEST(squashes),
        TEST(rebases),
        TEST(a_rebase_loses_nothing),
        TEST(a_prune_meanwhile_takes_nothing),
        TEST(what_did_not_land_is_taken_back),
        TEST(conflicts_change_nothing),
        TEST(local_changes_are_not_overwritten),
        TEST(a_refused_merge_leaves_no_objects),
        TEST(a_dry_run_changes_nothing),
        TEST(says_what_is_missing),
        TEST(uncommitted_work_stays_out),
        TEST(trailers_name_the_attempt),
        TEST(a_squash_keeps_the_only_author),
        TEST(squashes_by_others_are_known),
        TEST(work_that_was_undone_is_not_merged),
        TEST(who_signs_signs_what_is_made),
        TEST(the_persons_hooks_run),
        TEST(diffs_between_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
