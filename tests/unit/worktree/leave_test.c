/*
 * A merge that moves the branch alone: every checkout that has it stays as it is to the byte, off
 * the branch, and what the person does there next cannot take the merge back.
 */
#include "tests/unit/worktree/leaving.h"

#include <stdlib.h>
#include <string.h>

/* Without the option nothing changes and both ways are named; with it the checkout stays. */
static void leave(struct fixture *f, struct wt_merge_ask *ask, struct wt_merge *m)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *before = everything(f);
    AUTO_FREE char *files = checkout_of(f, f->repo);
    AUTO_FREE char *old = sh(f, f->repo, "git rev-parse main");
    ask->ref_only = false;
    if (merge_as(f, ask, m, &err))
        fail_msg("git could not have updated this checkout");
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "nothing was changed");
    assert_has(err.text, "then merge again, or merge with --ref-only");
    assert_null(strchr(err.text, '\n'));
    assert_text(everything(f), before);
    ask->ref_only = true;
    assert_ok(merge_as(f, ask, m, &err), &err);
    assert_text(checkout_of(f, f->repo), files);
    assert_text(sh(f, f->repo, "git rev-parse main"), m->commit);
    assert_text(sh(f, f->repo, "cat .git/HEAD"), old);
    assert_string_equal(m->target, old);
    assert_int_equal(m->n_left, 1);
    assert_string_equal(m->left[0].path, f->repo);
    assert_true(m->left[0].is_there);
}

/* The naive way, as the control: then the next commit takes the merge back. */
static void a_commit_afterwards_takes_nothing_back(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c");
    leave(f, &ask, &m);
    in_repo(f, "git commit -qam mine");
    assert_text(sh(f, f->repo, "git rev-parse main"), m.commit);
    assert_text(sh(f, f->repo, "git show main:src/one.c main:new"), "changed\nn\nm");
    assert_text(sh(f, f->repo, "git rev-parse HEAD~1"), old);
    in_repo(f,
            "git reset -q --hard HEAD~1 && git switch -q main && git reset -q --hard %s && "
            "echo mine >src/one.c && git update-ref refs/heads/main %s && git commit -qam mine",
            old, m.commit);
    assert_int_equal(sh_status(f, f->repo, "git cat-file -e main:new 2>/dev/null"), 128);
}

static void the_reflogs_tell(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c");
    leave(f, &ask, &m);
    assert_text(sh(f, f->repo, "git reflog -1 --format=%%gs main"), "headgate: merge headgate/1/1");
    AUTO_FREE char *moving =
        xasprintf("checkout: moving from main to %s; headgate: merge headgate/1/1\n%s", old, old);
    assert_text(sh(f, f->repo, "git reflog -1 --format=%%gs; git rev-parse HEAD"), moving);
    assert_text(sh(f, f->repo, "git status | sed 's/[0-9a-f]*$//' | head -1"), "HEAD detached at");
}

/* git's own way back carries what does not collide, and refuses what does. */
static void switch_goes_back(void **state)
{
    WITH_WORK;
    in_repo(f,
            "echo staged >staged && git add staged && echo edit >>run.sh && echo loose >loose && "
            "echo mine >new");
    leave(f, &ask, &m);
    assert_int_equal(sh_status(f, f->repo, "git switch main 2>/dev/null"), 1);
    in_repo(f, "rm new && git switch -q -");
    assert_text(sh(f, f->repo, "git symbolic-ref --short HEAD; git status --porcelain; cat new"),
                "main\n M run.sh\nA  staged\n?? loose\nn\nm");
}

static void whatever_is_in_the_way_stays(void **state)
{
    static const char *const in_the_way[] = {
        "echo mine >src/one.c",
        "echo mine >src/one.c && git add src/one.c",
        "echo mine >new",
        "echo mine >new && echo new >>.git/info/exclude",
        "git rm -q src/one.c",
        "touch .git/index.lock",
        "git config filter.f.clean false && git config filter.f.smudge false && "
        "git config filter.f.required true && echo '* filter=f' >.git/info/attributes",
    };
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_two_commits(f, &a);
    AUTO_FREE char *old = sh(f, f->repo, "git rev-parse main");
    for (size_t i = 0; i < ARRAY_LEN(in_the_way); i++)
        for (int how = WT_MERGE_AUTO; how <= (i == 0 ? WT_MERGE_REBASE : WT_MERGE_AUTO); how++) {
            AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
            struct wt_merge_ask ask = {
                .branch = "headgate/1/1", .how = (enum wt_merge_how)how, .ref_only = true};
            in_repo(f, "%s", in_the_way[i]);
            if (strstr(in_the_way[i], "filter"))
                assert_ok(merge_as(f, &ask, &m, &err), &err);
            else
                leave(f, &ask, &m);
            assert_text(sh(f, f->repo, "git show main:new"), "n\nm");
            in_repo(f,
                    "rm -f .git/index.lock .git/info/attributes .git/info/exclude && "
                    "git reset -q --hard && git clean -qfdx && git switch -q -C main %s",
                    old);
        }
}

