#include "worktree/include.h"

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
#include "worktree/secrets.h"
#include "worktree/treepath.h"

enum { INCLUDE_MAX_FILES = 200000 };

/* Before a path that git reads as a pattern, so that no name is magic. */
#define PLAIN "./"

static struct gitrun in_checkout(const struct include *inc)
{
    return (struct gitrun){.git_dir = inc->repo->git_dir, .work_tree = inc->repo->toplevel};
}

/* Untracked files that match the patterns and are ignored by the repository's own rules. */
static bool list_by_pattern(const struct include *inc, const struct strv *patterns_wanted,
                            struct buf *out, struct err *err)
{
    AUTO_BUF struct buf patterns = BUF_INIT;
    AUTO_BUF struct buf matches = BUF_INIT, asked = BUF_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *file = fs_join(inc->dir, "include");
    AUTO_FREE char *option = xasprintf("--exclude-from=%s", file);
    struct gitrun g = in_checkout(inc);
    for (size_t i = 0; i < patterns_wanted->n; i++)
        buf_addf(&patterns, "%s\n", patterns_wanted->v[i]);
    if (!fs_write_plain(AT_FDCWD, file, patterns.ptr, patterns.len, 0600, err) ||
        !gitrun_out(&matches, &g, GIT_ARGS("ls-files", "-z", "--others", "--ignored", option), err))
        return false;
    if (matches.len == 0)
        return true;
    for (const char *p = matches.ptr; p < matches.ptr + matches.len; p += strlen(p) + 1) {
        buf_addf(&asked, PLAIN "%s", p);
        buf_addch(&asked, '\0');
    }
    g.input = asked.ptr;
    g.input_len = asked.len;
    const char *const *args = GIT_ARGS("check-ignore", "-z", "--stdin");
    if (!gitrun(&r, &g, args, err))
        return false;
    if (r.status > 1) /* 1: none of them is ignored */
        return gitrun_failed(&r, args, err);
    for (const char *p = r.out.ptr; p < r.out.ptr + r.out.len; p += strlen(p) + 1)
        buf_add(out, p + strlen(PLAIN), strlen(p) - strlen(PLAIN) + 1);
    return true;
}

static bool has_path(const struct buf *paths, const char *path)
{
    for (const char *p = paths->ptr; p && p < paths->ptr + paths->len; p += strlen(p) + 1)
        if (strcmp(p, path) == 0)
            return true;
    return false;
}

/* Of what matches, what looks like a secret stays behind unless a pattern means it. */
static bool hold_secrets_back(const struct include *inc, struct buf *paths, struct err *err)
{
    AUTO_STRV struct strv meaning = STRV_INIT;
    AUTO_BUF struct buf kept = BUF_INIT, held = BUF_INIT, meant = BUF_INIT;
    bool any = false;
    for (const char *p = paths->ptr; p && p < paths->ptr + paths->len; p += strlen(p) + 1)
        any |= secrets_looks_like(p);
    if (!any)
        return true;
    for (size_t i = 0; i < inc->patterns->n; i++)
        if (secrets_is_meant(inc->patterns->v[i]))
            strv_push(&meaning, inc->patterns->v[i]);
    if (meaning.n > 0 && !list_by_pattern(inc, &meaning, &meant, err))
        return false;
    for (const char *p = paths->ptr; p < paths->ptr + paths->len; p += strlen(p) + 1)
        buf_add(secrets_looks_like(p) && !has_path(&meant, p) ? &held : &kept, p, strlen(p) + 1);
    buf_clear(paths);
    buf_add(paths, kept.ptr, kept.len);
    AUTO_FREE char *record = fs_join(inc->dir, INCLUDE_HELD_BACK);
    return held.len == 0 || fs_write_plain(AT_FDCWD, record, held.ptr, held.len, 0600, err);
}

static bool list_hooks(const struct include *inc, struct buf *out, struct err *err)
{
    AUTO_FREE char *spec = xasprintf(":(top,literal)%s", inc->hooks_in_tree);
    struct gitrun g = in_checkout(inc);
    return gitrun_out(
        out, &g,
        GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", spec), err);
}

int include_walk_to_parent(int root, const char *path, bool make)
{
    AUTO_FD int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        AUTO_FREE char *name = xstrndup(path, (size_t)(slash - path));
        if (make && mkdirat(fd, name, 0755) != 0 && errno != EEXIST)
            return -1;
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        close(fd);
        fd = next;
    }
    return steal_fd(&fd);
}

bool include_is_free_below(int lower, const char *path)
{
    if (lower < 0)
        return true;
    struct stat st;
    AUTO_FD int parent = include_walk_to_parent(lower, path, false);
    if (parent < 0)
        return errno == ENOENT;
    return fstatat(parent, fs_basename(path), &st, AT_SYMLINK_NOFOLLOW) != 0;
}

