/* What attempts that start together read of their repository, and the index that each is given. */
#include "worktree/source.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/worktree/fixture.h"

enum { READERS = 8 };

/* A git that writes down what it was called with. */
static void note_calls(const struct fixture *f)
{
    free(sh(f, f->root,
            "mkdir noting && printf '#!/bin/sh\\necho \"$*\" >>%s/calls\\nexec %%s \"$@\"\\n' "
            "\"$(command -v git)\" >noting/git && chmod +x noting/git",
            f->root));
    AUTO_FREE char *path = xasprintf("%s/noting:%s", f->root, getenv("PATH"));
    setenv("PATH", path, 1);
}

static void assert_calls(const struct fixture *f, const char *word, const char *times)
{
    assert_text(sh(f, f->root, "grep -c -e '%s' calls", word), times);
}

static void *read_all(void *arg)
{
    struct err err = ERR_INIT;
    const struct gitcfg *cfg;
    const struct ref_list *refs;
    bool ok = source_cfg(&cfg, arg, &err) && source_refs(&refs, arg, &err) &&
              gitcfg_get(cfg, "user.name") && refs_find(refs, "refs/heads/main");
    return ok ? arg : NULL;
}

static void each_part_is_read_once(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *path = xstrdup(getenv("PATH"));
    AUTO_WT_SOURCE struct wt_source *source = wt_source_new(f->repo);
    pthread_t readers[READERS];
    note_calls(f);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, source), 0);
    for (size_t i = 0; i < READERS; i++) {
        void *ok;
        pthread_join(readers[i], &ok);
        assert_ptr_equal(ok, source);
    }
    setenv("PATH", path, 1);
    assert_calls(f, "rev-parse", "1");
    assert_calls(f, "config --list", "1");
    assert_calls(f, "for-each-ref", "1");
}

static void what_could_not_be_read_is_read_again(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_SOURCE struct wt_source *source = wt_source_new(f->repo);
    const struct gitcfg *cfg;
    struct err err = ERR_INIT;
    free(sh(f, f->root, "mv repo away"));
    assert_false(source_cfg(&cfg, source, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    free(sh(f, f->root, "mv away repo"));
    assert_ok(source_cfg(&cfg, source, &err), &err);
}

static char *committer(const struct fixture *f, const struct wt_attempt *a)
{
    return inside(f, a, "git commit -q --allow-empty -m x && git log -1 --format=%%cn");
}

static void attempts_share_one_and_later_ones_read_anew(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT, c = WT_ATTEMPT_INIT;
    AUTO_WT_SOURCE struct wt_source *source = wt_source_new(f->repo);
    in_repo(f, "git config user.name Before");
    f->source = source;
    make_attempt(f, &a, "1.1", true, f->engine);
    in_repo(f, "git config user.name After && git branch late");
    make_attempt(f, &b, "1.2", true, f->engine);
    f->source = NULL;
    make_attempt(f, &c, "1.3", true, f->engine);
    assert_text(committer(f, &a), "Before");
    assert_text(committer(f, &b), "Before");
    assert_text(committer(f, &c), "After");
    assert_int_not_equal(inside_status(f, &b, "git rev-parse -q --verify late"), 0);
    assert_int_equal(inside_status(f, &c, "git rev-parse -q --verify late"), 0);
}

/* Somebody took the branch after the refs were read: the transaction finds out, nothing is left. */
static void a_branch_that_was_made_meanwhile_stays(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    AUTO_WT_SOURCE struct wt_source *source = wt_source_new(f->repo);
    struct err err = ERR_INIT;
    f->source = source;
    make_attempt(f, &a, "1.1", true, f->engine);
    in_repo(f, "git commit -q --allow-empty -m mine && git branch headgate/1/2");
    assert_false(try_attempt(f, &b, "1.2", true, f->engine, &err));
    f->source = NULL;
    assert_text(sh(f, f->repo, "git log -1 --format=%%s headgate/1/2"), "mine");
    assert_text(sh(f, f->repo, "git for-each-ref 'refs/headgate/**/1/2/**' | wc -l"), "0");
    assert_text(sh(f, f->repo, "git worktree list | wc -l"), "2");
}

/* fsck is the command that looks at the digest of an index. */
static void assert_index_is_whole(struct fixture *f, const char *id)
{
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    make_attempt(f, &a, id, true, f->engine);
    assert_text(
        inside(f, &a, "git fsck 2>/dev/null && git -c core.fsmonitor=false status --porcelain"),
        "");
    free(sh(f, a.gitdir, "printf x | dd of=index bs=1 seek=100 conv=notrunc 2>&1"));
    assert_int_not_equal(inside_status(f, &a, "git fsck"), 0);
}

static void an_index_is_whole_whatever_was_noted_of_it(void **state)
{
    struct fixture *f = *state;
    static const char *const notes[] = {"sh -c 'echo 999999999 1 2 3 4 5 >$1' sh",
                                        "sh -c 'echo nonsense >$1' sh", "rm"};
    assert_index_is_whole(f, "1.1");
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        AUTO_FREE char *id = xasprintf("2.%zu", i + 1);
        free(sh(f, f->bases, "for n in */index.digest; do %s $n; done", notes[i]));
        assert_index_is_whole(f, id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_part_is_read_once),
        TEST(what_could_not_be_read_is_read_again),
        TEST(attempts_share_one_and_later_ones_read_anew),
        TEST(a_branch_that_was_made_meanwhile_stays),
        TEST(an_index_is_whole_whatever_was_noted_of_it),
    };
    fixture_use(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
