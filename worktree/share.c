#include "worktree/share.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/gitrun.h"
#include "worktree/include.h"

/* "./a/b/" is "a/b". NULL: it is no path below the top. */
static char *plain_path(const char *word)
{
    AUTO_STRV struct strv parts = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    strv_split(&parts, word, '/', false);
    for (size_t i = 0; i < parts.n; i++) {
        if (strcmp(parts.v[i], "..") == 0)
            return NULL;
        if (strcmp(parts.v[i], ".") != 0)
            buf_addf(&out, "%s%s", out.len ? "/" : "", parts.v[i]);
    }
    return *word == '/' || out.len == 0 ? NULL : buf_steal(&out);
}

/* *ret: it is in the checkout. A link on the way, or at the end, is an error. */
static bool is_there(bool *ret, int top, const char *path, struct err *err)
{
    struct err why = ERR_INIT;
    AUTO_FREE char *shown = text_clean(path);
    AUTO_FD int fd = fs_open_beneath(top, path, O_PATH, 0, &why);
    *ret = fd >= 0;
    if (fd >= 0 || why.sys_errno == ENOENT || why.sys_errno == ENOTDIR)
        return true;
    if (why.sys_errno == ELOOP)
        return err_set(
            err, ERR_USAGE,
            "worktree.share: %s is or leads through a link, which is not followed; name what "
            "it leads to, if that is in the checkout",
            shown);
    *err = why;
    return false;
}

static bool is_ignored(bool *ret, const struct share *s, const char *path, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *plain = xasprintf("./%s", path);
    struct gitrun g = {.git_dir = s->repo->git_dir, .work_tree = s->repo->toplevel};
    const char *const *args = GIT_ARGS("check-ignore", "--quiet", plain);
    if (!gitrun(&r, &g, args, err))
        return false;
    *ret = r.status == 0;
    return r.status <= 1 || gitrun_failed(&r, args, err);
}

/* As a pattern that means this one name, a link too. */
static void add_pattern(struct buf *out, const char *path)
{
    buf_addch(out, '/');
    for (; *path; path++) {
        if (strchr("*?[]\\!# ", *path))
            buf_addch(out, '\\');
        buf_addch(out, *path);
    }
    buf_addch(out, '\n');
}

static bool ignore_inside(const struct share *s, const struct buf *patterns, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = fs_join(s->gitdir, "info/exclude");
    if (fs_exists(path) && !fs_read_file(&text, AT_FDCWD, path, LIMIT_CONFIG_BYTES, err))
        return false;
    if (text.len > 0 && text.ptr[text.len - 1] != '\n')
        buf_addch(&text, '\n');
    buf_add(&text, patterns->ptr, patterns->len);
    return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0644, err);
}

static bool is_free(const char *lower, const char *path, struct err *err)
{
    AUTO_FD int fd = lower ? fs_open_dir(AT_FDCWD, lower, err) : -1;
    return !lower || (fd >= 0 && include_is_free_below(fd, path));
}

static bool link_one(const struct share *s, int into, const char *path, const char *host,
                     bool *ret_done, struct err *err)
{
    *ret_done = false;
    if (!is_free(s->lower, path, err) || !is_free(s->lower2, path, err))
        return true;
    AUTO_FD int to = include_walk_to_parent(into, path, true);
    if (to < 0)
        return errno == ENOTDIR || errno == ELOOP || err_sys(err, errno, "cannot share %s", path);
    if (symlinkat(host, to, fs_basename(path)) != 0)
        return errno == EEXIST || err_sys(err, errno, "cannot share %s", path);
    *ret_done = true;
    return true;
}

/* What was made so far. */
struct made {
    struct buf hosts, patterns; /* what the links lead to; patterns that mean the links */
    struct buf *linked;
};

static bool share_one(struct made *made, const struct share *s, const int fds[2], const char *word,
                      struct err *err)
{
    bool is_here = false, ignored = false, is_done = false;
    AUTO_FREE char *path = plain_path(word);
    AUTO_FREE char *shown = text_clean(word);
    if (!path)
        return err_set(err, ERR_USAGE,
                       "worktree.share: %s is no path below the top of a repository", shown);
    if (!is_there(&is_here, fds[0], path, err) || (is_here && !is_ignored(&ignored, s, path, err)))
        return false;
    AUTO_FREE char *host = fs_join(s->repo->toplevel, path);
    if (ignored && !link_one(s, fds[1], path, host, &is_done, err))
        return false;
    if (is_done) {
        buf_add(&made->hosts, host, strlen(host) + 1);
        buf_add(made->linked, path, strlen(path) + 1);
        add_pattern(&made->patterns, path);
    }
    return true;
}

static bool share_all(struct made *made, const struct share *s, struct err *err)
{
    AUTO_FREE char *record = fs_join(s->dir, WT_SHARED_RECORD);
    AUTO_FD int top = fs_open_dir(AT_FDCWD, s->repo->toplevel, err);
    AUTO_FD int into = top < 0 ? -1 : fs_open_dir(AT_FDCWD, s->into, err);
    if (into < 0)
        return false;
    const int fds[2] = {top, into};
    for (size_t i = 0; i < s->paths->n; i++)
        if (!share_one(made, s, fds, s->paths->v[i], err))
            return false;
    return made->hosts.len == 0 ||
           (ignore_inside(s, &made->patterns, err) &&
            fs_write_plain(AT_FDCWD, record, made->hosts.ptr, made->hosts.len, 0600, err));
}

bool share_seed(struct buf *linked, const struct share *s, struct err *err)
{
    struct made made = {.hosts = BUF_INIT, .patterns = BUF_INIT, .linked = linked};
    if (!s->paths || s->paths->n == 0 || !s->repo->toplevel)
        return true;
    bool ok = share_all(&made, s, err);
    buf_release(&made.hosts);
    buf_release(&made.patterns);
    return ok;
}