static bool copy_link(int from, int to, const char *path)
{
    char target[LIMIT_PATH_BYTES];
    ssize_t len = readlinkat(from, fs_basename(path), target, sizeof(target) - 1);
    if (len < 0)
        return false;
    target[len] = '\0';
    return treepath_link_stays(path, target) && symlinkat(target, to, fs_basename(path)) == 0;
}

/* *ret_done: copied. Passed over: special files, links that leave, paths that the commit uses
 * otherwise. */
static bool copy_one(int from_root, int to_root, const int lowers[2], const char *path,
                     bool *ret_done, struct err *err)
{
    struct stat st;
    *ret_done = false;
    AUTO_FD int from = include_walk_to_parent(from_root, path, false);
    if (from < 0 || fstatat(from, fs_basename(path), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) || !include_is_free_below(lowers[0], path) ||
        !include_is_free_below(lowers[1], path))
        return true;
    AUTO_FD int to = include_walk_to_parent(to_root, path, true);
    if (to < 0)
        return errno == ENOTDIR || errno == ELOOP || err_sys(err, errno, "cannot copy %s", path);
    if (fstatat(to, fs_basename(path), &st, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    if (fstatat(from, fs_basename(path), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        *ret_done = copy_link(from, to, path);
        return true;
    }
    *ret_done = true;
    return fs_copy_file(from, fs_basename(path), to, fs_basename(path), err);
}

static bool copy_all(const struct include *inc, const struct buf *paths, struct buf *done,
                     struct err *err)
{
    AUTO_FD int from = fs_open_dir(AT_FDCWD, inc->repo->toplevel, err);
    AUTO_FD int to = from < 0 ? -1 : fs_open_dir(AT_FDCWD, inc->into, err);
    if (to < 0)
        return false;
    AUTO_FD int lower = -1;
    AUTO_FD int lower2 = -1;
    if ((inc->lower && (lower = fs_open_dir(AT_FDCWD, inc->lower, err)) < 0) ||
        (inc->lower2 && (lower2 = fs_open_dir(AT_FDCWD, inc->lower2, err)) < 0))
        return false;
    const int lowers[2] = {lower, lower2};
    int n = 0;
    for (const char *p = paths->ptr; p < paths->ptr + paths->len; p += strlen(p) + 1) {
        bool is_done = false;
        if (*p == '\0' || p[strlen(p) - 1] == '/') /* a repository inside this one */
            continue;
        if (++n > INCLUDE_MAX_FILES)
            return err_set(err, ERR_LIMIT,
                           "worktree.include matches more than %d files; name fewer",
                           INCLUDE_MAX_FILES);
        if (!copy_one(from, to, lowers, p, &is_done, err))
            return err_prefix(err, "worktree.include");
        if (is_done)
            buf_add(done, p, strlen(p) + 1);
    }
    return true;
}

bool include_seed(const struct include *inc, struct err *err)
{
    AUTO_BUF struct buf paths = BUF_INIT;
    AUTO_BUF struct buf done = BUF_INIT;
    if (!inc->repo->toplevel)
        return true;
    if (inc->patterns && inc->patterns->n > 0 &&
        (!list_by_pattern(inc, inc->patterns, &paths, err) || !hold_secrets_back(inc, &paths, err)))
        return false;
    AUTO_FREE char *hooks = fs_join(inc->repo->toplevel, inc->hooks_in_tree);
    if (*inc->hooks_in_tree && fs_is_dir(hooks) && !list_hooks(inc, &paths, err))
        return false;
    if (paths.len == 0 && inc->linked->len == 0)
        return true;
    buf_add(&done, inc->linked->ptr, inc->linked->len);
    AUTO_FREE char *record = fs_join(inc->dir, INCLUDE_RECORD);
    return copy_all(inc, &paths, &done, err) &&
           fs_write_plain(AT_FDCWD, record, done.ptr, done.len, 0600, err);
}

char *include_note(const char *dir)
{
    enum { SHOWN = 3 };
    AUTO_BUF struct buf paths = BUF_INIT, text = BUF_INIT;
    AUTO_FREE char *record = fs_join(dir, INCLUDE_HELD_BACK);
    struct err ignored = ERR_INIT;
    size_t n = 0;
    if (!fs_exists(record) ||
        !fs_read_file(&paths, AT_FDCWD, record, LIMIT_CAPTURE_BYTES, &ignored))
        return NULL;
    for (const char *p = paths.ptr; p < paths.ptr + paths.len; p += strlen(p) + 1, n++) {
        AUTO_FREE char *shown = text_clean(p);
        if (n < SHOWN)
            buf_addf(&text, "%s%s", n ? ", " : "", shown);
    }
    if (n > SHOWN)
        buf_addf(&text, " and %zu more", n - SHOWN);
    return xasprintf(
        "of worktree.include, what looks like a secret was not taken along: %s; name it "
        "there (its own name, not a folder or *) if agents are to have it",
        text.ptr);
}
