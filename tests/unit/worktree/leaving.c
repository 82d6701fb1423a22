#include "tests/unit/worktree/leaving.h"

bool merge_as(struct fixture *f, const struct wt_merge_ask *ask, struct wt_merge *ret,
              struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    assert_ok(wt_repo_open(&repo, f->repo, err), err);
    return wt_merge(ret, &repo, ask, err);
}

char *checkout_of(const struct fixture *f, const char *folder)
{
    return sh(f, folder,
              "export GIT_OPTIONAL_LOCKS=0; d=$(git rev-parse --git-dir); md5sum <$d/index; "
              "git status --porcelain --ignored; git diff --cached | md5sum; "
              "cat $d/MERGE_HEAD $d/CHERRY_PICK_HEAD 2>/dev/null; "
              "find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 md5sum");
}

char *everything(const struct fixture *f)
{
    AUTO_FREE char *files = checkout_of(f, f->repo);
    return sh(f, f->repo,
              "cat <<'E'\n%s\nE\ngit for-each-ref; cat .git/HEAD; git reflog | wc -l; "
              "find .git -name '*.lock' -o -name 'tmp_objdir*'",
              files);
}

void assert_both(char *got, char *expected)
{
    AUTO_FREE char *is_freed = expected;
    assert_text(got, is_freed);
}
