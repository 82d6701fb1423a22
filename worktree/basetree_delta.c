#include "worktree/basetree_delta.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/subvol.h"
#include "worktree/clonetree.h"
#include "worktree/fault.h"
#include "worktree/gitindex.h"
#include "worktree/gitrun.h"
#include "worktree/lfs.h"
#include "worktree/treediff.h"

enum { DIFFERENT_MAX = 2000, LINK_MODE = 0160000 };

struct delta {
    const struct basetree_want *want;
    const char *path;
    char *tree, *index;
    char *under;          /* key of the whole base */
    int under_fd;         /* its lock, shared */
    struct treediff diff; /* from its commit to the wanted one */
    struct buf paths;     /* of the new index */
    const char **sorted;  /* the same, as git sorts them */
    size_t n_sorted;
};

static void delta_release(struct delta *d)
{
    free(d->tree);
    free(d->index);
    free(d->under);
    free(d->sorted);
    auto_fd_(&d->under_fd);
    treediff_release(&d->diff);
    buf_release(&d->paths);
}

#define AUTO_DELTA __attribute__((cleanup(delta_release)))

/* ---- what to lie over ---- */

/* Whole, with the same settings, and without submodules. */
static bool is_candidate(const struct delta *d, const char *name, const char *suffix)
{
    size_t len = strlen(name), suffix_len = strlen(suffix);
    AUTO_FREE char *path = fs_join(d->want->bases_dir, name);
    AUTO_FREE char *tree = fs_join(path, "tree");
    AUTO_FREE char *under = fs_join(path, BASETREE_UNDER);
    AUTO_FREE char *subs = fs_join(path, "subs");
    return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0 && fs_is_dir(tree) &&
           !fs_exists(under) && !fs_exists(subs);
}

/* The one that was of use last. */
static void find_under(struct delta *d, const char *suffix)
{
    struct timespec newest = {0};
    AUTO_DIR DIR *dir = opendir(d->want->bases_dir);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        struct stat st;
        AUTO_FREE char *lock = xasprintf("%s/%s.lock", d->want->bases_dir, e->d_name);
        if (!is_candidate(d, e->d_name, suffix) || stat(lock, &st) != 0)
            continue;
        bool is_newer = st.st_mtim.tv_sec > newest.tv_sec || (st.st_mtim.tv_sec == newest.tv_sec &&
                                                              st.st_mtim.tv_nsec >= newest.tv_nsec);
        if (!is_newer)
            continue;
        newest = st.st_mtim;
        free(d->under);
        d->under = xstrdup(e->d_name);
    }
}

/* Attributes decide how other files look, and submodules are more than their entry. */
static bool is_far_reaching(const struct treediff_entry *e)
{
    const char *name = fs_basename(e->path);
    return strcmp(name, ".gitattributes") == 0 || strcmp(name, ".gitmodules") == 0 ||
           e->old_mode == LINK_MODE || e->new_mode == LINK_MODE;
}

/* What differs; false in *ret_near when a delta is of no use. */
static bool compare(bool *ret_near, struct delta *d)
{
    struct err gone = ERR_INIT; /* the other's commit went: then there is none to lie over */
    AUTO_FREE char *from = xstrndup(d->under, strcspn(d->under, "-"));
    *ret_near = treediff_get(&d->diff, d->want->repo->common_dir, from, d->want->oid, &gone) &&
                d->diff.n <= DIFFERENT_MAX;
    for (size_t i = 0; *ret_near && i < d->diff.n; i++)
        *ret_near = !is_far_reaching(&d->diff.v[i]);
    return *ret_near;
}

static bool choose(bool *ret_near, struct delta *d, const char *suffix, struct err *err)
{
    *ret_near = false;
    if (gitcfg_bool(d->want->cfg, "core.sparsecheckout", false))
        return true;
    find_under(d, suffix);
    if (!d->under || !compare(ret_near, d))
        return true;
    if (!basetree_share(&d->under_fd, d->want->bases_dir, d->under, err))
        return false;
    AUTO_FREE char *tree = xasprintf("%s/%s/tree", d->want->bases_dir, d->under);
    *ret_near = fs_is_dir(tree); /* it may have gone before it was locked */
    return true;
}

