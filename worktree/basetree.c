#include "worktree/basetree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/subvol.h"
#include "worktree/basetree_delta.h"
#include "worktree/fault.h"
#include "worktree/gitdir.h"
#include "worktree/gitindex.h"
#include "worktree/gitrun.h"
#include "worktree/subs.h"

enum { KEY_DIGITS = 8, KEY_BYTES = 100, ATTRIBUTES_BYTES = 1024 * 1024 };

void basetree_release(struct basetree *b)
{
    free(b->path);
    free(b->tree);
    free(b->index);
    free(b->face);
    free(b->under);
    auto_fd_(&b->lock_fd);
    auto_fd_(&b->under_fd);
    *b = (struct basetree)BASETREE_INIT;
}

static void name_paths(struct basetree *b, const char *path)
{
    b->path = xstrdup(path);
    b->tree = fs_join(path, "tree");
    b->index = fs_join(path, "index");
    b->face = fs_join(path, "face");
}

static bool shapes_content(const char *entry)
{
    static const char *const keys[] = {
        "core.autocrlf",          "core.eol",        "core.symlinks",
        "core.filemode",          "core.ignorecase", "core.checkroundtripencoding",
        "core.precomposeunicode",
    };
    size_t len = gitcfg_key_len(entry);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strlen(keys[i]) == len && strncmp(entry, keys[i], len) == 0)
            return true;
    return strncmp(entry, "filter.", strlen("filter.")) == 0;
}

static void add_file(struct buf *out, const char *path)
{
    struct err ignored = ERR_INIT; /* absent, or unreadable to git as well */
    if (path && !fs_read_file(out, AT_FDCWD, path, ATTRIBUTES_BYTES, &ignored))
        buf_addch(out, '\0');
}

static char *make_key(const struct basetree_want *want)
{
    AUTO_BUF struct buf shape = BUF_INIT;
    for (size_t i = 0; i < want->cfg->entries.n; i++)
        if (shapes_content(want->cfg->entries.v[i]))
            buf_add(&shape, want->cfg->entries.v[i], strlen(want->cfg->entries.v[i]) + 1);
    AUTO_FREE char *user = gitcfg_user_file(want->cfg, "core.attributesfile", "attributes");
    AUTO_FREE char *info = fs_join(want->repo->common_dir, "info/attributes");
    add_file(&shape, user);
    add_file(&shape, info);
    if (gitcfg_bool(want->cfg, "core.sparsecheckout", false)) {
        AUTO_FREE char *sparse = fs_join(want->repo->git_dir, "info/sparse-checkout");
        buf_addf(&shape, "sparse %d ", gitcfg_bool(want->cfg, "core.sparsecheckoutcone", true));
        add_file(&shape, sparse);
    }
    subs_add_key(&shape, want->repo);
    if (want->kind != BASETREE_LAYER)
        buf_addf(&shape, "kind=%d ", want->kind);
    buf_addf(&shape, "lfs=%d owner=%ld:%ld", want->cfg->has_lfs, (long)want->uid, (long)want->gid);
    struct digest_part parts[] = {
        {want->repo->common_dir, strlen(want->repo->common_dir)},
        {shape.ptr, shape.len},
    };
    char hex[DIGEST_HEX_SIZE];
    digest_parts(hex, parts, ARRAY_LEN(parts));
    return xasprintf("%s-%.*s", want->oid, KEY_DIGITS, hex);
}

