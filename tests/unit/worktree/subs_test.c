/*
 * Submodules: filled from the person's own copies, worked on, brought home, merged, never lost.
 */
#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>

#define LIB ".git/modules/the-lib"

/* `repo` gets a submodule the-lib at vendor/lib, which has one called deep at deep. Their sources
 * are gone afterwards: nothing may be fetched. */
static void make_submodules(struct fixture *f)
{
    free(sh(
        f, NULL,
        "git config --global protocol.file.allow always && "
        "git init -q deep-src && cd deep-src && echo d >d && git add . && git commit -qm deep && "
        "cd .. && "
        "git init -q lib-src && cd lib-src && echo l >l && git submodule --quiet add ../deep-src "
        "deep && "
        "git add . && git commit -qm lib && cd ../repo && "
        "git submodule --quiet add --name the-lib ../lib-src vendor/lib && "
        "git submodule --quiet update --init --recursive && git commit -qm 'with lib' && cd .. && "
        "mkdir gone && mv deep-src lib-src gone"));
}

#define WITH_SUBMODULES                                    \
    struct fixture *f = *state;                            \
    struct err err = ERR_INIT;                             \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT; \
    make_submodules(f);                                    \
    make_attempt(f, &a, "1.1", true, f->engine)

static void are_filled_from_the_persons_copies(void **state)
{
    WITH_SUBMODULES;
    assert_int_equal(a.subs.n, 2);
    assert_text(
        inside(f, &a,
               "cat vendor/lib/l vendor/lib/deep/d; git status --porcelain; "
               "git submodule --quiet foreach --recursive 'git status --porcelain; git fsck'; "
               "git submodule status --recursive | cut -c1; "
               "git -C vendor/lib rev-parse --show-toplevel --git-dir | sed 's,.*/1.1/,,; "
               "s,^/run/headgate/,,'"),
        "l\nd\n \n \ntree/vendor/lib\ngit/modules/the-lib");
    free(inside(f, &a, "git submodule --quiet update --init --recursive"));
    harvest(f, &a, true, &h);
    assert_int_equal(h.files, 0);
    assert_null(h.note);
    assert_ok(wt_discard(&a, false, &err), &err);
}

static void large_files_in_them_are_left_out(void **state)
{
    WITH_SUBMODULES;
    free(inside(f, &a, "cd vendor/lib && truncate -s 1T huge && mkfifo p && echo new >new"));
    harvest(f, &a, true, &h);
    AUTO_BUF struct buf all = BUF_INIT;
    for (size_t i = 0; i < h.review.n; i++)
        buf_addf(&all, "%s\n", h.review.v[i]);
    assert_has(all.ptr, "too large, left out\tvendor/lib/huge\n");
    assert_has(all.ptr, "special file, left out\tvendor/lib/p\n");
    assert_false(wt_discard(&a, false, &err));
}

/* Nothing of an agent's is read by the person's git: not the settings, not the hooks. */
static void are_apart_from_the_persons(void **state)
{
    WITH_SUBMODULES;
    AUTO_FREE char *before = sh(f, f->repo, "find " LIB " -type f | sort | xargs md5sum");
    free(inside(f, &a,
                "cd vendor/lib && git config core.fsmonitor 'touch /tmp/ran' && git branch x && "
                "echo m >l && git commit -qam m && git gc -q --prune=now"));
    assert_text(sh(f, f->repo, "find " LIB " -type f | sort | xargs md5sum"), before);
    harvest(f, &a, true, &h);
    assert_text(sh(f, f->repo,
                   "git -C vendor/lib status --porcelain; git -C vendor/lib config core.fsmonitor"
                   " || echo unset"),
                "unset");
    assert_ok(wt_discard(&a, true, &err), &err);
}

static void work_comes_home_and_is_merged(void **state)
{
    WITH_SUBMODULES;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    free(inside(f, &a,
                "cd vendor/lib/deep && echo dd >d && git commit -qam dd && cd .. && echo ll >l && "
                "git commit -qam ll && cd ../.. && git commit -qam super && "
                "echo '#!/bin/sh' >vendor/lib/run && chmod +x vendor/lib/run"));
    harvest(f, &a, true, &h);
    assert_has(h.note, "submodule vendor/lib: 2 commits");
    assert_has(h.note, "submodule vendor/lib/deep: 1 commit ");
    bool is_listed = false;
    for (size_t i = 0; i < h.review.n; i++)
        is_listed = is_listed || strstr(h.review.v[i], "\tvendor/lib/run");
    assert_true(is_listed);
    assert_text(sh(f, f->repo,
                   "git -C vendor/lib log -2 --format=%%s headgate/1/1; "
                   "git -C vendor/lib/deep log -1 --format=%%s headgate/1/1"),
                "Snapshot of uncommitted work\nll\ndd");
    assert_false(wt_discard(&a, false, &err));
    assert_int_equal(err.code, ERR_REFUSED);

    const struct wt_merge_ask ask = {.branch = "headgate/1/1"};
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_ok(wt_merge(&m, &repo, &ask, &err), &err);
    assert_has(m.note, "submodules moved (vendor/lib)");
    /* The snapshot in the submodule is recorded nowhere. */
    assert_false(wt_discard(&a, false, &err));
    assert_has(err.text, "in no other branch (submodule vendor/lib);");
    assert_ok(wt_discard(&a, true, &err), &err);
    in_repo(f, "git -C vendor/lib gc -q --prune=now && git -C vendor/lib/deep gc -q --prune=now");
    assert_text(sh(f, f->repo,
                   "git -C vendor/lib for-each-ref refs/heads/headgate refs/headgate/keep; "
                   "git submodule --quiet update && cat vendor/lib/l"),
                "ll");
}

