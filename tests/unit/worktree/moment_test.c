/*
 * A merge at the worst moment: git dies beside the step that counts, or somebody is quick just
 * before it. git is a script here, which does that.
 */
#include "tests/unit/worktree/leaving.h"

#include <stdlib.h>
#include <string.h>

#include "worktree/leave.h"

/* From now on git is this script, in which $git is the real one; NULL: that again. */
static void git_is(const struct fixture *f, const char *script)
{
    static char *path;
    if (!path)
        path = xstrdup(getenv("PATH"));
    setenv("PATH", path, 1);
    if (!script)
        return;
    AUTO_FREE char *folder = fs_join(f->root, "as-git");
    AUTO_FREE char *both = xasprintf("%s:%s", folder, path);
    free(sh(f, f->root,
            "mkdir -p as-git && { echo '#!/bin/sh'; echo \"git=$(command -v git)\"; cat <<'E'\n"
            "%s\nE\n} >as-git/git && chmod +x as-git/git",
            script));
    setenv("PATH", both, 1);
}

static int real_git_teardown(void **state)
{
    git_is(*state, NULL);
    return fixture_teardown(state);
}

/* What git does with the branch itself, after its checkouts went off it. */
#define WITH_THE_BRANCH(deed)                                                  \
    "case \"$*\" in\n*'-m headgate: merge'*--stdin*) " deed "; kill -9 $$;;\n" \
    "*) exec \"$git\" \"$@\";;\nesac"
#define AND_LET_GO "sed -zu '/^commit$/Q' | \"$git\" \"$@\""

static void the_deed_counts_without_its_answer(void **state)
{
    WITH_WORK;
    free(sh(f, f->root, "git -C repo worktree add -q -f ../side main"));
    in_repo(f, "echo mine >src/one.c && git add src/one.c && echo p >p");
    AUTO_FREE char *files = checkout_of(f, f->repo);
    git_is(f,
           WITH_THE_BRANCH("sed -zu '/^commit$/q' | \"$git\" \"$@\" | sed -u '/^commit: ok$/d'"));
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    git_is(f, NULL);
    assert_text(checkout_of(f, f->repo), files);
    assert_text(sh(f, f->repo, "git rev-parse main"), m.commit);
    assert_both(sh(f, f->repo, "cat .git/HEAD .git/worktrees/side/HEAD"),
                xasprintf("%s\n%s", old, old));
    in_repo(f, "git commit -qm mine");
    assert_text(sh(f, f->repo, "git show main:src/one.c main:new"), "changed\nn\nm");
}

static void without_the_deed_all_is_as_it_was(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c && git add src/one.c");
    AUTO_FREE char *files = checkout_of(f, f->repo);
    git_is(f, WITH_THE_BRANCH(AND_LET_GO));
    assert_false(merge_as(f, &ask, &m, &err));
    git_is(f, NULL);
    assert_has(err.text, "the branch main could not be moved, nothing was changed");
    assert_text(checkout_of(f, f->repo), files);
    assert_both(sh(f, f->repo, "git rev-parse main; cat .git/HEAD"),
                xasprintf("%s\nref: refs/heads/main", old));
}

/* The checkout's index is of neither commit that the branch went past. */
static void a_checkout_does_not_go_back_to_another_commit(void **state)
{
    WITH_WORK;
    in_repo(f, "echo mine >src/one.c && git add src/one.c");
    AUTO_FREE char *files = checkout_of(f, f->repo);
    git_is(f, WITH_THE_BRANCH(AND_LET_GO "; \"$git\" update-ref refs/heads/main headgate/1/1~1"));
    assert_false(merge_as(f, &ask, &m, &err));
    git_is(f, NULL);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_has(err.text, "somebody else moved the branch main, but the checkout at ");
    assert_has(err.text, "git switch main there goes back");
    assert_text(checkout_of(f, f->repo), files);
    assert_text(sh(f, f->repo, "cat .git/HEAD"), old);
    AUTO_FREE char *theirs = sh(f, f->repo, "git rev-parse headgate/1/1~1");
    assert_text(sh(f, f->repo, "git commit -qm mine && git rev-parse main"), theirs);
}