/* What ends with a reset of HEAD alone may go on; what sets the branch in the end may not. */
static void operations_under_way(void **state)
{
    static const char *const kinds[] = {"merge", "cherry-pick"};
    WITH_WORK;
    in_repo(f, "git switch -q -c other && echo other >run.sh && git commit -qam other && "
               "git switch -q main && echo main >run.sh && git commit -qam main");
    AUTO_FREE char *start = sh(f, f->repo, "git rev-parse main");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        assert_int_equal(sh_status(f, f->repo, "git %s other >/dev/null 2>&1", kinds[i]), 1);
        ask.dry_run = true;
        ask.ref_only = false;
        assert_false(merge_as(f, &ask, &m, &err));
        assert_has(err.text, "is under way there; finish that or give it up there, then merge");
        ask.dry_run = false;
        leave(f, &ask, &m);
        assert_string_equal(m.left[0].doing, kinds[i]);
        /* Given up, then finished: neither touches the branch. */
        in_repo(f, "git %s --abort && test -z \"$(git status --porcelain)\" && git switch -q main",
                kinds[i]);
        assert_both(sh(f, f->repo, "git rev-parse main; cat new"), xasprintf("%s\nn\nm", m.commit));
        wt_merge_release(&m);
        in_repo(f, "git reset -q --hard %s", start);
        assert_int_equal(sh_status(f, f->repo, "git %s other >/dev/null 2>&1", kinds[i]), 1);
        leave(f, &ask, &m);
        in_repo(f, "echo both >run.sh && git add run.sh && git commit -qm both && "
                   "git switch -q main 2>/dev/null && git merge -q -m back -");
        assert_text(sh(f, f->repo, "cat run.sh new"), "both\nn\nm");
        wt_merge_release(&m);
        in_repo(f, "git reset -q --hard %s", start);
    }
}

static void a_rebase_is_waited_for_and_a_bisection_is_not(void **state)
{
    WITH_WORK;
    ask.into = "main";
    in_repo(f, "git commit -q --allow-empty -m e && "
               "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 2>/dev/null");
    AUTO_FREE char *before = everything(f);
    assert_false(merge_as(f, &ask, &m, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "which sets it when it ends");
    assert_text(everything(f), before);
    in_repo(f, "git rebase --abort && git commit -q --allow-empty -m f && "
               "git bisect start main main~2 >/dev/null");
    ask.ref_only = false;
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "disturbs no bisection");
    ask.ref_only = true;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 0);
    in_repo(f, "git bisect good >/dev/null && git bisect reset >/dev/null 2>&1");
    assert_both(sh(f, f->repo,
                   "git symbolic-ref --short HEAD; git status --porcelain; cat new; "
                   "git rev-parse main"),
                xasprintf("main\nn\nm\n%s", m.commit));
}

/* Every worktree that has it counts, wherever it lies; one that is gone may come back. */
static void every_checkout_is_left(void **state)
{
    WITH_WORK;
    free(sh(f, f->root,
            "git -C repo worktree add -q -f '../a side' main && "
            "git -C repo worktree add -q -f ../gone main && mv gone away && "
            "echo mine >'a side/src/one.c'"));
    AUTO_FREE char *side = fs_join(f->root, "a side");
    AUTO_FREE char *away = fs_join(f->root, "away");
    AUTO_FREE char *files = checkout_of(f, side);
    ask.ref_only = false;
    AUTO_FREE char *before = everything(f);
    assert_false(merge_as(f, &ask, &m, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "main is checked out at");
    assert_has(err.text, "a side");
    assert_has(err.text, "--ref-only");
    assert_text(everything(f), before);
    ask.ref_only = ask.dry_run = true;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 3);
    assert_text(everything(f), before);
    wt_merge_release(&m);
    ask.dry_run = false;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 3);
    assert_text(checkout_of(f, side), files);
    free(sh(f, f->root, "mv away gone"));
    for (size_t i = 0; i < m.n_left; i++) {
        assert_text(sh(f, m.left[i].path, "git rev-parse HEAD"), old);
        assert_int_equal(sh_status(f, m.left[i].path, "git symbolic-ref -q HEAD"), 1);
        assert_int_equal(m.left[i].is_there, strstr(m.left[i].path, "gone") == NULL);
    }
    assert_text(sh(f, f->root,
                   "cd gone && git commit -q --allow-empty -am mine && "
                   "git cat-file -e main:new && cd ../repo && git switch -q main && "
                   "cat new"),
                "n\nm");
    assert_false(fs_exists(away));
}

