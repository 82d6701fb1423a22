/* Remotes as git itself has them, and files of LFS that a push would leave behind. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/worktree/fixture.h"

static const char configuration[] =
    "git config remote.plain.url https://u:p@h.test/a.git; git config remote.own.url git@h.test:a;"
    "git config remote.own.pushurl https://h.test/push; git config --add remote.own.url second:x;"
    "git config remote.short.url gh:me/app; git config url.https://hub.test/.insteadOf gh:;"
    "git config url.ssh://git@hub.test/.pushInsteadOf gh:; git config "
    "url.https://hub.test/me2/.insteadOf gh:me/;"
    "git config remote.both.url https://h.test/b; git config url.x:.insteadOf https://h.test/;"
    "git config remote.pushed.url https://z.test/b; git config remote.pushed.pushurl gh:me/other;"
    "git config remote.with.dots.url /srv/a; git config branch.x.url no; git config "
    "remote.bare.fetch y";

static void they_are_as_git_has_them(void **state)
{
    const struct fixture *f = *state;
    AUTO_WT_REMOTES struct wt_remotes remotes = WT_REMOTES_INIT;
    struct err err = ERR_INIT;
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    in_repo(f, "%s", configuration);
    assert_true(wt_remotes(&remotes, common, &err));
    assert_int_equal(remotes.n, 6);
    for (size_t i = 0; i < remotes.n; i++) {
        const struct wt_remote *r = &remotes.v[i];
        AUTO_FREE char *url = sh(f, f->repo, "git remote get-url %s", r->name);
        AUTO_FREE char *push = sh(f, f->repo, "git remote get-url --push %s", r->name);
        assert_string_equal(r->url, url);
        assert_string_equal(r->push, push);
    }
    assert_string_equal(remotes.v[2].push,
                        "ssh://git@hub.test/me/app"); /* it was rewritten at all */
}

static bool leaves(const struct fixture *f, const char *want)
{
    AUTO_FREE char *common = fs_join(f->repo, ".git");
    AUTO_FREE char *path = NULL;
    struct err err = ERR_INIT;
    AUTO_FREE char *from = sh(f, f->repo, "git rev-parse HEAD~1");
    AUTO_FREE char *to = sh(f, f->repo, "git rev-parse HEAD");
    assert_true(wt_new_lfs_file(&path, common, from, to, &err));
    return want ? path && strcmp(path, want) == 0 : !path;
}

static void a_new_pointer_is_found(void **state)
{
    const struct fixture *f = *state;
    static const char pointer[] = "printf 'version https://git-lfs.github.com/spec/v1\\noid "
                                  "sha256:%064d\\nsize 3\\n' 1 >big.bin;"
                                  "git add -A; git commit -qm pointer";
    in_repo(f, "%s", pointer);
    assert_true(leaves(f, NULL)); /* nothing says that it is one */
    in_repo(f, "git rm -q big.bin; printf '*.bin filter=lfs\\n' >.gitattributes; git add -A; git "
               "commit -qm attributes");
    assert_true(leaves(f, NULL));
    in_repo(f, "%s", pointer);
    assert_true(leaves(f, "big.bin"));
    in_repo(f, "echo x >other.txt; git add -A; git commit -qm other");
    assert_true(leaves(f, NULL)); /* it was there before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_are_as_git_has_them),
        TEST(a_new_pointer_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