/* It sets the branch when it ends, to where it was when somebody gives it up. */
static void a_rebase_that_began_meanwhile_wins(void **state)
{
    static const char topic[] = "refs/heads/topic";
    WITH_WORK;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    AUTO_PLACES struct places none = PLACES_INIT;
    AUTO_FREE char *scratch = fs_join(f->root, "scratch");
    AUTO_FREE char *tip = sh(f, f->repo, "git branch topic && git rev-parse headgate/1/1");
    const struct leave l = {.repo = &repo,
                            .scratch = scratch,
                            .ref = topic,
                            .target = old,
                            .what = "merge headgate/1/1",
                            .places = &none};
    assert_ok(fs_mkdirs(scratch, 0755, &err) && wt_repo_open(&repo, f->repo, &err), &err);
    assert_ok(places_of(&none, &repo, topic, &err), &err);
    assert_int_equal(none.n, 0);
    in_repo(f, "git worktree add -q ../topic topic && cd ../topic && "
               "! git rebase -q --exec false --root 2>/dev/null");
    assert_false(leave_and_move(&l, tip, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_has(err.text, "nothing was changed: by now it is being rebased at ");
    assert_text(sh(f, f->repo, "cd ../topic && git rebase --abort && git rev-parse topic"), old);
    in_repo(f, "git worktree remove ../topic");
    assert_ok(leave_and_move(&l, tip, &err), &err);
    assert_text(sh(f, f->repo, "git rev-parse topic"), tip);
}

static void what_a_hook_commits_stays_when_git_dies(void **state)
{
    WITH_WORK;
    ask.ref_only = false;
    in_repo(f, "cat >.git/hooks/post-merge <<'E'\n#!/bin/sh\necho h >hooked && git add hooked && "
               "git commit -qm hooked && kill -9 $PPID\nE\nchmod +x .git/hooks/post-merge");
    assert_ok(merge_as(f, &ask, &m, &err), &err);
    assert_text(sh(f, f->repo, "git rev-parse main~1"), m.commit);
    assert_text(sh(f, f->repo, "git status --porcelain; cat hooked src/one.c new"),
                "h\nchanged\nn\nm");
}

/* What somebody takes over by hand and commits is theirs, though git merge comes too late. */
static void a_commit_of_the_same_stays(void **state)
{
    WITH_WORK;
    ask.ref_only = false;
    git_is(f, "case \"$*\" in\n"
              "'merge --ff-only'*) \"$git\" checkout -q headgate/1/1 -- src/one.c new && "
              "\"$git\" commit -qm same;;\nesac\nexec \"$git\" \"$@\"");
    assert_false(merge_as(f, &ask, &m, &err));
    git_is(f, NULL);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_text(
        sh(f, f->repo, "git log -1 --format=%%s; git status --porcelain; cat src/one.c new"),
        "same\nchanged\nn\nm");
}

/* git that is killed amid the files cannot put them back, and then that is what is said. */
static void files_that_a_killed_git_left_are_told(void **state)
{
    WITH_WORK;
    ask.ref_only = false;
    git_is(f, "case \"$*\" in\n'merge --ff-only'*) echo changed >src/one.c; kill -9 $$;;\nesac\n"
              "exec \"$git\" \"$@\"");
    assert_false(merge_as(f, &ask, &m, &err));
    assert_has(err.text, "the branch did not move, but files of the checkout at ");
    in_repo(f, "git checkout -q -f");
    git_is(f, "case \"$*\" in\n'merge --ff-only'*) kill -9 $$;;\nesac\nexec \"$git\" \"$@\"");
    AUTO_FREE char *before = everything(f);
    assert_false(merge_as(f, &ask, &m, &err));
    git_is(f, NULL);
    assert_has(err.text, "cannot be updated, nothing was changed: git merge ended with status 137");
    assert_text(everything(f), before);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, real_git_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_deed_counts_without_its_answer),
        TEST(without_the_deed_all_is_as_it_was),
        TEST(a_checkout_does_not_go_back_to_another_commit),
        TEST(a_rebase_that_began_meanwhile_wins),
        TEST(what_a_hook_commits_stays_when_git_dies),
        TEST(a_commit_of_the_same_stays),
        TEST(files_that_a_killed_git_left_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
