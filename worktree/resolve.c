/*
 * resolve: names of commits, and free run numbers. libgit2 answers without a process where it opens
 * the repository; where it does not (sha256, extensions it does not know) or finds nothing, git(1)
 * has the last word.
 */
#include <git2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"
#include "worktree/worktree.h"

/* Extensions that change nothing about reading refs and objects. */
static void init_library(void)
{
    const char *harmless[] = {"worktreeconfig", "preciousobjects"};
    git_libgit2_init();
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, harmless, ARRAY_LEN(harmless));
}

static bool resolve_fast(struct wt_commit *ret, const struct wt_repo *repo, const char *rev)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
    git_repository *handle = NULL;
    git_object *named = NULL, *commit = NULL;
    bool is_found = git_repository_open(&handle, repo->git_dir) == 0 &&
                    git_revparse_single(&named, handle, rev) == 0 &&
                    git_object_peel(&commit, named, GIT_OBJECT_COMMIT) == 0;
    if (is_found) {
        const char *subject = git_commit_summary((git_commit *)commit);
        git_oid_tostr(ret->oid, sizeof(ret->oid), git_object_id(commit));
        ret->ref = xstrdup(rev);
        ret->subject = xstrdup(subject ? subject : "");
    }
    git_object_free(commit);
    git_object_free(named);
    git_repository_free(handle);
    return is_found;
}

static bool has_commit(const struct wt_repo *repo)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct gitrun g = {.git_dir = repo->git_dir};
    return gitrun(&r, &g, GIT_ARGS("rev-parse", "--verify", "-q", "HEAD^{commit}"), &ignored) &&
           r.status == 0;
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

static bool resolve_by_git(struct wt_commit *ret, const struct wt_repo *repo, const char *rev,
                           struct err *err)
{
    AUTO_FREE char *peeled = xasprintf("%s^{commit}", rev);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = repo->git_dir};
    const char *const *args = GIT_ARGS("rev-parse", "--verify", "--end-of-options", peeled);
    if (!gitrun(&r, &g, args, err))
        return false;
    buf_rtrim(&r.out);
    const char *oid = strrchr(r.out.ptr, '\n');
    oid = oid ? oid + 1 : r.out.ptr;
    if (r.status != 0 || !gitrun_is_oid(oid))
        return explain(repo, rev, r.errout.ptr, err);
    AUTO_BUF struct buf subject = BUF_INIT;
    if (!gitrun_line(&subject, &g, GIT_ARGS("log", "-1", "--format=%s", oid), err))
        return false;
    memcpy(ret->oid, oid, strlen(oid) + 1);
    ret->ref = xstrdup(rev);
    ret->subject = buf_steal(&subject);
    return true;
}

bool wt_resolve(struct wt_commit *ret, const struct wt_repo *repo, const char *rev, struct err *err)
{
    const char *named = rev && *rev ? rev : "HEAD";
    struct wt_commit commit = {.ref = NULL};
    if (*named == '-')
        return err_set(err, ERR_USAGE, "%s is an option and not the name of a commit", named);
    if (!resolve_fast(&commit, repo, named) && !resolve_by_git(&commit, repo, named, err))
        return false;
    *ret = commit;
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
    static const char *const prefixes[] = {"refs/heads/" BRANCH_PREFIX, REFS_OWN, REFS_KEEP};
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
