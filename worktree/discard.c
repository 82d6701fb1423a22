/*
 * discard: an attempt is removed, and work that is nowhere else is not, unless told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/attempt.h"
#include "worktree/busy.h"
#include "worktree/changed.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/left.h"
#include "worktree/merged.h"
#include "worktree/moment.h"
#include "worktree/record.h"
#include "worktree/refs.h"
#include "worktree/repo.h"
#include "worktree/subs.h"

/* Commits of the attempt that no branch of the person's, here or on a remote, contains. without: a
 * tip whose change is known to be in one, "" for none. */
static bool count_lost_without(int64_t *ret, const struct wt_attempt *a, const char *without,
                               struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_BUF struct buf input = BUF_INIT;
    AUTO_BUF struct buf count = BUF_INIT;
    *ret = 0;
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    if (refs.n == 0 && a->gitdir_top) /* a submodule that nobody touched */
        return true;
    AUTO_FREE char *harvested = xasprintf(REFS_OWN "%s/harvested", refs_attempt_part(a->branch));
    if (!refs_find(&refs, harvested))
        return err_set(err, ERR_REFUSED,
                       "the refs of attempt %s are not in %s any more (was the repository made "
                       "anew?), so that its commits may be in %s alone; fetch them from there, or "
                       "remove it all the same with --force",
                       a->id, a->repo, a->gitdir);
    AUTO_FREE char *merged = xasprintf(REFS_OWN "%s/merged", refs_attempt_part(a->branch));
    for (size_t i = 0; i < refs.n; i++) {
        const char *name = refs.v[i].name;
        if (strncmp(name, REFS_KEEP, strlen(REFS_KEEP)) != 0 &&
            strncmp(name, REFS_BASE, strlen(REFS_BASE)) != 0)
            buf_addf(&input, "%s%s\n", strcmp(name, merged) == 0 ? "^" : "", refs.v[i].oid);
    }
    buf_addf(&input, "^%s\n", a->base);
    if (*without)
        buf_addf(&input, "^%s\n", without);
    struct gitrun g = {.git_dir = a->repo, .input = input.ptr, .input_len = input.len};
    if (!gitrun_line(&count, &g,
                     GIT_ARGS("rev-list", "--count", "--ignore-missing", "--stdin", "--not",
                              "--exclude=" BRANCH_PREFIX "*", "--branches", "--remotes",
                              "--glob=" REFS_MERGED "*"),
                     err))
        return false;
    *ret = strtoll(count.ptr, NULL, 10);
    return true;
}

static bool find_tip(char ret[65], const struct wt_attempt *a, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    AUTO_FREE char *harvested = xasprintf(REFS_OWN "%s/harvested", refs_attempt_part(a->branch));
    const char *oid = refs_oid(&refs, harvested);
    memcpy(ret, oid, strlen(oid) + 1);
    return true;
}

/* The cheap question first: by history, then by what the commits change. */
static bool count_lost_here(int64_t *ret, const struct wt_attempt *a, struct err *err)
{
    char tip[65];
    bool is_in = false;
    if (!count_lost_without(ret, a, "", err))
        return false;
    if (*ret == 0)
        return true;
    if (!find_tip(tip, a, err) || (*tip && !merged_elsewhere(&is_in, a->repo, a->base, tip, err)))
        return false;
    return !is_in || count_lost_without(ret, a, tip, err);
}

/* A ref of the attempt whose object is no commit (an annotated tag, a tagged file) and has no name
 * of the person's. *ret_name: allocated, NULL for none. */
static bool find_lone(char **ret_name, const struct wt_attempt *a, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    AUTO_STRV struct strv lone = STRV_INIT, known = STRV_INIT;
    AUTO_FREE char *own = xasprintf(REFS_OWN "%s/", refs_attempt_part(a->branch));
    struct gitrun g = {.git_dir = a->repo};
    if (!gitrun_out(&out, &g,
                    GIT_ARGS("for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", own,
                             "refs/tags", "refs/heads", "refs/notes"),
                    err))
        return false;
    char *rest = out.ptr;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *oid = strchr(line, ' '), *name = oid ? strchr(++oid, ' ') : NULL;
        if (!name || strncmp(line, "commit ", strlen("commit ")) == 0)
            continue;
        *name++ = '\0';
        if (strncmp(name, own, strlen(own)) != 0)
            strv_push(&known, oid);
        else
            strv_pushf(&lone, "%s %s", oid, name);
    }
    for (size_t i = 0; i < lone.n && !*ret_name; i++) {
        const char *name = strchr(lone.v[i], ' ');
        AUTO_FREE char *oid = xstrndup(lone.v[i], (size_t)(name - lone.v[i]));
        if (!strv_has(&known, oid))
            *ret_name = xstrdup(name + 1);
    }
    return true;
}

