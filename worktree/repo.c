#include "worktree/repo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"

enum { LIST_TRIES = 20 };

/* `rev-parse --git-path NAME` prints "<folder>/NAME": with names that are in no path, the output of
 * one call can be taken apart although paths may hold newlines. */
#define MARK_GITDIR "headgate-mark-gitdir"
#define MARK_COMMON "headgate-mark-common"
#define MARK_PREFIX "headgate-mark-prefix"

void wt_repo_release(struct wt_repo *repo)
{
    free(repo->toplevel);
    free(repo->common_dir);
    free(repo->git_dir);
    free(repo->object_format);
    free(repo->subdir);
    free(repo->head_ref);
    *repo = (struct wt_repo)WT_REPO_INIT;
}

/* Take one line off the front. NULL when there is none. */
static char *take_line(char **rest)
{
    char *end = strchr(*rest, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    char *line = *rest;
    *rest = end + 1;
    return line;
}

/* Take everything up to "/MARK\n" off the front. */
static char *take_path(char **rest, const char *mark)
{
    AUTO_FREE char *needle = xasprintf("/%s\n", mark);
    char *end = strstr(*rest, needle);
    if (!end)
        return NULL;
    *end = '\0';
    char *path = *rest;
    *rest = end + strlen(needle);
    return path;
}

static bool parse_output(struct wt_repo *repo, char *rest, const char *path, struct err *err)
{
    const char *bare = take_line(&rest);
    const char *shallow = take_line(&rest);
    const char *format = take_line(&rest);
    const char *git_dir = take_path(&rest, MARK_GITDIR);
    const char *common = take_path(&rest, MARK_COMMON);
    char *prefix = take_path(&rest, MARK_PREFIX);
    size_t git_dir_len = git_dir ? strlen(git_dir) : 0;
    size_t prefix_len = prefix ? strlen(prefix) : 0;
    size_t info_len = strlen("/info");
    /* prefix is "<prefix>\n<gitdir>", common is "<common>/info". */
    if (!bare || !shallow || !format || !git_dir || !common || !prefix ||
        prefix_len < git_dir_len + 1 || strlen(common) < info_len)
        return err_set(err, ERR_INTERNAL, "git rev-parse answered in an unknown form for %s", path);
    repo->is_bare = strcmp(bare, "true") == 0;
    repo->is_shallow = strcmp(shallow, "true") == 0;
    repo->object_format = xstrdup(format);
    repo->git_dir = xstrdup(git_dir);
    repo->common_dir = xstrndup(common, strlen(common) - info_len);
    repo->subdir = xstrndup(prefix, prefix_len - git_dir_len - 1);
    size_t len = strlen(repo->subdir);
    if (len > 0 && repo->subdir[len - 1] == '/')
        repo->subdir[len - 1] = '\0';
    len = strlen(rest);
    if (!repo->is_bare && len > 0)
        repo->toplevel = xstrndup(rest, len - 1);
    return true;
}

/* HEAD is a plain file in every ref format; where its content is only a stand-in, git knows. */
static bool read_head(struct wt_repo *repo, struct err *err)
{
    static const char intro[] = "ref: ";
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(repo->git_dir, "HEAD");
    if (!fs_read_file(&text, AT_FDCWD, path, 4096, err))
        return false;
    buf_rtrim(&text);
    if (strncmp(text.ptr, intro, strlen(intro)) == 0 && !strstr(text.ptr, "/.invalid")) {
        repo->head_ref = xstrdup(text.ptr + strlen(intro));
        return true;
    }
    if (gitrun_is_oid(text.ptr))
        return true;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = repo->git_dir};
    if (!gitrun(&r, &g, GIT_ARGS("symbolic-ref", "-q", "HEAD"), err))
        return false;
    buf_rtrim(&r.out);
    if (r.status == 0)
        repo->head_ref = xstrdup(r.out.ptr);
    return true;
}

/* Git names the folder that it looked at, which may lie above the one that was asked for. */
static char *distrusted_folder(const char *message, const char *fallback)
{
    const char *start = strstr(message, "repository at '");
    const char *end = start ? strchr(start + strlen("repository at '"), '\'') : NULL;
    AUTO_FREE char *folder =
        end ? xstrndup(strchr(start, '\'') + 1, (size_t)(end - strchr(start, '\'') - 1))
            : xstrdup(fallback);
    return text_clean(folder);
}

