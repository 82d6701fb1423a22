#include "tests/unit/worktree/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worktree/face.h"

#define WITH_ATTEMPT(a)                                    \
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT; \
    struct fixture *f = *state

static void is_clean_inside_without_reading_files(void **state)
{
    WITH_ATTEMPT(a);
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "git diff-files --name-only"), ""); /* judges by stat data alone */
    assert_text(inside(f, &a, "git status --porcelain --branch"), "## headgate/1/1");
    assert_text(
        inside(f, &a, "cat 'a b/two words' link && test -x run.sh && git symbolic-ref HEAD"),
        "two\none\nrefs/heads/headgate/1/1");
}

static void host_face_is_clean_and_harmless(void **state)
{
    WITH_ATTEMPT(a);
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(sh(f, a.tree, "git status --porcelain"), "");
    assert_int_equal(sh_status(f, a.tree, "git commit -q -a -m nothing"), 1);
    assert_text(sh(f, a.tree, "ls"), a.upper ? "HEADGATE-README" : "a b\nlink\nrun.sh\nsrc");
    free(sh(f, f->repo, "git worktree list --porcelain | grep -q 'locked headgate attempt 1.1'"));
    in_repo(f,
            "git worktree prune && git gc -q && git switch -q headgate/1/1 && git switch -q main");
    assert_text(sh(f, a.tree, "git status --porcelain"), "");
}

static void git_works_inside(void **state)
{
    WITH_ATTEMPT(a);
    in_repo(f, "git branch other && git tag v1");
    make_attempt(f, &a, "1.1", true, f->engine);
    static const char *const scripts[] = {
        "echo x >new && git add new && git commit -qm second",
        "echo y >>new && git commit -qam third && git commit -q --amend -m better",
        "git switch -q other && echo o >o.txt && git add . && git commit -qm o",
        "git switch -q headgate/1/1 && git merge -q -m merged other",
        "git switch -qc topic HEAD~1 && echo t >t && git add t && git commit -qm t && git rebase "
        "-q "
        "headgate/1/1",
        "git checkout -q --detach && git switch -q headgate/1/1",
        "echo s >>new && git stash -q && git stash pop -q && git checkout -q -- new",
        "git tag -a -m v2 v2 && git gc -q && git fsck && git branch -q -D topic",
        "git worktree add -q ../extra && git worktree remove ../extra",
        "test -z \"$(git status --porcelain)\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        free(inside(f, &a, "%s", scripts[i]));
    assert_text(sh(f, f->repo, "git rev-parse main"), a.base);
    assert_text(sh(f, f->repo, "git rev-parse headgate/1/1 && git status --porcelain"), a.base);
}

/* The way for repositories whose refs are not plain files; it serves with any. */
static void git_can_make_the_face_too(void **state)
{
    WITH_ATTEMPT(a);
    struct err err = ERR_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_ok(face_remove(a.repo, a.dir, &err), &err);
    free(sh(f, a.dir, "rm -r tree && mkdir tree"));
    AUTO_FREE char *base = fs_dirname(a.lower);
    AUTO_FREE char *index = fs_join(base, "face");
    const struct face face = {
        .common_dir = a.repo,
        .id = a.id,
        .dir = a.dir,
        .tree = a.tree,
        .base = a.base,
        .base_name = "main",
        .branch = a.branch,
        .index = index,
        .has_note = true,
        .made_by_git = true,
    };
    assert_ok(face_make(&face, &err), &err);
    assert_text(sh(f, a.tree, "git status --porcelain; ls"), "HEADGATE-README");
    free(sh(f, f->repo, "git worktree list --porcelain | grep -q 'locked headgate attempt 1.1'"));
    assert_ok(face_remove(a.repo, a.dir, &err), &err);
    assert_text(sh(f, f->repo, "git worktree list | wc -l"), "1");
}

static void loads_again(void **state)
{
    WITH_ATTEMPT(a);
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt b = WT_ATTEMPT_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_ok(wt_load(&b, a.dir, &err), &err);
    assert_string_equal(a.branch, b.branch);
    assert_string_equal(a.base, b.base);
    assert_string_equal(a.tree, b.tree);
    assert_int_equal(a.engine, b.engine);
    assert_int_equal(a.uid, b.uid);
    assert_int_equal(a.objects_ro.n, b.objects_ro.n);
    assert_string_equal(a.lower ? a.lower : "none", b.lower ? b.lower : "none");
    assert_string_equal(a.upper ? a.upper : "none", b.upper ? b.upper : "none");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest each[] = {
        TEST(is_clean_inside_without_reading_files),
        TEST(host_face_is_clean_and_harmless),
        TEST(git_works_inside),
        TEST(loads_again),
    };
    const struct CMUnitTest rest[] = {
        TEST(git_can_make_the_face_too),
    };
    if (!fixture_use(argc > 1 ? argv[1] : NULL))
        return SKIPPED;
    int failed = cmocka_run_group_tests(each, NULL, NULL);
    return argc > 1 ? failed : failed + cmocka_run_group_tests(rest, NULL, NULL);
}
