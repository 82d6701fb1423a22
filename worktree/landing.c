#include "worktree/landing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/refs.h"

enum { NAMES_MAX = 10 };

static bool is_of_own_files(const struct err *why)
{
    static const char *const said[] = {"not uptodate", "would be overwritten", "would overwrite",
                                       "would lose"};
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (strstr(why->text, said[i]))
            return true;
    return false;
}

/* Somebody committed there: git looked no further than the history. */
static bool is_behind(const struct err *why)
{
    return strstr(why->text, "Not possible to fast-forward");
}

static bool refuse(const struct landing *l, const struct err *why, struct err *err)
{
    AUTO_FREE char *shown = text_clean(l->checkout);
    const char *advice = is_of_own_files(why) ? "commit, stash or move what is yours there"
                         : l->doing           ? "finish that or give it up there"
                         : is_behind(why)     ? "look at what was committed there meanwhile"
                                              : "put that right there";
    return err_set(err, ERR_REFUSED,
                   "the checkout at %s cannot be updated, nothing was changed: %.500s; %s, then "
                   "merge again, or merge with --ref-only: only the branch moves, and this "
                   "checkout stays as it is, off the branch",
                   shown, why->text, advice);
}

/* git merge would say so in the end; a dry run does not come that far. */
static bool check_doing(const struct landing *l, struct err *err)
{
    struct err why = ERR_INIT;
    if (!l->doing || (strcmp(l->doing, "merge") != 0 && strcmp(l->doing, "cherry-pick") != 0))
        return true;
    err_set(&why, ERR_REFUSED, "a %s is under way there", l->doing);
    return refuse(l, &why, err);
}

/* env: in which git sees a commit that has not moved in, NULL: it has. */
static bool list_paths(struct buf *out, const struct landing *l, const struct strv *env,
                       const char *new_oid, const char *kinds, struct err *err)
{
    struct gitrun g = {.cwd = l->checkout, .env = env};
    return gitrun_out(
        out, &g,
        GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--no-renames", kinds, l->target, new_oid),
        err);
}

/* What git read-tree would overwrite and git merge refuses to: files that are ignored and not
 * tracked, where the new commit has one. */
static bool check_ignored(const struct landing *l, const struct gitrun *dry, const char *new_oid,
                          struct err *err)
{
    AUTO_BUF struct buf added = BUF_INIT, asked = BUF_INIT, there = BUF_INIT;
    struct gitrun list = *dry;
    struct err why = ERR_INIT;
    if (!list_paths(&added, l, l->env, new_oid, "--diff-filter=A", err))
        return false;
    if (added.len == 0)
        return true;
    for (const char *p = added.ptr; p < added.ptr + added.len; p += strlen(p) + 1) {
        buf_addf(&asked, "./%s", p); /* so that no name is magic */
        buf_addch(&asked, '\0');
    }
    list.input = asked.ptr;
    list.input_len = asked.len;
    if (!gitrun_out(&there, &list, GIT_ARGS("check-ignore", "--no-index", "-z", "--stdin"), &why) ||
        there.len == 0) /* status 1: none of them is ignored */
        return true;
    for (const char *p = there.ptr; p < there.ptr + there.len; p += strlen(p) + 1) {
        AUTO_FREE char *path = fs_join(l->checkout, p);
        AUTO_FREE char *shown = text_clean(p + strlen("./"));
        if (!fs_exists(path))
            continue;
        err_set(&why, ERR_REFUSED, "the ignored file %s would be overwritten", shown);
        return refuse(l, &why, err);
    }
    return true;
}

/* Names of one list, each ended by a NUL, that are in the other; both are sorted as git sorts. */
static void add_common(struct strv *ret, const struct buf *one, const struct buf *other)
{
    const char *p = one->ptr, *q = other->ptr;
    while (p < one->ptr + one->len && q < other->ptr + other->len) {
        int order = strcmp(p, q);
        if (order == 0)
            strv_push(ret, p);
        p += order <= 0 ? strlen(p) + 1 : 0;
        q += order >= 0 ? strlen(q) + 1 : 0;
    }
}

/* What of the person's the merge would overwrite: files that differ from the old commit, and those
 * that are there where the new one adds some. Nothing when it cannot be told. */
static void list_own(struct strv *ret, const struct landing *l, const struct gitrun *dry,
                     const char *new_oid)
{
    AUTO_BUF struct buf added = BUF_INIT, kept = BUF_INIT, differ = BUF_INIT;
    struct err ignored = ERR_INIT; /* then git's own words have to do */
    if (!list_paths(&added, l, l->env, new_oid, "--diff-filter=A", &ignored) ||
        !list_paths(&kept, l, l->env, new_oid, "--diff-filter=a", &ignored) ||
        !gitrun_out(&differ, dry, GIT_ARGS("diff-index", "-z", "--name-only", l->target), &ignored))
        return;
    add_common(ret, &kept, &differ);
    for (const char *p = added.ptr; p < added.ptr + added.len; p += strlen(p) + 1) {
        AUTO_FREE char *path = fs_join(l->checkout, p);
        if (fs_exists(path))
            strv_push(ret, p);
    }
}

