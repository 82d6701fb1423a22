/*
 * One fault at a time at every step of every operation: as an error, and as a crash that is
 * recovered from. Then nothing is left behind, nothing is lost, and nothing else was touched.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worktree/fault.h"

enum { STEPS_MAX = 60, CRASH_STATUS = 86 };

/* The repository but for object files, which nobody refers to until a ref does. */
static char *repository(const struct fixture *f)
{
    return sh(
        f, f->repo,
        "git for-each-ref; git symbolic-ref HEAD; git status --porcelain; md5sum .git/config; "
        "ls -A .git .git/worktrees 2>/dev/null; ls -d .git/objects/tmp* 2>/dev/null; "
        "find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 md5sum; git fsck "
        "--no-dangling 2>&1");
}

static char *folder(const struct fixture *f, const char *dir)
{
    return sh(f, dir, "ls -A");
}

/* Run op in a child, where the fault ends the process. True when it did. */
static bool crashes(bool (*op)(struct fixture *f, struct err *err), struct fixture *f, int n)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct err err = ERR_INIT;
        wt_fault_at(n, true);
        bool is_ok = op(f, &err);
        if (!is_ok)
            fprintf(stderr, "%s\n", err.text);
        _exit(is_ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CRASH_STATUS)
        return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

static bool create(struct fixture *f, struct err *err)
{
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    return try_attempt(f, &a, "1.1", true, f->engine, err);
}

static char *attempt_dir(const struct fixture *f)
{
    return fs_join(f->attempts, "1.1");
}

static void creation_is_undone(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = attempt_dir(f);
    AUTO_FREE char *before = repository(f);
    for (int n = 1;; n++) {
        struct err err = ERR_INIT;
        assert_true(n < STEPS_MAX);
        wt_fault_at(n, false);
        bool is_made = create(f, &err);
        wt_fault_at(0, false);
        if (is_made)
            break;
        assert_has(err.text, "injected fault");
        assert_text(repository(f), before);
        assert_text(folder(f, dir), "");
        assert_int_equal(sh_status(f, f->bases, "ls -d ./*.new 2>/dev/null"), 2);
    }
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    struct err err = ERR_INIT;
    assert_ok(wt_load(&a, dir, &err) && wt_discard(&a, true, &err), &err);
    assert_text(repository(f), before);
}

static void a_crash_in_creation_is_recovered_from(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = attempt_dir(f);
    AUTO_FREE char *before = repository(f);
    struct err err = ERR_INIT;
    int n = 1;
    for (; crashes(create, f, n); n++) {
        assert_true(n < STEPS_MAX);
        assert_ok(wt_recover(dir, &err), &err);
        assert_text(repository(f), before);
        assert_text(folder(f, dir), "");
        assert_ok(wt_recover(dir, &err), &err);
    }
    assert_true(n > 8);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    assert_ok(wt_load(&a, dir, &err), &err);
    assert_text(inside(f, &a, "git status --porcelain"), "");
}

static bool harvest_now(struct fixture *f, struct err *err)
{
    AUTO_FREE char *dir = attempt_dir(f);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    assert_ok(wt_load(&a, dir, err), err);
    struct box_arg box = {.f = f, .a = &a};
    return wt_harvest(&h, &a, true, box_fn, &box, err);
}

static const char work[] =
    "echo x >x && git add x && git commit -qm x && git branch y && echo u >u";

/* Before the transaction nothing has changed; after it everything is there. Either way the next
 * harvest is whole. */
static void assert_old_or_new(struct fixture *f, const char *dir, const char *before)
{
    AUTO_FREE char *after = repository(f);
    AUTO_FREE char *now = folder(f, dir);
    bool is_new = strstr(after, "refs/headgate/1/1/snapshot") != NULL;
    if (!is_new)
        assert_string_equal(after, before);
    assert_null(strstr(now, "scratch"));
    assert_null(strstr(now, "incoming"));
    assert_null(strstr(now, "journal"));
    assert_null(strstr(after, "tmp_objdir"));
}

static void harvest_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = attempt_dir(f);
    struct err err = ERR_INIT;
    for (int is_crash = 0; is_crash <= 1; is_crash++) {
        AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
        make_attempt(f, &a, "1.1", true, f->engine);
        free(inside(f, &a, "%s", work));
        AUTO_FREE char *before = repository(f);
        for (int n = 1;; n++) {
            assert_true(n < STEPS_MAX);
            if (is_crash ? !crashes(harvest_now, f, n)
                         : (wt_fault_at(n, false), harvest_now(f, &err)))
                break;
            wt_fault_at(0, false);
            assert_ok(wt_recover(dir, &err), &err);
            assert_old_or_new(f, dir, before);
        }
        wt_fault_at(0, false);
        assert_text(sh(f, f->repo,
                       "git show --format=%%s --name-only headgate/1/1; "
                       "git log -1 --format=%%s refs/headgate/1/1/heads/y"),
                    "Snapshot of uncommitted work\n\nu\nx");
        assert_ok(wt_discard(&a, true, &err), &err);
    }
}

static bool discard_now(struct fixture *f, struct err *err)
{
    AUTO_FREE char *dir = attempt_dir(f);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    return wt_load(&a, dir, err) && wt_discard(&a, true, err);
}

static void removal_is_finished(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = attempt_dir(f);
    AUTO_FREE char *before = repository(f);
    struct err err = ERR_INIT;
    for (int is_crash = 0; is_crash <= 1; is_crash++)
        for (int n = 1;; n++) {
            AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
            assert_true(n < STEPS_MAX);
            make_attempt(f, &a, "1.1", true, f->engine);
            free(inside(f, &a, "%s", work));
            assert_true(harvest_now(f, &err));
            bool is_done = is_crash ? !crashes(discard_now, f, n)
                                    : (wt_fault_at(n, false), discard_now(f, &err));
            wt_fault_at(0, false);
            assert_ok(wt_recover(dir, &err), &err);
            assert_text(repository(f), before);
            assert_text(folder(f, dir), "");
            if (is_done)
                break;
        }
}

static bool merge_now(struct fixture *f, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    const struct wt_merge_ask ask = {.branch = "headgate/1/1"};
    return wt_merge(&m, &repo, &ask, err);
}

static void a_merge_is_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    free(inside(f, &a, "%s", work));
    assert_ok(harvest_now(f, &err), &err);
    in_repo(f, "echo p >p && git add p && git commit -qm p");
    AUTO_FREE char *before = sh(f, f->repo, "git for-each-ref; git status --porcelain; ls");
    int n = 1;
    for (;; n++) {
        assert_true(n < STEPS_MAX);
        wt_fault_at(n, false);
        if (merge_now(f, &err))
            break;
        assert_text(sh(f, f->repo, "git for-each-ref; git status --porcelain; ls"), before);
        assert_text(sh(f, f->repo, "ls -d .git/objects/tmp* 2>/dev/null; true"), "");
    }
    wt_fault_at(0, false);
    assert_true(n > 2);
    assert_text(sh(f, f->repo, "cat p u x; git status --porcelain"), "p\nu\nx");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(creation_is_undone),
        TEST(a_crash_in_creation_is_recovered_from),
        TEST(removal_is_finished),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(harvest_is_all_or_nothing),
        TEST(a_merge_is_all_or_nothing),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
