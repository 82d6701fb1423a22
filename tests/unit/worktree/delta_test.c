/*
 * A base as what differs from another: the same files, the same status, the same harvest, at the
 * price of the difference.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

static void commit_base(struct fixture *f)
{
    in_repo(f, "mkdir -p d/e gone/deep mix && seq 500 >d/keep && seq 9 >d/e/x && seq 9 "
               ">gone/deep/a && seq 9 >gone/b && "
               "echo file >mix/was-file && mkdir mix/was-folder && echo in >mix/was-folder/in && "
               "echo one >mix/stays && git add . && git commit -qm base");
}

/* Every kind of difference. */
static void commit_changes(struct fixture *f)
{
    in_repo(f,
            "echo changed >>d/e/x && git rm -qr gone && rm mix/was-file && mkdir mix/was-file && "
            "echo now >mix/was-file/now && rm -r mix/was-folder && echo now >mix/was-folder && "
            "chmod +x d/keep && "
            "rm link && ln -s d/keep link && mkdir -p new/er && echo n >new/er/n && rm -r 'a b' && "
            "git add -A . && git commit -qm changes");
}

/* What a plain checkout of the commit looks like. */
static char *plain(const struct fixture *f, const char *folder)
{
    return sh(f, folder,
              "find . -path ./.git -prune -o -printf '%%P %%y %%m %%l\\n' | grep -v ^.git | sort; "
              "find . -path ./.git -prune -o -type f ! -name .git -print0 | sort -z | xargs -0 cat "
              "| md5sum");
}

static char *seen(const struct fixture *f, const struct wt_attempt *a)
{
    return inside(
        f, a,
        "find . -path ./.git -prune -o -printf '%%P %%y %%m %%l\\n' | grep -v ^.git | sort; "
        "find . -path ./.git -prune -o -type f ! -name .git -print0 | sort -z | xargs -0 cat | "
        "md5sum");
}

static void shows_the_same_files(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    commit_base(f);
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
    assert_null(a.lower2);
    commit_changes(f);
    make_attempt(f, &b, "1.2", true, WT_ENGINE_OVERLAY);
    assert_non_null(b.lower2);
    assert_string_equal(b.lower2, a.lower);
    AUTO_FREE char *want = plain(f, f->repo);
    assert_text(seen(f, &b), want);
    assert_text(inside(f, &b, "git diff-files --name-only; git status --porcelain; git fsck"), "");
    /* Nothing is read again: every entry's stat data is that of the file. */
    assert_text(inside(f, &b, "git ls-files --debug | grep -c 'mtime: 0:0' || true"), "0");
    assert_text(sh(f, b.lower, "find . -type f | sort | tr '\\n' ' '"),
                "./d/e/x ./d/keep ./mix/was-file/now ./mix/was-folder ./new/er/n");
    /* And what is done there comes home as from any other. */
    free(inside(f, &b,
                "git mv new/er/n new/moved && rm -r mix && echo more >>d/keep && git add -A . && "
                "git commit -qm work && echo wip >wip"));
    harvest(f, &b, true, &h);
    assert_text(sh(f, f->repo, "git diff --name-status -M main headgate/1/2"),
                "M\td/keep\nD\tmix/stays\nD\tmix/was-file/now\nD\tmix/was-folder\nR100\tnew/er/"
                "n\tnew/moved\nA\twip");
    assert_text(inside(f, &a, "git status --porcelain; cat d/e/x | wc -l"), "9");
    assert_ok(wt_discard(&b, true, &err), &err);
}

static void a_change_in_the_first_moment_is_seen(void **state)
{
    struct fixture *f = *state;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
    in_repo(f, "echo two >src/one.c && git commit -qam two");
    make_attempt(f, &b, "1.2", true, WT_ENGINE_OVERLAY);
    assert_non_null(b.lower2);
    assert_text(
        inside(f, &b,
               "printf 'TWO\\n' >src/one.c; printf '#!/BIN/SH\\n' >run.sh; git status --porcelain"),
        " M run.sh\n M src/one.c");
}

/* One that stands on another keeps it; both go in the end. */
static void keeps_what_it_lies_over(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT, c = WT_ATTEMPT_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt again = WT_ATTEMPT_INIT;
    AUTO_STRV struct strv gone = STRV_INIT, told = STRV_INIT, none = STRV_INIT;
    make_attempt(f, &a, "1.1", true, WT_ENGINE_OVERLAY);
    in_repo(f, "echo two >src/one.c && git commit -qam two");
    make_attempt(f, &b, "1.2", true, WT_ENGINE_OVERLAY);
    assert_ok(wt_discard(&a, true, &err), &err);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_int_equal(gone.n, 0);
    assert_ok(wt_trim_bases(&gone, f->bases, f->attempts, 0, &err), &err);
    assert_int_equal(gone.n, 0);
    assert_ok(wt_load(&again, b.dir, &err), &err);
    assert_text(inside(f, &again, "cat src/one.c run.sh"), "two\n#!/bin/sh");
    /* Never a delta over a delta. */
    in_repo(f, "echo three >src/one.c && git commit -qam three");
    make_attempt(f, &c, "1.3", true, WT_ENGINE_OVERLAY);
    assert_string_equal(c.lower2, b.lower2);
    assert_text(inside(f, &c, "cat src/one.c; git status --porcelain"), "three");
    assert_ok(wt_discard(&b, true, &err) && wt_discard(&c, true, &err), &err);
    assert_ok(wt_clean_bases(&told, f->bases, f->attempts, &none, &err), &err);
    assert_ok(wt_clean_bases(&gone, f->bases, f->attempts, NULL, &err), &err);
    assert_int_equal(gone.n, 3);
    assert_int_equal(told.n, 3);
    assert_text(sh(f, f->bases, "ls | grep -v overlay-probe || true"), "");
}

/* Where more than files differs, all is checked out. */
static void far_reaching_changes_make_a_whole_base(void **state)
{
    struct fixture *f = *state;
    static const char *const changes[] = {
        "echo '*.c text' >.gitattributes && git add . && git commit -qm attributes",
        "git config core.autocrlf input && git commit -q --allow-empty -m settings",
        "for i in $(seq 2100); do echo $i >many$i; done && git add . && git commit -qm many",
    };
    AUTO_WT_ATTEMPT struct wt_attempt first = WT_ATTEMPT_INIT;
    make_attempt(f, &first, "2.1", true, WT_ENGINE_OVERLAY);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
        AUTO_FREE char *id = xasprintf("1.%zu", i + 1);
        in_repo(f, "%s", changes[i]);
        make_attempt(f, &a, id, true, WT_ENGINE_OVERLAY);
        if (a.lower2)
            fail_msg("a delta after: %s", changes[i]);
        assert_text(inside(f, &a, "git status --porcelain"), "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shows_the_same_files),
        TEST(a_change_in_the_first_moment_is_seen),
        TEST(keeps_what_it_lies_over),
        TEST(far_reaching_changes_make_a_whole_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
