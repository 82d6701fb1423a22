/* What a merge meets in the target and the branch: operations under way, squashes, deletions. */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "worktree/start.h"

static bool merge_as(struct fixture *f, const struct wt_merge_ask *ask, struct wt_merge *ret,
                     struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    return wt_merge(ret, &repo, ask, err);
}

#define WITH_WORK                                          \
    struct fixture *f = *state;                            \
    struct err err = ERR_INIT;                             \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;       \
    struct wt_merge_ask ask = {.branch = "headgate/1/1"};  \
    make_two_commits(f, &a)

static void refuse_busy(struct fixture *f, const struct wt_merge_ask *ask, const char *doing)
{
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    struct err err = ERR_INIT;
    AUTO_FREE char *before = sh(f, f->repo, "git rev-parse main");
    if (merge_as(f, ask, &m, &err))
        fail_msg("merged into a branch that is being %s", doing);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, doing);
    assert_text(sh(f, f->repo, "git rev-parse main"), before);
}

/* `git rebase --abort` sets the branch to what it was, and a merge would be gone with it. */
static void a_branch_that_is_rebased_stays(void **state)
{
    WITH_WORK;
    ask.into = "main";
    in_repo(f, "git commit -q --allow-empty -m e && "
               "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 2>/dev/null");
    refuse_busy(f, &ask, "rebased");
    in_repo(f, "git rebase --abort && git bisect start main HEAD~1 >/dev/null && "
               "git checkout -q --detach && echo main >.git/BISECT_START");
    refuse_busy(f, &ask, "bisected");
    in_repo(f, "git bisect reset >/dev/null && git checkout -q --detach && "
               "git worktree add -q ../side main && cd ../side && "
               "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 2>/dev/null");
    refuse_busy(f, &ask, "side");
    free(sh(f, f->root, "git -C side rebase --abort"));
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_false(m.up_to_date);
}

/* The agent goes on while a person rebases its branch: the person's rebase is not disturbed. */
static void a_harvest_leaves_a_rebase_alone(void **state)
{
    WITH_WORK;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    in_repo(f, "git switch -q headgate/1/1 && "
               "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1 2>/dev/null");
    free(inside(f, &a, "echo more >more && git add more && git commit -qm three"));
    harvest(f, &a, true, &h);
    assert_false(h.branch_moved);
    assert_has(h.note, "is being rebased");
    assert_false(wt_discard(&a, true, &err));
    assert_has(err.text, "is being rebased");
    in_repo(f, "git commit -q --amend -m mine && git rebase --continue >/dev/null 2>&1 && "
               "test \"$(git log -1 --format=%%s headgate/1/1)\" = mine && "
               "test \"$(git log -1 --format=%%s refs/headgate/1/1/head)\" = three && "
               "git switch -q main");
    /* A merge takes the person's branch, and says what is not in it. */
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_has(m.note, "refs/headgate/1/1/head");
}

static void what_was_squashed_by_hand_is_there(void **state)
{
    WITH_WORK;
    in_repo(f, "git merge -q --squash headgate/1/1 >/dev/null && git commit -qm squashed");
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        ask.how = (enum wt_merge_how)how;
        assert_ok(merge_as(f, &ask, &m, &err), &err);
        assert_true(m.up_to_date);
        wt_merge_release(&m);
    }
    in_repo(f, "echo later >src/one.c && git commit -qam later");
    for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
        ask.how = (enum wt_merge_how)how;
        assert_ok(merge_as(f, &ask, &m, &err), &err);
        assert_int_equal(m.conflicts.n, 0);
        assert_true(m.up_to_date);
        wt_merge_release(&m);
    }
    /* What was taken back can be brought again. */
    in_repo(f, "git revert --no-edit HEAD HEAD~1 >/dev/null");
    ask.how = WT_MERGE_SQUASH;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_false(m.up_to_date);
    free(sh(f, f->repo, "grep -q changed src/one.c"));
}

static void a_deleted_branch_is_merged_by_its_tip(void **state)
{
    WITH_WORK;
    AUTO_FREE char *tip = sh(f, f->repo, "git rev-parse headgate/1/1");
    in_repo(f, "git branch -q -D headgate/1/1");
    assert_false(merge_as(f, &ask, &m, &err));
    ask.own_tip = tip;
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_string_equal(m.commit, tip);
    assert_has(m.note, "was deleted");
    free(sh(f, f->repo, "test -f new && git fsck --no-dangling"));
}

/* What an agent resolved by a merge of the target comes home, and of the uncommitted work that it
 * started from what is still uncommitted does not. */