/* With those of its submodules, which are appended by their paths. */
static bool count_lost(int64_t *ret, struct buf *in_subs, const struct wt_attempt *a,
                       struct err *err)
{
    if (!count_lost_here(ret, a, err))
        return false;
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
        int64_t lost = 0;
        subs_view(&s, a, i);
        if (fs_is_dir(s.repo) && !count_lost_here(&lost, &s, err))
            return false;
        if (lost > 0)
            buf_addf(in_subs, "%s%s", in_subs->len ? ", " : "", a->subs.v[i].path);
        *ret += lost;
    }
    return true;
}

bool wt_is_merged(bool *ret, const struct wt_attempt *a, struct err *err)
{
    int64_t lost = 0;
    AUTO_FREE char *lone = NULL;
    AUTO_BUF struct buf in_subs = BUF_INIT;
    if (!count_lost(&lost, &in_subs, a, err) || !find_lone(&lone, a, err))
        return false;
    *ret = lost == 0 && !lone;
    return true;
}

static bool refuse_unharvested(const struct wt_attempt *a, struct err *err)
{
    struct timespec when;
    if (!moment_known(&when, a, RECORD_ATTEMPT))
        return err_set(err, ERR_NOT_FOUND, "there is no worktree of an attempt in %s", a->dir);
    if (!left_refuse(a, err))
        return false;
    if (!changed_since(attempt_files(a), NULL, &when) && !changed_since(a->gitdir, NULL, &when))
        return true;
    return err_set(err, ERR_REFUSED,
                   "files of attempt %s changed after its work was brought home last; look in %s, "
                   "or remove it all the same with --force",
                   a->id, attempt_files(a));
}

static bool refuse_unmerged(const struct wt_attempt *a, struct err *err)
{
    int64_t lost = 0;
    AUTO_FREE char *lone = NULL;
    AUTO_BUF struct buf in_subs = BUF_INIT;
    if (!count_lost(&lost, &in_subs, a, err) || !find_lone(&lone, a, err))
        return false;
    if (lost == 0 && lone)
        return err_set(err, ERR_REFUSED,
                       "attempt %s has an object in no other place, %s; give it a name of yours "
                       "(git tag NAME %s), or discard it with --force",
                       a->id, lone, lone);
    AUTO_FREE char *shown = text_clean(in_subs.ptr);
    return lost == 0 ||
           err_set(err, ERR_REFUSED,
                   "attempt %s has %" PRId64
                   " commit%s in no other branch%s%s%s; merge %s, or discard "
                   "it with --force",
                   a->id, lost, lost == 1 ? "" : "s", in_subs.len ? " (submodule " : "", shown,
                   in_subs.len ? ")" : "", lost == 1 ? "it" : "them");
}

/* git would be left with a checkout of nothing. */
static bool refuse_checked_out(const struct wt_attempt *a, struct err *err)
{
    AUTO_FREE char *full = xasprintf("refs/heads/%s", a->branch);
    AUTO_FREE char *busy = NULL;
    char *path = NULL;
    busy_with(&busy, a->repo, full);
    if (busy)
        return err_set(err, ERR_REFUSED, "the branch %s %s; finish that first", a->branch, busy);
    if (!repo_checkout_of(&path, a->repo, full, err))
        return false;
    if (!path)
        return true;
    AUTO_FREE char *held = path;
    AUTO_FREE char *shown = text_clean(held);
    return err_set(err, ERR_REFUSED,
                   "the branch %s is checked out at %s; switch to another branch there first",
                   a->branch, shown);
}

bool wt_discard(const struct wt_attempt *a, bool force, struct err *err)
{
    bool has_repo = fs_is_dir(a->repo);
    if (!has_repo && !force)
        return err_set(
            err, ERR_REFUSED,
            "the repository of attempt %s is gone (%s); move it back if it was moved, or "
            "discard the attempt with --force",
            a->id, a->repo);
    if (!force && (!refuse_unharvested(a, err) || !refuse_unmerged(a, err)))
        return false;
    if (has_repo && !refuse_checked_out(a, err))
        return false;
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
        subs_view(&s, a, i);
        if (fs_is_dir(s.repo) && !refuse_checked_out(&s, err))
            return false;
    }
    return attempt_begin(a, OP_DISCARD, NULL, err) && wt_fault(err) &&
           attempt_finish_discard(a, err);
}