static bool explain_failure(const struct proc_result *r, const char *path, struct err *err)
{
    AUTO_FREE char *shown = text_clean(path);
    if (strstr(r->errout.ptr, "not a git repository"))
        return err_set(
            err, ERR_NOT_FOUND,
            "%s is not in a git repository; go to one, or run `git init` there and commit", shown);
    if (strstr(r->errout.ptr, "dubious ownership")) {
        AUTO_FREE char *folder = distrusted_folder(r->errout.ptr, path);
        return err_set(err, ERR_REFUSED,
                       "the repository at %s belongs to another user; if you trust it, run `git "
                       "config --global --add safe.directory '%s'`",
                       folder, folder);
    }
    gitrun_failed(r, GIT_ARGS("rev-parse"), err);
    if (strstr(r->errout.ptr, "unknown repository extension")) {
        AUTO_FREE char *said = xstrdup(err->text);
        return err_set(
            err, ERR_FAILED,
            "cannot open the repository at %s: %.300s; the git of this host is older than "
            "what made it: install a newer one",
            shown, said);
    }
    return err_prefix(err, "cannot open the repository at %s", shown);
}

static bool check_supported(const struct wt_repo *repo, bool has_toplevel, const char *path,
                            struct err *err)
{
    AUTO_FREE char *shown = text_clean(path);
    if (strcmp(repo->object_format, "sha1") != 0 && strcmp(repo->object_format, "sha256") != 0)
        return err_set(err, ERR_USAGE, "the repository at %s uses the unknown object format %s",
                       shown, repo->object_format);
    if (!repo->is_bare && !has_toplevel)
        return err_set(err, ERR_USAGE,
                       "%s is inside a repository's own git folder; name its working tree instead",
                       shown);
    return true;
}

bool wt_repo_open(struct wt_repo *ret, const char *path, struct err *err)
{
    if (access(path, F_OK) != 0) {
        int why = errno;
        AUTO_FREE char *shown = text_clean(path);
        if (why == ENOENT)
            return err_set(err, ERR_NOT_FOUND, "%s does not exist", shown);
        return err_sys(err, why, "cannot open %s", shown);
    }
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.cwd = path};
    const char *const *args = GIT_ARGS(
        "rev-parse", "--is-bare-repository", "--is-shallow-repository", "--show-object-format",
        "--path-format=absolute", "--git-path", MARK_GITDIR, "--git-path", "info/" MARK_COMMON,
        "--show-prefix", "--git-path", MARK_PREFIX, "--show-toplevel");
    if (!gitrun(&r, &g, args, err))
        return false;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    if (!strstr(r.out.ptr, "/" MARK_PREFIX "\n"))
        return explain_failure(&r, path, err);
    if (!parse_output(&repo, r.out.ptr, path, err) ||
        !check_supported(&repo, repo.toplevel != NULL, path, err) || !read_head(&repo, err))
        return false;
    *ret = repo;
    repo = (struct wt_repo)WT_REPO_INIT;
    return true;
}

/* git gives up when an entry goes between its readdir and its look: with many discards at once,
 * somebody always just removes one. Each try fails only for an entry that went meanwhile, so it
 * ends. */
bool repo_list_worktrees(struct buf *out, const char *common_dir, struct err *err)
{
    struct gitrun g = {.git_dir = common_dir};
    struct err why = ERR_INIT;
    for (int i = 0; i < LIST_TRIES; i++) {
        buf_clear(out);
        if (gitrun_out(out, &g, GIT_ARGS("worktree", "list", "--porcelain", "-z"), &why))
            return true;
    }
    *err = why;
    return false;
}

bool repo_checkout_of(char **ret, const char *common_dir, const char *full_ref, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    if (!repo_list_worktrees(&out, common_dir, err))
        return false;
    const char *path = NULL;
    for (const char *p = out.ptr; p < out.ptr + out.len; p += strlen(p) + 1) {
        if (strncmp(p, "worktree ", 9) == 0)
            path = p + 9;
        if (path && strncmp(p, "branch ", 7) == 0 && strcmp(p + 7, full_ref) == 0) {
            *ret = xstrdup(path);
            return true;
        }
    }
    *ret = NULL;
    return true;
}

char *wt_main_branch(const char *common_dir, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = common_dir};
    if (!gitrun(&r, &g, GIT_ARGS("symbolic-ref", "-q", "--short", "HEAD"), err))
        return NULL;
    buf_rtrim(&r.out);
    return r.status == 0 ? xstrdup(r.out.ptr) : NULL;
}