/* ---- making it ---- */

/* The folder that the files that differ go into, with all the others, or none. */
static bool make_tree(const struct delta *d, struct err *err)
{
    AUTO_FREE char *other = xasprintf("%s/%s/tree", d->want->bases_dir, d->under);
    switch (d->want->kind) {
    case BASETREE_LAYER:
        return fs_mkdirs(d->tree, 0755, err);
    case BASETREE_FILES:
        return clonetree(other, d->tree, err);
    case BASETREE_SUBVOLUME:
        return subvol_snapshot(other, d->tree, err);
    }
    return false;
}

/* In a copy: with the folders that this leaves empty, as in a checkout. */
static bool remove_file(int treefd, const char *path, struct err *err)
{
    if (unlinkat(treefd, path, 0) != 0 && errno != ENOENT && errno != ENOTDIR)
        return err_sys(err, errno, "cannot remove %s from a base", path);
    AUTO_FREE char *folder = xstrdup(path);
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        if (unlinkat(treefd, folder, AT_REMOVEDIR) != 0 && errno != ENOENT)
            break;
    }
    return true;
}

/* What differs goes from a copy, so that it is written like the rest. */
static bool remove_different(const struct delta *d, struct err *err)
{
    AUTO_FD int treefd = fs_open_dir(AT_FDCWD, d->tree, err);
    if (treefd < 0)
        return false;
    for (size_t i = 0; i < d->diff.n; i++)
        if (d->diff.v[i].old_mode && !remove_file(treefd, d->diff.v[i].path, err))
            return false;
    return true;
}

static bool make_index(struct delta *d, struct err *err)
{
    AUTO_STRV struct strv config = STRV_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_FREE char *from = xstrndup(d->under, strcspn(d->under, "-"));
    AUTO_FREE char *other = xasprintf("%s/%s/index", d->want->bases_dir, d->under);
    checkout_add_index_config(&config);
    strv_push(&config, "core.untrackedCache=keep"); /* but of folders in which something differs */
    struct gitrun g = {
        .git_dir = d->want->repo->git_dir,
        .work_tree = d->tree,
        .index_file = d->index,
        .config = &config,
    };
    return fs_copy_file(AT_FDCWD, other, AT_FDCWD, d->index, err) &&
           gitrun_out(&ignored, &g, GIT_ARGS("read-tree", "-i", "-m", from, d->want->oid), err) &&
           gitindex_paths(&d->paths, d->index, d->want->repo->object_format, err);
}