/* A branch whose one checkout is gone moves, and that one is off it. */
static void a_checkout_that_is_gone_is_left(void **state)
{
    WITH_WORK;
    free(sh(f, f->root, "git -C repo worktree add -q -b late ../late && mv late away"));
    ask.into = "late";
    ask.ref_only = false;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 1);
    assert_false(m.left[0].is_there);
    assert_text(sh(f, f->root,
                   "mv away late && cd late && echo x >x && git add x && "
                   "git commit -qam mine && git show late:new"),
                "n\nm");
}

static void nowhere_checked_out_it_is_as_ever(void **state)
{
    WITH_WORK;
    in_repo(f, "git branch plain && echo mine >src/one.c");
    AUTO_FREE char *files = checkout_of(f, f->repo);
    ask.into = "plain";
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 0);
    assert_both(sh(f, f->repo, "git rev-parse plain; git symbolic-ref HEAD"),
                xasprintf("%s\nrefs/heads/main", m.commit));
    assert_text(checkout_of(f, f->repo), files);
    wt_merge_release(&m);
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_true(m.up_to_date);
    /* What could be updated is left as well: the words say so. */
    ask.into = "main";
    in_repo(f, "git checkout -q src/one.c");
    wt_merge_release(&m);
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_int_equal(m.n_left, 1);
    assert_text(sh(f, f->repo, "git status --porcelain; cat .git/HEAD"), old);
    in_repo(f, "git checkout -q --orphan fresh");
    ask.into = NULL;
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "fresh has no commit yet");
}

static void other_kinds_of_repository(void **state)
{
    static const char *const kinds[] = {
        "git init -q --object-format=sha256 r",
        "git init -q --separate-git-dir=elsewhere r",
        "git init -q r && git -C r config extensions.worktreeConfig true",
        "git init -q --bare b && c=$(git -C b commit-tree -m x $(git -C b mktree </dev/null)) && "
        "git -C b update-ref refs/heads/side $c && git -C b worktree add -q ../r side",
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
        AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
        struct err err = ERR_INIT;
        const struct wt_merge_ask refused = {.branch = "work", .into = "main"};
        const struct wt_merge_ask ask = {.branch = "work", .into = "main", .ref_only = true};
        AUTO_FREE char *top = xasprintf("%s/kind %zu/r", f->root, i);
        free(
            sh(f, f->root,
               "mkdir 'kind %zu' && cd 'kind %zu' && { %s; } && cd r && "
               "git checkout -q -B main && echo one >file && git add file && git commit -qm one && "
               "git switch -q -c work && echo two >file && git commit -qam two && "
               "git switch -q main && echo mine >file",
               i, i, kinds[i]));
        AUTO_FREE char *files = checkout_of(f, top);
        assert_ok(wt_repo_open(&repo, top, &err), &err);
        assert_false(wt_merge(&m, &repo, &refused, &err));
        assert_ok(wt_merge(&m, &repo, &ask, &err), &err);
        assert_int_equal(m.n_left, 1);
        assert_string_equal(m.left[0].path, top);
        assert_text(checkout_of(f, top), files);
        assert_text(sh(f, top, "git commit -qam mine && git show main:file && cat file"),
                    "two\nmine");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_afterwards_takes_nothing_back),
        TEST(the_reflogs_tell),
        TEST(switch_goes_back),
        TEST(whatever_is_in_the_way_stays),
        TEST(operations_under_way),
        TEST(a_rebase_is_waited_for_and_a_bisection_is_not),
        TEST(every_checkout_is_left),
        TEST(a_checkout_that_is_gone_is_left),
        TEST(nowhere_checked_out_it_is_as_ever),
        TEST(other_kinds_of_repository),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