/* git names the first file alone, and in words for scripts. */
static bool refuse_files(const struct landing *l, const struct gitrun *dry, const char *new_oid,
                         const struct err *said, struct err *err)
{
    AUTO_STRV struct strv own = STRV_INIT;
    AUTO_BUF struct buf names = BUF_INIT;
    struct err why = *said;
    if (is_of_own_files(said))
        list_own(&own, l, dry, new_oid);
    for (size_t i = 0; i < own.n && i < NAMES_MAX; i++) {
        AUTO_FREE char *shown = text_clean(own.v[i]);
        buf_addf(&names, "%s%s", i ? ", " : "", shown);
    }
    if (own.n > NAMES_MAX)
        buf_addf(&names, " and %zu more", own.n - NAMES_MAX);
    if (own.n > 0)
        err_set(&why, ERR_REFUSED, "the merge would overwrite what is yours in %.480s", names.ptr);
    return refuse(l, &why, err);
}

static bool find_index(struct buf *ret_path, const struct landing *l, struct err *err)
{
    struct gitrun g = {.cwd = l->checkout};
    return gitrun_line(ret_path, &g,
                       GIT_ARGS("rev-parse", "--path-format=absolute", "--git-path", "index"), err);
}

/* With a copy of the index, so that the person's own is not touched by a question. */
bool landing_check(const struct landing *l, const char *new_oid, struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *copy = fs_join(l->quarantine, "index");
    struct gitrun dry = {.cwd = l->checkout, .index_file = copy, .env = l->env};
    struct err why = ERR_INIT;
    if (!check_doing(l, err) || !find_index(&index, l, err) ||
        (fs_exists(index.ptr) && !fs_copy_file(AT_FDCWD, index.ptr, AT_FDCWD, copy, err)) ||
        !gitrun(&r, &dry, GIT_ARGS("update-index", "-q", "--refresh"), err))
        return false;
    return gitrun_out(&ignored, &dry, GIT_ARGS("read-tree", "-n", "-u", "-m", l->target, new_oid),
                      &why)
               ? check_ignored(l, &dry, new_oid, err)
               : refuse_files(l, &dry, new_oid, &why, err);
}

/* Whether the branch has the commit, be it that somebody, or a hook, went on from there. */
static bool has_landed(const struct landing *l, const char *now, const char *new_oid)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = {.cwd = l->checkout};
    struct err ignored = ERR_INIT;
    return strcmp(now, new_oid) == 0 ||
           (*now &&
            gitrun_out(&out, &g, GIT_ARGS("merge-base", "--is-ancestor", new_oid, now), &ignored));
}

/* Whether git failed on the files themselves: it had then looked that all of them were as they
 * should be, so what differs now is its own. */
static bool failed_on_files(const struct err *why)
{
    return strstr(why->text, "error: unable to ") || strstr(why->text, "git merge: unable to ");
}

/* Files that the new commit adds, and that are there as it has them. Others are left, and told. */
static bool remove_added(const struct landing *l, const char *new_oid, bool *ret_clean,
                         struct err *err)
{
    AUTO_BUF struct buf added = BUF_INIT, unlike = BUF_INIT, ignored = BUF_INIT;
    AUTO_STRV struct strv differ = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result refreshed = PROC_RESULT_INIT;
    AUTO_FREE char *index = fs_join(l->quarantine, "index");
    struct gitrun g = {.cwd = l->checkout, .index_file = index, .as_person = true};
    AUTO_FD int top = fs_open_dir(AT_FDCWD, l->checkout, err);
    if (top < 0 || !list_paths(&added, l, NULL, new_oid, "--diff-filter=A", err) ||
        !gitrun_out(&ignored, &g, GIT_ARGS("read-tree", new_oid), err) ||
        !gitrun(&refreshed, &g, GIT_ARGS("update-index", "-q", "--refresh"), err) ||
        !gitrun_out(&unlike, &g, GIT_ARGS("diff-files", "-z", "--name-only"), err))
        return false;
    for (const char *p = unlike.ptr; p < unlike.ptr + unlike.len; p += strlen(p) + 1)
        strv_push(&differ, p);
    for (const char *p = added.ptr; p < added.ptr + added.len; p += strlen(p) + 1) {
        AUTO_FREE char *path = fs_join(l->checkout, p);
        AUTO_FREE char *folder = fs_dirname(p);
        struct err absent = ERR_INIT;
        AUTO_FD int fd = strchr(p, '/')
                             ? fs_open_beneath(top, folder, O_RDONLY | O_DIRECTORY, 0, &absent)
                             : fs_open_dir(AT_FDCWD, l->checkout, &absent);
        if (!strv_has(&differ, p) && fd >= 0)
            unlinkat(fd, fs_basename(p), 0);
        *ret_clean = *ret_clean && !fs_exists(path);
    }
    return true;
}

