/*
 * What engines must have in common whatever the repository: which is taken, many at one moment, as
 * every kind of user, and bases that come from others.
 */
#include "tests/unit/worktree/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 40, SOMEBODY = 65534 };

/* As if these engines had been tried since the machine started. */
static void let_not_work(const struct fixture *f, const char *names)
{
    free(
        sh(f, f->bases,
           "for e in %s; do printf '%%s no such device' \"$(cat /proc/sys/kernel/random/boot_id)\" "
           ">$e-probe; done",
           names));
}

static void the_first_that_works_is_taken(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", false, WT_ENGINE_OVERLAY);
    assert_int_equal(a.engine, WT_ENGINE_OVERLAY);
    assert_string_equal(a.engine_why, "the default");
    bool is_last = f->engine == WT_ENGINE_CHECKOUT || f->engine == WT_ENGINE_OVERLAY;
    let_not_work(f, is_last ? "overlay btrfs reflink" : "overlay");
    make_attempt(f, &b, "1.2", false, WT_ENGINE_OVERLAY);
    assert_int_equal(b.engine, is_last ? WT_ENGINE_CHECKOUT : f->engine);
    assert_has(b.engine_why, "overlay does not work: no such device");
    if (is_last) {
        assert_has(b.engine_why, "reflink does not work: ");
        assert_has(b.engine_why, "its files are on this host");
    }
}

static void a_name_that_does_not_work_makes_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    let_not_work(f, "overlay reflink");
    assert_false(try_attempt(f, &a, "1.1", true, WT_ENGINE_REFLINK, &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_has(err.text, "the engine reflink does not work here: no such device; without a name");
    assert_text(sh(f, f->attempts, "find . -mindepth 2; git -C ../repo for-each-ref | wc -l"), "1");
}

struct job {
    struct fixture *f;
    struct wt_attempt a;
    struct err err;
    char id[16];
    bool is_ok;
};

static void *create_one(void *arg)
{
    struct job *job = arg;
    job->is_ok = try_attempt(job->f, &job->a, job->id, true, job->f->engine, &job->err);
    return NULL;
}

static void *discard_one(void *arg)
{
    struct job *job = arg;
    job->is_ok = wt_discard(&job->a, true, &job->err);
    return NULL;
}

static void run_all(struct job *jobs, void *(*body)(void *))
{
    pthread_t threads[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, &jobs[i]), 0);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < AT_ONCE; i++)
        if (!jobs[i].is_ok)
            fail_msg("%s: %s", jobs[i].id, jobs[i].err.text);
}

static void forty_at_one_moment(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE struct job *jobs = xcalloc(AT_ONCE, sizeof(*jobs));
    for (int i = 0; i < AT_ONCE; i++) {
        jobs[i] = (struct job){.f = f, .a = WT_ATTEMPT_INIT, .err = ERR_INIT};
        snprintf(jobs[i].id, sizeof(jobs[i].id), "7.%d", i + 1);
    }
    AUTO_FREE char *config = sh(f, f->repo, "md5sum .git/config");
    run_all(jobs, create_one);
    assert_text(sh(f, f->repo,
                   "git branch --list 'headgate/*' | wc -l; git worktree list | wc -l; "
                   "git worktree list --porcelain | grep -c ^locked"),
                "40\n41\n40");
    assert_text(sh(f, f->bases, "ls -d ./*-???????? 2>/dev/null | wc -l"),
                f->engine == WT_ENGINE_CHECKOUT ? "0" : "1");
    assert_text(inside(f, &jobs[AT_ONCE - 1].a, "git status --porcelain; git log --format=%%s"),
                "first");
    assert_text(sh(f, f->repo, "md5sum .git/config"), config);
    run_all(jobs, discard_one);
    assert_text(
        sh(f, f->repo,
           "git for-each-ref --format='%%(refname)'; ls -d .git/worktrees 2>/dev/null; true"),
        "refs/heads/main");
    for (int i = 0; i < AT_ONCE; i++)
        wt_attempt_release(&jobs[i].a);
}

/* Started by root, boxes run as another account: what it writes belongs to it, and nothing is read
 * again for that. */
static void another_account_owns_its_work(void **state)
{
    struct fixture *f = *state;
    if (geteuid() != 0)
        skip();
    f->uid = SOMEBODY;
    go_round(f);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.2", true, f->engine);
    assert_text(inside(f, &a, "id -u; echo x >x; stat -c %%u x src/one.c .git"),
                "65534\n65534\n65534\n65534");
    struct stat st;
    assert_int_equal(stat(f->repo, &st), 0);
    assert_int_equal(st.st_uid, 0);
}

/* A copy of the base needs it no longer, and the next one makes it again. */
static void a_base_goes_when_nobody_needs_it(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_STRV struct strv gone = STRV_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    size_t expected = f->engine == WT_ENGINE_BTRFS || f->engine == WT_ENGINE_REFLINK;
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_int_equal(gone.n, expected);
    assert_text(inside(f, &a, "cat link; git status --porcelain"), "one");
    make_attempt(f, &b, "1.2", true, f->engine);
    assert_text(inside(f, &b, "git diff-files --name-only; cat link"), "one");
    assert_ok(wt_discard(&a, false, &err) && wt_discard(&b, false, &err), &err);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_text(sh(f, f->bases, "ls | grep -v probe || echo nothing"), "nothing");
}

/* The base of a commit that is near another comes from it, with every kind of change. */
static void a_changed_base_comes_from_the_other(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    in_repo(
        f, "mkdir -p gone/deep was && echo g >gone/deep/g && echo w >was/folder && echo f >file && "
           "git add . && git commit -qm before");
    make_attempt(f, &a, "1.1", true, f->engine);
    in_repo(f, "git rm -qr gone was file && echo now >was && mkdir file && echo i >file/inside && "
               "chmod -x run.sh && ln -snf 'a b' link && echo more >>src/one.c && git add . && "
               "git commit -qm after");
    make_attempt(f, &b, "1.2", true, f->engine);
    assert_text(inside(f, &b,
                       "git diff-files --name-only; git status --porcelain; ls; readlink link; "
                       "test ! -x run.sh && cat was file/inside src/one.c"),
                "a b\nfile\nlink\nrun.sh\nsrc\nwas\na b\nnow\ni\none\nmore");
    assert_text(inside(f, &a, "git status --porcelain; cat was/folder gone/deep/g"), "w\ng");
    assert_ok(wt_discard(&a, false, &err) && wt_discard(&b, false, &err), &err);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(the_first_that_works_is_taken),
        TEST(a_name_that_does_not_work_makes_nothing),
        TEST(forty_at_one_moment),
        TEST(another_account_owns_its_work),
        TEST(a_base_goes_when_nobody_needs_it),
        TEST(a_changed_base_comes_from_the_other),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    return cmocka_run_group_tests(each, NULL, NULL);
}
