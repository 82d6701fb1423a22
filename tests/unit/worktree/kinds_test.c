/*
 * Attempts in repositories of every kind, as every kind of user, and many at one moment.
 */
#include "tests/unit/worktree/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 40, SOMEBODY = 65534 };

/* Create, work, harvest, merge and discard in the repository f->repo. */
static void go_round(struct fixture *f, bool force, enum wt_engine engine)
{
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    make_attempt(f, &a, "1.1", force, engine);
    assert_text(inside(f, &a, "git diff-files --name-only; git status --porcelain"), "");
    const char *name = wt_engine_name(engine);
    free(inside(f, &a, "echo %s >work && git add work && git commit -qm work && cp work u-%s", name,
                name));
    harvest(f, &a, true, &h);
    assert_int_equal(h.commits, 2);
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    AUTO_FREE char *into = sh(f, f->repo,
                              "git rev-parse -q --verify main >/dev/null && echo main || "
                              "git symbolic-ref --short HEAD");
    const struct wt_merge_ask ask = {.branch = a.branch, .into = into};
    assert_ok(wt_merge(&m, &repo, &ask, &err), &err);
    assert_true(m.was_ff);
    assert_text(sh(f, f->repo, "git show %s:work %s:u-%s | uniq", into, into, name), name);
    assert_ok(wt_discard(&a, false, &err), &err);
    free(sh(f, f->repo, "git fsck --strict"));
}

static void use_repo(struct fixture *f, const char *name)
{
    free(f->repo);
    f->repo = fs_join(f->root, name);
}

static void works_in_a_bare_repository(void **state)
{
    struct fixture *f = *state;
    free(sh(
        f, NULL,
        "git clone -q --bare repo bare.git && git -C bare.git config --unset remote.origin.url"));
    use_repo(f, "bare.git");
    go_round(f, true, WT_ENGINE_OVERLAY);
    go_round(f, true, WT_ENGINE_CHECKOUT);
}

static void works_in_a_linked_worktree(void **state)
{
    struct fixture *f = *state;
    in_repo(f, "git worktree add -q -b side ../linked && echo l >../linked/l && cd ../linked && "
               "git add l && "
               "git commit -qm l");
    use_repo(f, "linked");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void works_with_a_detached_head(void **state)
{
    struct fixture *f = *state;
    in_repo(f, "git checkout -q --detach");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void works_with_sha256(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL,
            "git init -q --object-format=sha256 big && cd big && echo a >a && mkdir s && echo b "
            ">s/b && "
            "git add . && git commit -qm first"));
    use_repo(f, "big");
    go_round(f, true, WT_ENGINE_OVERLAY);
    go_round(f, true, WT_ENGINE_CHECKOUT);
}

static void works_in_a_shallow_clone(void **state)
{
    struct fixture *f = *state;
    in_repo(f, "git commit -q --allow-empty -m b && git commit -q --allow-empty -m c");
    free(sh(f, NULL, "git clone -q --depth 1 file://%s/repo shallow", f->root));
    use_repo(f, "shallow");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void works_in_a_partial_clone(void **state)
{
    struct fixture *f = *state;
    in_repo(f, "git config uploadpack.allowFilter true && echo b >>src/one.c && git commit -qam b");
    free(sh(f, NULL, "git clone -q --no-checkout --filter=blob:none file://%s/repo partial",
            f->root));
    use_repo(f, "partial");
    in_repo(f, "git read-tree -m -u HEAD");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void works_in_a_submodule(void **state)
{
    struct fixture *f = *state;
    free(sh(
        f, NULL,
        "git init -q super && cd super && git -c protocol.file.allow=always submodule --quiet add "
        "../repo sub && git commit -qm sub"));
    use_repo(f, "super/sub");
    go_round(f, true, WT_ENGINE_OVERLAY);
    /* And around one: it is an empty folder until the agent fills it. */
    use_repo(f, "super");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void works_with_borrowed_objects(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL,
            "git clone -q --shared repo second && git clone -q --shared second 'third one' && "
            "echo ../../../second/.git/objects >'third one/.git/objects/info/alternates'"));
    use_repo(f, "third one");
    go_round(f, true, WT_ENGINE_OVERLAY);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.2", true, WT_ENGINE_OVERLAY);
    assert_int_equal(a.objects_ro.n, 3);
}

static void works_with_odd_paths(void **state)
{
    struct fixture *f = *state;
    free(sh(f, NULL,
            "cp -r repo \"$(printf 'a \\n\"b')\" && cd \"$(printf 'a \\n\"b')\" && "
            "echo n >\"$(printf 'n\\nl')\" && echo x >\"$(printf '\\377')\" && git add . && git "
            "commit -qm odd"));
    use_repo(f, "a \n\"b");
    go_round(f, true, WT_ENGINE_OVERLAY);
    go_round(f, true, WT_ENGINE_CHECKOUT);
}

static void works_with_worktree_config(void **state)
{
    struct fixture *f = *state;
    in_repo(
        f,
        "git config extensions.worktreeConfig true && git config --worktree core.autocrlf input");
    go_round(f, true, WT_ENGINE_OVERLAY);
}

static void falls_back_to_a_checkout(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    free(sh(
        f, f->bases,
        "printf '%%s no such device' \"$(cat /proc/sys/kernel/random/boot_id)\" >overlay-probe"));
    make_attempt(f, &a, "1.1", false, WT_ENGINE_OVERLAY);
    assert_int_equal(a.engine, WT_ENGINE_CHECKOUT);
    assert_has(a.engine_why, "no such device");
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
    job->is_ok = try_attempt(job->f, &job->a, job->id, true, WT_ENGINE_OVERLAY, &job->err);
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
    assert_text(sh(f, f->bases, "ls -d ./*-???????? | wc -l"), "1");
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
    go_round(f, true, WT_ENGINE_OVERLAY);
    go_round(f, true, WT_ENGINE_CHECKOUT);
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.2", true, WT_ENGINE_OVERLAY);
    assert_text(inside(f, &a, "id -u; echo x >x; stat -c %%u x src/one.c .git"),
                "65534\n65534\n65534\n65534");
    struct stat st;
    assert_int_equal(stat(f->repo, &st), 0);
    assert_int_equal(st.st_uid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(works_in_a_bare_repository),    TEST(works_in_a_linked_worktree),
        TEST(works_with_a_detached_head),    TEST(works_with_sha256),
        TEST(works_in_a_shallow_clone),      TEST(works_in_a_partial_clone),
        TEST(works_in_a_submodule),          TEST(works_with_borrowed_objects),
        TEST(works_with_odd_paths),          TEST(works_with_worktree_config),
        TEST(falls_back_to_a_checkout),      TEST(forty_at_one_moment),
        TEST(another_account_owns_its_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
