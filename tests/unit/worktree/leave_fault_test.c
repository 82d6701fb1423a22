/*
 * A merge that moves the branch alone, when somebody else is quicker, and with one fault at a time
 * at every step: as an error, and as a crash.
 */
#include "tests/unit/worktree/leaving.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worktree/fault.h"
#include "worktree/leave.h"
#include "worktree/refs.h"
#include "worktree/reftx.h"

enum { STEPS_MAX = 40, CRASH_STATUS = 86 };

/* What somebody does between the look and the locks: then nothing has changed but that. */
static void others_win(void **state)
{
    static const char *const races[] = {
        "git commit -q --allow-empty -m quick",
        "git switch -q -c same",
        "git checkout -q --detach",
        "git worktree add -q -f ../more main",
        "touch .git/HEAD.lock",
        "touch .git/refs/heads/main.lock",
        "git switch -q -c same && git worktree add -q ../more main",
    };
    WITH_WORK;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_FREE char *scratch = fs_join(f->root, "scratch");
    AUTO_FREE char *tip = sh(f, f->repo, "git rev-parse headgate/1/1");
    assert_ok(fs_mkdirs(scratch, 0755, &err) && wt_repo_open(&repo, f->repo, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(races); i++) {
        AUTO_PLACES struct places places = PLACES_INIT;
        const struct leave l = {.repo = &repo,
                                .scratch = scratch,
                                .ref = "refs/heads/main",
                                .target = old,
                                .what = "merge headgate/1/1",
                                .places = &places};
        assert_ok(places_of(&places, &repo, "refs/heads/main", &err), &err);
        assert_int_equal(places.n, 1);
        in_repo(f, "%s", races[i]);
        AUTO_FREE char *before = everything(f);
        if (leave_and_move(&l, tip, &err))
            fail_msg("somebody else came first: %s", races[i]);
        assert_int_equal(err.code, ERR_CONFLICT);
        assert_has(err.text, "nothing was changed");
        assert_has(err.text, "; merge again");
        assert_text(everything(f), before);
        in_repo(f,
                "rm -f .git/HEAD.lock .git/refs/heads/main.lock; rm -rf ../more; "
                "git worktree prune; git switch -q -C main %s; git branch -q -D same "
                "2>/dev/null; true",
                old);
        AUTO_PLACES struct places again = PLACES_INIT;
        assert_ok(places_of(&again, &repo, "refs/heads/main", &err), &err);
        assert_true(places_are_same(&places, &again));
    }
}

/* While it is held nobody's git goes past; let go, nothing was. */
static void what_is_held_is_nobody_elses(void **state)
{
    WITH_WORK;
    AUTO_BUF struct buf lines = BUF_INIT;
    AUTO_REFTX struct reftx tx = REFTX_INIT;
    AUTO_FREE char *git_dir = fs_join(f->repo, ".git");
    refs_tx_set(&lines, "HEAD", old, old);
    AUTO_FREE char *before = everything(f);
    assert_ok(reftx_prepare(&tx, git_dir, &lines, "why", &err), &err);
    assert_true(sh_status(f, f->repo, "git commit -q --allow-empty -m no 2>/dev/null") != 0);
    assert_true(sh_status(f, f->repo, "git switch -q --detach 2>/dev/null") != 0);
    reftx_release(&tx);
    assert_text(everything(f), before);
    in_repo(f, "git commit -q --allow-empty -m yes");
    AUTO_REFTX struct reftx late = REFTX_INIT;
    assert_false(reftx_prepare(&late, git_dir, &lines, "why", &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_has(err.text, "HEAD");
}

static bool merge_now(struct fixture *f, struct err *err)
{
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    const struct wt_merge_ask ask = {.branch = "headgate/1/1", .into = "main", .ref_only = true};
    return merge_as(f, &ask, &m, err);
}

static void a_fault_at_any_step_changes_nothing(void **state)
{
    WITH_WORK;
    free(sh(f, f->root, "git -C repo worktree add -q -f ../side main"));
    in_repo(f, "echo mine >src/one.c && git add src/one.c && echo p >p");
    const char *const state_of = "git for-each-ref; cat .git/HEAD .git/worktrees/side/HEAD; "
                                 "find .git -name '*.lock' -o -name 'tmp_objdir*'";
    AUTO_FREE char *refs = sh(f, f->repo, "%s", state_of);
    AUTO_FREE char *files = checkout_of(f, f->repo);
    int n = 1;
    for (;; n++) {
        assert_true(n < STEPS_MAX);
        wt_fault_at(n, false);
        bool is_done = merge_now(f, &err);
        wt_fault_at(0, false);
        if (is_done)
            break;
        assert_has(err.text, "injected fault");
        assert_text(sh(f, f->repo, "%s", state_of), refs);
        assert_text(checkout_of(f, f->repo), files);
    }
    assert_true(n > 9);
    assert_text(checkout_of(f, f->repo), files);
    assert_both(sh(f, f->repo, "cat .git/HEAD .git/worktrees/side/HEAD; git show main:new"),
                xasprintf("%s\n%s\nn\nm", old, old));
}

/* True when the fault ended the process. */
static bool crashes(struct fixture *f, int n)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct err err = ERR_INIT;
        wt_fault_at(n, true);
        _exit(merge_now(f, &err) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CRASH_STATUS)
        return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

/* The git that was told nothing lets go by itself, a moment after. */
static void wait_for_locks(const struct fixture *f)
{
    free(sh(f, f->repo, "while find .git -name '*.lock' | grep -q .; do sleep 0.01; done"));
}

static void a_crash_at_any_step_does_no_harm(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c && git add src/one.c && echo p >p");
    AUTO_FREE char *files = checkout_of(f, f->repo);
    int n = 1, n_detached = 0;
    for (; crashes(f, n); n++) {
        assert_true(n < STEPS_MAX);
        wait_for_locks(f);
        assert_text(sh(f, f->repo, "git rev-parse main HEAD | uniq"), old);
        assert_text(checkout_of(f, f->repo), files);
        bool is_detached = sh_status(f, f->repo, "git symbolic-ref -q HEAD >/dev/null") != 0;
        n_detached += is_detached;
        if (is_detached)
            in_repo(f, "git switch -q -");
        assert_text(sh(f, f->repo, "cat .git/HEAD"), "ref: refs/heads/main");
        assert_text(sh(f, f->repo, "git status --porcelain"), "M  src/one.c\n?? p");
        files = (free(files), checkout_of(f, f->repo));
    }
    assert_int_equal(n_detached, 1);
    assert_text(checkout_of(f, f->repo), files);
    assert_both(sh(f, f->repo, "cat .git/HEAD; git show main:new"), xasprintf("%s\nn\nm", old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(others_win),
        TEST(what_is_held_is_nobody_elses),
        TEST(a_fault_at_any_step_changes_nothing),
        TEST(a_crash_at_any_step_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
