#include "worktree/unread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"
#include "worktree/attempt.h"
#include "worktree/engine.h"

enum { DEPTH = 256, FILES_MAX = 5000000, LISTED_MAX = 200 };

/* One file; all that are worth counting; in the git folder beside objects. */
#define LARGE_BYTES (INT64_C(1) << 30)
#define ALL_BYTES (INT64_C(16) << 30)
#define COUNTED_BYTES (INT64_C(16) << 20)
#define GIT_FILE_BYTES (INT64_C(256) << 20)

struct walk {
    struct unread *found;
    const struct wt_subs *subs; /* not to be entered */
    bool is_gitdir, is_nested;
    int64_t files, bytes;
    struct buf path; /* of the folder that is walked, "" or with a slash at its end */
};

void unread_release(struct unread *u)
{
    strv_release(&u->special);
    strv_release(&u->large);
    strv_release(&u->closed);
    strv_release(&u->nested);
}

/* How an overlay notes that a file of the base is gone (kernel overlayfs.rst). */
static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/* Below the folder of objects of the git folder or of a submodule's in it: sizes are the packs'. */
static bool is_among_objects(const struct walk *w)
{
    return w->is_gitdir && (strncmp(w->path.ptr, "objects/", strlen("objects/")) == 0 ||
                            strstr(w->path.ptr, "/objects/"));
}

static bool is_large(struct walk *w, int64_t bytes)
{
    if (w->is_gitdir)
        return bytes > GIT_FILE_BYTES && !is_among_objects(w);
    if (bytes < COUNTED_BYTES)
        return false;
    if (bytes > LARGE_BYTES || bytes > ALL_BYTES - w->bytes)
        return true;
    w->bytes += bytes;
    return false;
}

static void note(struct strv *list, const struct walk *w, const char *name)
{
    if (list->n < LISTED_MAX)
        strv_pushf(list, "%s%s", w->path.ptr, name);
}

static bool walk(struct walk *w, int dirfd, int depth, struct err *err);

static bool is_submodule(const struct walk *w, const char *name)
{
    AUTO_FREE char *path = xasprintf("%s%s", w->path.ptr, name);
    for (size_t i = 0; w->subs && i < w->subs->n; i++)
        if (strcmp(w->subs->v[i].path, path) == 0)
            return true;
    return false;
}

static bool is_repository(int fd)
{
    struct stat st;
    return fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_whiteout(&st);
}

static bool enter(struct walk *w, int dirfd, const char *name, mode_t mode, int depth,
                  struct err *err)
{
    static const mode_t open_to_owner = S_IRUSR | S_IXUSR;
    bool was_nested = w->is_nested;
    size_t len = w->path.len;
    if (is_submodule(w, name))
        return true;
    AUTO_FD int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || depth > DEPTH || (mode & open_to_owner) != open_to_owner) {
        note(&w->found->closed, w, name);
        return true;
    }
    if (!w->is_gitdir && !w->is_nested && is_repository(fd)) {
        note(&w->found->nested, w, name);
        w->is_nested = true;
    }
    buf_addf(&w->path, "%s/", name);
    bool ok = walk(w, fd, depth + 1, err);
    w->path.len = len;
    w->path.ptr[len] = '\0';
    w->is_nested = was_nested;
    return ok;
}

static bool look(struct walk *w, int dirfd, const struct dirent *e, int depth, struct err *err)
{
    struct stat st;
    bool is_plain_object = e->d_type == DT_REG && is_among_objects(w);
    if (is_plain_object || e->d_type == DT_LNK ||
        fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (S_ISDIR(st.st_mode))
        return enter(w, dirfd, e->d_name, st.st_mode, depth, err);
    if (S_ISREG(st.st_mode) ? is_large(w, st.st_size) : !S_ISLNK(st.st_mode) && !is_whiteout(&st))
        note(S_ISREG(st.st_mode) ? &w->found->large : &w->found->special, w, e->d_name);
    return true;
}

static bool walk(struct walk *w, int dirfd, int depth, struct err *err)
{
    int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    AUTO_DIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return err_sys(err, errno, "cannot list %s", w->path.ptr);
    for (const struct dirent *e; (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (!w->is_gitdir && strcmp(e->d_name, ".git") == 0 && w->path.len == 0))
            continue;
        if (++w->files > FILES_MAX)
            return err_set(err, ERR_LIMIT, "there are more than %d files", FILES_MAX);
        if (!look(w, dirfd, e, depth, err))
            return false;
    }
    return true;
}

static bool walk_open(struct walk *w, int fd, const char *path, struct err *err)
{
    bool ok = walk(w, fd, 0, err) || err_prefix(err, "cannot look through %s", path);
    buf_release(&w->path);
    return ok;
}

static bool walk_folder(struct walk *w, const char *path, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == EACCES || err_sys(err, errno, "cannot open %s", path);
    return walk_open(w, fd, path, err);
}

/* A submodule (subs.h), whose files lie among those of the attempt that it belongs to: its folder
 * is below that one's, its tree below that one's tree. */
static bool walk_submodule(struct walk *w, const struct wt_attempt *a, struct err *err)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *dir = fs_dirname(a->dir);
    AUTO_FREE char *tree = xasprintf("%s/tree/", dir);
    AUTO_FREE char *files = fs_join(dir, engine_get(a->engine)->files);
    if (strncmp(a->tree, tree, strlen(tree)) != 0)
        return walk_folder(w, a->tree, err);
    AUTO_FD int top = fs_open_dir(AT_FDCWD, files, err);
    if (top < 0)
        return false;
    /* The agent may have put anything in its place; then there is nothing of it to read. */
    AUTO_FD int fd =
        fs_open_beneath(top, a->tree + strlen(tree), O_RDONLY | O_DIRECTORY, 0, &ignored);
    return fd < 0 || walk_open(w, fd, a->tree, err);
}

bool unread_find(struct unread *ret, const struct wt_attempt *a, struct err *err)
{
    struct walk w = {.found = ret, .subs = &a->subs, .path = BUF_INIT};
    if (a->gitdir_top)
        return walk_submodule(&w, a, err);
    return walk_folder(&w, attempt_files(a), err);
}

bool unread_check_gitdir(const struct wt_attempt *a, struct err *err)
{
    AUTO_UNREAD struct unread found = UNREAD_INIT;
    struct walk w = {.found = &found, .is_gitdir = true, .path = BUF_INIT};
    AUTO_FD int fd = attempt_open_git(a, ".");
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", a->gitdir);
    if (!walk_open(&w, fd, a->gitdir, err))
        return false;
    const struct strv *list = found.special.n > 0 ? &found.special : &found.large;
    if (list->n == 0)
        return true;
    AUTO_FREE char *shown = text_clean(list->v[0]);
    return err_set(
        err, ERR_FAILED,
        "the attempt's git folder %s holds %s where git reads: %s; remove it there, then "
        "harvest again",
        a->gitdir,
        list == &found.large ? "a file of a size that nobody needs"
                             : "a pipe, a socket or a device",
        shown);
}