/* A commit of a submodule inside a submodule is recorded by the outer one alone. */
static void nested_work_is_held_too(void **state)
{
    WITH_SUBMODULES;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    free(inside(f, &a,
                "cd vendor/lib/deep && echo dd >d && git commit -qam dd && cd .. && "
                "git commit -qam ll && cd ../.. && git commit -qam super"));
    harvest(f, &a, true, &h);
    const struct wt_merge_ask ask = {.branch = "headgate/1/1"};
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    assert_ok(wt_merge(&m, &repo, &ask, &err), &err);
    assert_ok(wt_discard(&a, false, &err), &err);
    in_repo(f, "git -C vendor/lib gc -q --prune=now && git -C vendor/lib/deep gc -q --prune=now && "
               "git submodule --quiet update --recursive && grep -q dd vendor/lib/deep/d");
}

static void absent_ones_are_named(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT, b = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_submodules(f);
    free(sh(f, NULL, "git clone -q repo fresh"));
    free(f->repo);
    f->repo = fs_join(f->root, "fresh");
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_has(a.engine_why, "empty submodules, whose commits you do not have: vendor/lib ");
    assert_text(inside(f, &a, "ls -A vendor/lib; git status --porcelain"), "");
    /* Once the person has them, the next attempt does. */
    free(sh(f, NULL,
            "mv gone/* . && git -C fresh submodule --quiet update --init --recursive && "
            "mv lib-src deep-src gone"));
    make_attempt(f, &b, "1.2", true, f->engine);
    assert_text(inside(f, &b, "cat vendor/lib/deep/d; git status --porcelain"), "d");
    harvest(f, &b, true, &h);
    assert_ok(wt_discard(&b, false, &err), &err);
    assert_ok(wt_discard(&a, false, &err), &err);
}

/* An agent may put links where its submodules' git folders were: nothing is followed. */
static void no_link_is_followed(void **state)
{
    WITH_SUBMODULES;
    free(sh(f, f->root, "mkdir -p victim/the-lib && touch victim/the-lib/index.lock"));
    free(inside(
        f, &a,
        "g=$(git rev-parse --git-dir) && rm -rf $g/modules vendor && ln -s %s/victim $g/modules && "
        "ln -s %s vendor",
        f->root, f->root));
    harvest(f, &a, true, &h);
    free(sh(f, f->root, "test -e victim/the-lib/index.lock"));
    assert_ok(wt_discard(&a, true, &err), &err);
    free(sh(f, f->root, "test -e victim/the-lib/index.lock && cd repo && git submodule status"));
}

/* What the host shows of an attempt leads a person's git to no settings of the agent's. */
static void the_host_is_not_led_to_them(void **state)
{
    WITH_SUBMODULES;
    free(inside(
        f, &a,
        "git -C vendor/lib config core.fsmonitor 'touch %s/ran' && git -C vendor/lib status && "
        "rm %s/ran && echo x >vendor/lib/l",
        f->root, f->root));
    assert_text(sh(f, a.tree, "git status --porcelain; git diff"), "");
    (void)sh_status(f, a.tree, "cd vendor/lib && git status");
    assert_int_equal(sh_status(f, f->root, "test -e ran"), 1);
    /* Also when the agent makes a way: `git status` above does not go into submodules. */
    free(inside(f, &a, "echo gitdir: %s/modules/the-lib >vendor/lib/.git", a.gitdir));
    assert_text(sh(f, a.tree, "git status --porcelain; git diff"), "");
    assert_int_equal(sh_status(f, f->root, "test -e ran"), 1);
    if (!a.upper) /* the control: whoever goes there runs what the agent's settings say */
        free(
            sh(f, a.tree, "cd vendor/lib && git status --ignore-submodules && rm %s/ran", f->root));
    assert_ok(wt_discard(&a, true, &err), &err);
}

static void are_there_after_a_restart(void **state)
{
    WITH_SUBMODULES;
    AUTO_WT_ATTEMPT struct wt_attempt again = WT_ATTEMPT_INIT;
    assert_ok(wt_load(&again, a.dir, &err), &err);
    assert_int_equal(again.subs.n, 2);
    assert_string_equal(again.subs.v[1].path, "vendor/lib/deep");
    assert_string_equal(again.subs.v[1].name, "the-lib/modules/deep");
    free(inside(f, &a, "cd vendor/lib && echo x >x && git add x && git commit -qm x"));
    harvest(f, &again, false, &h);
    assert_text(sh(f, f->repo, "git -C vendor/lib log -1 --format=%%s headgate/1/1"), "x");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(are_filled_from_the_persons_copies),
        TEST(large_files_in_them_are_left_out),
        TEST(are_apart_from_the_persons),
        TEST(work_comes_home_and_is_merged),
        TEST(no_link_is_followed),
        TEST(the_host_is_not_led_to_them),
        TEST(are_there_after_a_restart),
    };
    const struct CMUnitTest rest[] = {
        /* the same whatever the engine */
        TEST(nested_work_is_held_too),
        TEST(absent_ones_are_named),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