static bool is_same_file(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 &&
           open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

static bool lock_file(int fd, int how, const char *path, struct err *err)
{
    while (flock(fd, how) != 0)
        if (errno != EINTR)
            return err_sys(err, errno, "cannot lock %s", path);
    return true;
}

/* Whoever removes a base removes its lock file too: a lock on a file that has lost its name counts
 * for nothing. */
static bool open_lock(int *ret_fd, const char *path, int how, struct err *err)
{
    for (;;) {
        AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_sys(err, errno, "cannot open %s", path);
        if (!lock_file(fd, how, path, err))
            return false;
        if (is_same_file(fd, path)) {
            *ret_fd = steal_fd(&fd);
            return true;
        }
    }
}

bool basetree_lock(int *ret_fd, const char *bases_dir, const char *key, bool try_only,
                   struct err *err)
{
    AUTO_FREE char *path = xasprintf("%s/%s.lock", bases_dir, key);
    struct err why = ERR_INIT;
    if (open_lock(ret_fd, path, LOCK_EX | (try_only ? LOCK_NB : 0), &why))
        return true;
    if (try_only && why.sys_errno == EWOULDBLOCK) {
        *ret_fd = -1;
        return true;
    }
    *err = why;
    return false;
}

bool basetree_share(int *ret_fd, const char *bases_dir, const char *key, struct err *err)
{
    AUTO_FREE char *path = xasprintf("%s/%s.lock", bases_dir, key);
    return open_lock(ret_fd, path, LOCK_SH, err);
}

static bool make_face(const struct basetree_want *want, const struct basetree *b,
                      const struct buf *paths, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_STRV struct strv config = STRV_INIT;
    strv_push(&config, "core.untrackedCache=false"); /* the host's folder is another place */
    if (!fs_copy_file(AT_FDCWD, b->index, AT_FDCWD, b->face, err))
        return false;
    struct gitrun g = {
        .git_dir = want->repo->git_dir,
        .work_tree = b->tree,
        .index_file = b->face,
        .config = &config,
        .input = paths->ptr,
        .input_len = paths->len,
    };
    const char *const *args = GIT_ARGS("update-index", "--skip-worktree", "-z", "--stdin");
    return gitrun_out(&ignored, &g, args, err);
}

static bool make_folder(const struct basetree_want *want, const char *path, struct err *err)
{
    return want->kind == BASETREE_SUBVOLUME ? subvol_create(path, err) : fs_mkdirs(path, 0755, err);
}

/* Let git note in the index that no folder has an untracked file, so that the first status in a
 * worktree need not list them all. What it notes depends on the excludes, so it sees those of a
 * box. Without it a status takes longer, and nothing else. */
static bool learn_untracked(const struct basetree_want *want, const struct basetree *b,
                            struct err *err)
{
    AUTO_FREE char *gitdir = fs_join(b->path, "look");
    AUTO_STRV struct strv config = STRV_INIT, env = STRV_INIT;
    AUTO_BUF struct buf ignored = BUF_INIT;
    const struct ref_list no_refs = REF_LIST_INIT;
    const struct gitdir_seed seed = {
        .repo = want->repo,
        .cfg = want->cfg,
        .refs = &no_refs,
        .branch = "look",
        .base = want->oid,
    };
    checkout_add_index_config(&config);
    strv_push(&config, "core.untrackedCache=true");
    strv_push(&config, "index.threads=1");
    strv_push(&config, "core.excludesFile=/nonexistent"); /* info/exclude has it */
    strv_push(&env, "GIT_OPTIONAL_LOCKS=1");
    const struct gitrun g = {
        .git_dir = gitdir,
        .work_tree = b->tree,
        .index_file = b->index,
        .config = &config,
        .env = &env,
    };
    struct err why = ERR_INIT;
    bool ok = gitdir_make(gitdir, &seed, &why) &&
              gitrun_out(&ignored, &g, GIT_ARGS("status", "--porcelain", "--ignore-submodules=all"),
                         &why);
    (void)ok;
    return fs_remove_tree(AT_FDCWD, gitdir, err);
}

/* What spares a worktree over the base work on its index. */
static bool ready_index(const struct basetree_want *want, const struct basetree *b, bool is_delta,
                        struct err *err)
{
    return want->kind != BASETREE_LAYER ||
           ((is_delta || learn_untracked(want, b, err)) &&
            gitindex_note_digest(b->index, want->repo->object_format, err));
}

/* From nothing, or from another one. */
static bool make_in(const char *path, const char *suffix, const struct basetree_want *want,
                    struct err *err)
{
    AUTO_BASETREE struct basetree b = BASETREE_INIT;
    AUTO_BUF struct buf paths = BUF_INIT;
    name_paths(&b, path);
    struct checkout c = {
        .repo = want->repo,
        .cfg = want->cfg,
        .oid = want->oid,
        .tree = b.tree,
        .index = b.index,
        .uid = want->uid,
        .gid = want->gid,
    };
    bool is_made = false;
    if (!basetree_delta_make(&is_made, path, suffix, want, &paths, err))
        return false;
    if (is_made)
        return make_face(want, &b, &paths, err) && ready_index(want, &b, true, err);
    return fs_mkdirs(b.path, 0700, err) && make_folder(want, b.tree, err) && wt_fault(err) &&
           checkout_files(&c, &paths, err) && wt_fault(err) &&
           subs_check_out(want, b.path, b.tree, err) && make_face(want, &b, &paths, err) &&
           ready_index(want, &b, false, err);
}

/* The lock is held: whatever has the temporary name is a leftover. */
static bool make(const char *path, const struct basetree_want *want, struct err *err)
{
    AUTO_FREE char *unfinished = xasprintf("%s.new", path);
    if (!fs_remove_tree(AT_FDCWD, unfinished, err))
        return false;
    if (make_in(unfinished, strrchr(path, '-'), want, err) && wt_fault(err)) {
        if (rename(unfinished, path) == 0)
            return true;
        err_sys(err, errno, "cannot name the new base %s", path);
    }
    struct err ignored = ERR_INIT;
    if (!fs_remove_tree(AT_FDCWD, unfinished, &ignored))
        return err_prefix(err, "%s is left behind", unfinished);
    return false;
}

static bool make_once(const char *lock, const char *path, const struct basetree_want *want,
                      struct err *err)
{
    AUTO_FD int fd = -1;
    if (!open_lock(&fd, lock, LOCK_EX, err))
        return false;
    AUTO_FREE char *tree = fs_join(path, "tree");
    if (fs_exists(tree) || make(path, want, err))
        return true;
    unlink(lock);
    return false;
}

/* What the base lies over, where it is a delta. */
static bool take_under(struct basetree *b, const char *bases_dir, struct err *err)
{
    AUTO_BUF struct buf key = BUF_INIT;
    AUTO_FREE char *note = fs_join(b->path, BASETREE_UNDER);
    if (!fs_exists(note))
        return true;
    if (!fs_read_file(&key, AT_FDCWD, note, KEY_BYTES, err) ||
        !basetree_share(&b->under_fd, bases_dir, key.ptr, err))
        return false;
    b->under = xasprintf("%s/%s/tree", bases_dir, key.ptr);
    return fs_is_dir(b->under) ||
           err_set(err, ERR_FAILED, "the base %s lost what it lies over; run headgate clean",
                   b->path);
}

bool basetree_get(struct basetree *ret, const struct basetree_want *want, struct err *err)
{
    AUTO_FREE char *key = make_key(want);
    AUTO_FREE char *path = fs_join(want->bases_dir, key);
    AUTO_FREE char *lock = xasprintf("%s.lock", path);
    AUTO_BASETREE struct basetree b = BASETREE_INIT;
    name_paths(&b, path);
    for (;;) {
        if (!open_lock(&b.lock_fd, lock, LOCK_SH, err))
            return false;
        if (fs_exists(b.tree)) {
            (void)!futimens(b.lock_fd, NULL); /* when it was last of use: the oldest goes first */
            break;
        }
        auto_fd_(&b.lock_fd);
        b.lock_fd = -1;
        if (!make_once(lock, path, want, err))
            return false;
    }
    if (!take_under(&b, want->bases_dir, err))
        return false;
    *ret = b;
    b = (struct basetree)BASETREE_INIT;
    return true;
}
