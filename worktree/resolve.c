/*
 * resolve: names of commits, and free run numbers.
 *
 * git(1) answers, in one process. libgit2 1.5.1 would do it in none, but it refuses repositories
 * that git opens (sha256, unknown extensions), and in those with any extension every look leaks 20
 * KiB for each setting that is not one: its pcre2 matcher forgets its data when nothing matches.
 */
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

static bool has_commit(const struct wt_repo *repo)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct gitrun g = {.git_dir = repo->git_dir};
    return gitrun(&r, &g, GIT_ARGS("rev-parse", "--verify", "-q", "HEAD^{commit}"), &ignored) &&
           r.status == 0;
}

/* HEAD by the branch that it stands on, which is what people call it. */
static const char *people_name(const struct wt_repo *repo, const char *rev)
{
    static const char heads[] = "refs/heads/";
    bool is_branch = strcmp(rev, "HEAD") == 0 && repo->head_ref &&
                     strncmp(repo->head_ref, heads, strlen(heads)) == 0;
    return is_branch ? repo->head_ref + strlen(heads) : rev;
}

static bool explain(const struct wt_repo *repo, const char *rev, const char *said, struct err *err)
{
    AUTO_FREE char *shown = text_clean(rev);
    if (strcmp(rev, "HEAD") == 0 && !has_commit(repo))
        return err_set(err, ERR_FAILED,
                       "the repository has no commit yet; commit something first (`git commit`)");
    if (strstr(said, "ambiguous"))
        return err_set(err, ERR_USAGE, "%s could mean more than one commit; write more of it",
                       shown);
    return err_set(err, ERR_NOT_FOUND,
                   "there is no branch, tag or commit named %s in this repository; if it is on a "
                   "remote, run `git fetch` first",
                   shown);
}

bool wt_resolve(struct wt_commit *ret, const struct wt_repo *repo, const char *rev, struct err *err)
{
    const char *named = rev && *rev ? rev : "HEAD";
    if (*named == '-')
        return err_set(err, ERR_USAGE, "%s is an option and not the name of a commit", named);
    /* ":/words" takes all that follows as words, and always means a commit. */
    bool is_search = strncmp(named, ":/", 2) == 0;
    AUTO_FREE char *peeled = xasprintf("%s%s", named, is_search ? "" : "^{commit}");
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = repo->git_dir};
    const char *const *args = GIT_ARGS("rev-list", "--max-count=1", "--no-commit-header",
                                       "--format=%H%x00%s", peeled, "--");
    if (!gitrun(&r, &g, args, err))
        return false;
    if (r.status != 0 || !gitrun_is_oid(r.out.ptr))
        return explain(repo, named, r.errout.ptr, err);
    buf_rtrim(&r.out);
    size_t len = strlen(r.out.ptr);
    memcpy(ret->oid, r.out.ptr, len + 1);
    ret->ref = xstrdup(people_name(repo, named));
    ret->subject = xstrdup(r.out.len > len ? r.out.ptr + len + 1 : "");
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The number behind a prefix, or -1. */
static int64_t number_behind(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    if (strncmp(name, prefix, len) != 0)
        return -1;
    char *end;
    int64_t number = strtoll(name + len, &end, 10);
    return end > name + len && (*end == '/' || *end == '\0') ? number : -1;
}

bool wt_free_run_number(int64_t *ret, const struct wt_repo *repo, int64_t wish, struct err *err)
{
    static const char *const prefixes[] = {"refs/heads/" BRANCH_PREFIX, REFS_OWN, REFS_KEEP,
                                           REFS_BASE};
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    if (!refs_list(&refs, repo->common_dir, GIT_ARGS("refs/heads/headgate", "refs/headgate"), err))
        return false;
    AUTO_FREE int64_t *used = xcalloc(refs.n + 1, sizeof(*used));
    size_t n = 0;
    for (size_t i = 0; i < refs.n; i++) {
        if (strcmp(refs.v[i].name, "refs/heads/headgate") == 0)
            return err_set(err, ERR_CONFLICT,
                           "the branch named headgate is in the way of headgate/RUN/N; rename it "
                           "(`git branch -m headgate NEWNAME`)");
        int64_t number = -1;
        for (size_t k = 0; number < 0 && k < ARRAY_LEN(prefixes); k++)
            number = number_behind(refs.v[i].name, prefixes[k]);
        used[n++] = number;
    }
    if (n > 0)
        qsort(used, n, sizeof(*used), compare_numbers);
    int64_t number = wish < 1 ? 1 : wish;
    for (size_t i = 0; i < n; i++)
        if (used[i] == number)
            number++;
    *ret = number;
    return true;
}