static bool put_back_files(const struct landing *l, const char *new_oid, bool *ret_clean,
                           struct err *err)
{
    AUTO_BUF struct buf old = BUF_INIT, ignored = BUF_INIT;
    struct gitrun g = {.cwd = l->checkout, .as_person = true};
    if (!list_paths(&old, l, NULL, new_oid, "--diff-filter=a", err))
        return false;
    g.input = old.ptr;
    g.input_len = old.len;
    return gitrun_out(&ignored, &g, GIT_ARGS("checkout-index", "-q", "-f", "-u", "-z", "--stdin"),
                      err) &&
           remove_added(l, new_oid, ret_clean, err);
}

static bool tell_changed(const struct landing *l, const struct err *why, struct err *err)
{
    AUTO_FREE char *shown = text_clean(l->checkout);
    return err_set(err, ERR_REFUSED,
                   "the branch did not move, but files of the checkout at %s are not as they were "
                   "(see git status there): %s",
                   shown, why->text);
}

/* git updates the files first, then the branch; when that fails the files are to go back. What is
 * as it was stays, and what somebody changed meanwhile is theirs. */
static bool take_back(const struct landing *l, const char *new_oid, bool is_index_new,
                      const struct err *why, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    struct gitrun g = {.cwd = l->checkout, .as_person = true};
    struct err problem = ERR_INIT;
    bool is_clean = true;
    bool ok = is_index_new
                  ? gitrun_out(&ignored, &g, GIT_ARGS("read-tree", "-m", "-u", new_oid, l->target),
                               &problem)
                  : !failed_on_files(why) || put_back_files(l, new_oid, &is_clean, &problem);
    return ok && is_clean ? refuse(l, why, err) : tell_changed(l, why, err);
}

/* Whether a file that the merge changes is not as the old commit has it. All were, just before. */
static bool is_changed(const struct landing *l, const char *new_oid)
{
    AUTO_STRV struct strv own = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result refreshed = PROC_RESULT_INIT;
    AUTO_FREE char *copy = fs_join(l->quarantine, "index");
    struct gitrun g = {.cwd = l->checkout, .index_file = copy};
    struct err ignored = ERR_INIT;
    if (gitrun(&refreshed, &g, GIT_ARGS("update-index", "-q", "--refresh"), &ignored))
        list_own(&own, l, &g, new_oid);
    return own.n > 0;
}

/* Which file the index is now: git replaces it whole. */
static struct stat look_at_index(const struct landing *l)
{
    AUTO_BUF struct buf path = BUF_INIT;
    struct stat st = {.st_ino = 0};
    struct err ignored = ERR_INIT;
    if (find_index(&path, l, &ignored) && stat(path.ptr, &st) != 0)
        st.st_ino = 0;
    return st;
}

bool landing_update(const struct landing *l, const char *new_oid, struct err *err)
{
    enum { KILLED_STATUS = 128 }; /* and more, proc.h */
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_BUF struct buf now = BUF_INIT;
    struct err why = ERR_INIT;
    struct gitrun g = {.cwd = l->checkout, .as_person = true};
    struct gitrun look = {.cwd = l->checkout};
    const char *const *args = GIT_ARGS("merge", "--ff-only", "--no-overwrite-ignore",
                                       "--no-autostash", "--no-stat", "--quiet", new_oid);
    struct stat before = look_at_index(l);
    bool has_ended = gitrun(&r, &g, args, &why);
    bool ok = has_ended && (r.status == 0 || gitrun_failed(&r, args, &why));
    refs_where(&now, &look, l->ref);
    if (has_landed(l, now.ptr, new_oid))
        return true;
    if (!ok && is_behind(&why)) /* a new index is of that commit */
        return refuse(l, &why, err);
    bool is_index_new = look_at_index(l).st_ino != before.st_ino;
    if ((!has_ended || r.status > KILLED_STATUS) && !is_index_new && is_changed(l, new_oid))
        return tell_changed(l, &why, err);
    if (!ok)
        return take_back(l, new_oid, is_index_new, &why, err);
    if (strcmp(now.ptr, l->target) != 0) /* a hook, or somebody who was quick, went on from there */
        return true;
    AUTO_FREE char *shown = text_clean(l->checkout);
    return err_set(err, ERR_CONFLICT,
                   "the checkout at %s went to another branch meanwhile, and the merge is there: "
                   "%s is where it was. `git reset --keep ORIG_HEAD` in it undoes that",
                   shown, l->ref);
}