static void resolved_work_leaves_uncommitted_work_out(void **state)
{
    struct fixture *f = *state;
    for (int is_committed = 0; is_committed < 2; is_committed++) {
        struct err err = ERR_INIT;
        AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
        AUTO_WT_START struct wt_start s = WT_START_INIT;
        AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
        AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
        in_repo(f, "git reset -q --hard && seq 9 >lines && git add lines && git commit -q "
                   "--allow-empty -m lines && echo mine >mine");
        assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
        assert_ok(wt_start_wip(&s, &repo, &err), &err);
        f->base = s.commit.oid;
        make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
        free(inside(f, &a, "sed -i '5s/.*/agent/' lines && git commit -qam agent"));
        in_repo(f, "%s sed -i '5s/.*/person/' lines && git commit -qam person",
                is_committed ? "git add mine && git commit -qm mine &&" : "");
        AUTO_FREE char *target = sh(f, f->repo, "git rev-parse main");
        free(inside(f, &a,
                    "git merge -q %s >/dev/null 2>&1; sed -i '/^[<=>]/d; /^person/d; "
                    "s/^agent/both/' lines && git add lines && git commit -qm resolved",
                    target));
        harvest(f, &a, true, &h);
        for (int how = WT_MERGE_AUTO; how <= WT_MERGE_REBASE; how++) {
            AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
            const struct wt_merge_ask ask = {.branch = "headgate/1/1",
                                             .how = (enum wt_merge_how)how,
                                             .message = "all",
                                             .leave_out = a.base};
            assert_ok(merge_as(f, &ask, &m, &err), &err);
            assert_int_equal(m.conflicts.n, 0);
            assert_text(sh(f, f->repo,
                           "git diff --name-only %s main; sed -n 5p lines; cat mine; "
                           "git status --porcelain",
                           target),
                        is_committed ? "lines\nboth\nmine" : "lines\nboth\nmine\n?? mine");
            in_repo(f, "git reset -q --keep %s", target);
        }
        assert_ok(wt_discard(&a, true, &err), &err);
        in_repo(f,
                "rm -f mine; git rm -q --cached --ignore-unmatch mine; git commit -q --allow-empty "
                "-m next");
        f->base = NULL;
    }
}

static void a_dry_run_sees_ignored_files(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >new && echo new >>.git/info/exclude");
    ask.dry_run = true;
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "the ignored file new would be overwritten");
    in_repo(f, "rm new");
    assert_ok(merge_as(f, &ask, &m, &err), &err);
}

/* Full names are names too; an error is one line; a branch without a commit says so. */
/* Also by a merge whose commit is in no repository yet. */
static void each_file_in_the_way_is_named(void **state)
{
    WITH_WORK;
    ask.dry_run = true;
    in_repo(f, "echo other >other && git add other && git commit -qm other && "
               "echo mine >>src/one.c && echo mine >new");
    assert_false(merge_as(f, &ask, &m, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "what is yours in src/one.c, new;");
    in_repo(f, "git checkout -q src/one.c && rm new");
    assert_ok(merge_as(f, &ask, &m, &err), &err);
}

static void says_what_to_do(void **state)
{
    WITH_WORK;
    ask.into = "refs/heads/main";
    in_repo(f, "echo mine >new && echo mine >src/one.c");
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "what is yours in src/one.c, new; commit, stash or move");
    assert_null(strchr(err.text, '\n'));
    in_repo(f, "rm new && git checkout -q . && touch .git/index.lock");
    assert_false(merge_as(f, &ask, &m, &err));
    assert_null(strchr(err.text, '\n'));
    in_repo(f, "rm .git/index.lock");
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_string_equal(m.into, "main");
    wt_merge_release(&m);
    ask.into = NULL;
    in_repo(f, "git checkout -q --orphan fresh");
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "fresh has no commit yet");
}

/* git follows such a name wherever it commits; the name stays one. */
static void another_name_of_a_branch_is_followed(void **state)
{
    WITH_WORK;
    in_repo(f, "git symbolic-ref refs/heads/alias refs/heads/main");
    ask.into = "alias";
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_string_equal(m.into, "main");
    AUTO_FREE char *expected = xasprintf("refs/heads/main\n%s\nn\nm", m.commit);
    assert_text(sh(f, f->repo,
                   "git symbolic-ref refs/heads/alias; git rev-parse main; "
                   "git status --porcelain; cat new"),
                expected);
}

/* Not even where a branch has the name that comes of it. */
static void a_name_of_what_is_no_branch_is_none(void **state)
{
    WITH_WORK;
    in_repo(f, "git update-ref refs/remotes/origin/main main && "
               "git update-ref refs/heads/refs/remotes/origin/main main && "
               "git symbolic-ref refs/heads/alias refs/remotes/origin/main");
    AUTO_FREE char *before = sh(f, f->repo, "git for-each-ref");
    ask.into = "alias";
    assert_false(merge_as(f, &ask, &m, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_has(err.text, "alias is another name of refs/remotes/origin/main, which is no branch");
    assert_text(sh(f, f->repo, "git for-each-ref"), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_branch_that_is_rebased_stays),
        TEST(a_harvest_leaves_a_rebase_alone),
        TEST(what_was_squashed_by_hand_is_there),
        TEST(a_deleted_branch_is_merged_by_its_tip),
        TEST(resolved_work_leaves_uncommitted_work_out),
        TEST(another_name_of_a_branch_is_followed),
        TEST(a_name_of_what_is_no_branch_is_none),
        TEST(a_dry_run_sees_ignored_files),
        TEST(each_file_in_the_way_is_named),
        TEST(says_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