static bool write_files(struct delta *d, struct err *err)
{
    AUTO_STRV struct strv config = STRV_INIT;
    AUTO_BUF struct buf changed = BUF_INIT, ignored = BUF_INIT;
    AUTO_FREE char *prefix = xasprintf("--prefix=%s/", d->tree);
    for (size_t i = 0; i < d->diff.n; i++)
        if (d->diff.v[i].new_mode)
            buf_add(&changed, d->diff.v[i].path, strlen(d->diff.v[i].path) + 1);
    checkout_add_index_config(&config);
    gitcfg_add_lfs_off(&config);
    struct gitrun g = {
        .git_dir = d->want->repo->git_dir,
        .work_tree = d->tree,
        .index_file = d->index,
        .config = &config,
        .input = changed.ptr,
        .input_len = changed.len,
    };
    const struct checkout c = {
        .repo = d->want->repo,
        .cfg = d->want->cfg,
        .oid = d->want->oid,
        .tree = d->tree,
        .index = d->index,
    };
    return gitrun_out(&ignored, &g, GIT_ARGS("checkout-index", "--quiet", "-z", "--stdin", prefix),
                      err) &&
           lfs_fill(&c, &changed, err);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_paths(struct delta *d)
{
    const char *end = d->paths.ptr + d->paths.len;
    for (const char *p = d->paths.ptr; p < end; p += strlen(p) + 1)
        d->n_sorted++;
    d->sorted = xcalloc(d->n_sorted + 1, sizeof(*d->sorted));
    size_t i = 0;
    for (const char *p = d->paths.ptr; p < end; p += strlen(p) + 1)
        d->sorted[i++] = p;
    if (d->n_sorted > 1)
        qsort(d->sorted, d->n_sorted, sizeof(*d->sorted), compare_paths);
}

/* Whether any file of the commit is below the folder, given as its first len bytes. */
static bool has_files_below(const struct delta *d, const char *folder, size_t len)
{
    AUTO_FREE char *prefix = xasprintf("%.*s/", (int)len, folder);
    size_t low = 0, high = d->n_sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(d->sorted[middle], prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->n_sorted && strncmp(d->sorted[low], prefix, len + 1) == 0;
}

/* A folder that lost its last file is gone as a whole, as in a checkout. */
static bool white_out(const struct delta *d, const char *path, struct err *err)
{
    size_t len = strlen(path);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        if (!has_files_below(d, path, (size_t)(slash - path))) {
            len = (size_t)(slash - path);
            break;
        }
    AUTO_FREE char *at = xasprintf("%s/%.*s", d->tree, (int)len, path);
    AUTO_FREE char *folder = fs_dirname(at);
    struct stat st;
    struct err why = ERR_INIT;
    if (lstat(at, &st) == 0) /* something of another kind is there now, which hides it as well */
        return true;
    if (errno == ENOTDIR) /* below what is a file by now: hidden too */
        return true;
    if (!fs_mkdirs(folder, 0755, &why)) {
        *err = why;
        return false;
    }
    return mknod(at, S_IFCHR | 0600, makedev(0, 0)) == 0 ||
           err_sys(err, errno, "cannot record that %s is gone", path);
}

static bool white_out_all(struct delta *d, struct err *err)
{
    sort_paths(d);
    for (size_t i = 0; i < d->diff.n; i++)
        if (!d->diff.v[i].new_mode && !white_out(d, d->diff.v[i].path, err))
            return false;
    return true;
}

/* A clone has new inodes; those of a layer and of a snapshot are where the index says. */
static bool stamp(const struct delta *d, struct buf *paths, struct err *err)
{
    const char *format = d->want->repo->object_format;
    return gitindex_stamp_new(d->index, d->tree, format, paths, err) &&
           (d->want->kind != BASETREE_FILES || gitindex_restat(d->index, d->tree, format, err));
}

/* A layer has whiteouts, and a note of what it lies over; a copy needs neither. */
static bool finish(struct delta *d, struct err *err)
{
    AUTO_FREE char *note = fs_join(d->path, BASETREE_UNDER);
    return d->want->kind != BASETREE_LAYER ||
           (white_out_all(d, err) && wt_fault(err) &&
            fs_write_plain(AT_FDCWD, note, d->under, strlen(d->under), 0600, err));
}

static bool make(struct delta *d, struct buf *paths, struct err *err)
{
    const struct basetree_want *w = d->want;
    bool is_other = w->uid != (uid_t)-1, is_copy = w->kind != BASETREE_LAYER;
    return fs_mkdirs(d->path, 0700, err) && make_tree(d, err) && wt_fault(err) &&
           (!is_copy || remove_different(d, err)) && make_index(d, err) && wt_fault(err) &&
           write_files(d, err) &&
           (!is_other || fs_chown_tree(AT_FDCWD, d->tree, w->uid, w->gid, err)) &&
           stamp(d, paths, err) && finish(d, err);
}

bool basetree_delta_make(bool *ret_made, const char *path, const char *suffix,
                         const struct basetree_want *want, struct buf *paths, struct err *err)
{
    AUTO_DELTA struct delta d = {
        .want = want,
        .path = path,
        .tree = fs_join(path, "tree"),
        .index = fs_join(path, "index"),
        .under_fd = -1,
        .diff = TREEDIFF_INIT,
        .paths = BUF_INIT,
    };
    return choose(ret_made, &d, suffix, err) && (!*ret_made || make(&d, paths, err));
}
