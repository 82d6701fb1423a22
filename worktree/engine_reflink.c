/*
 * reflink: the base file by file, content shared until it is written (XFS with reflink=1, btrfs,
 * bcachefs). The inodes are new, so the index gets their stat data.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/clonetree.h"
#include "worktree/engine.h"
#include "worktree/fault.h"
#include "worktree/gitindex.h"

enum { CLONED_BYTES = 4096 };

static bool try_in(const char *folder, struct err *err)
{
    static const char content[CLONED_BYTES] = "x";
    AUTO_FREE char *from = fs_join(folder, "from");
    AUTO_FREE char *to = fs_join(folder, "to");
    AUTO_FREE char *file = fs_join(from, "file");
    if (!fs_mkdirs(from, 0700, err) || !fs_mkdirs(to, 0700, err) ||
        !fs_write_plain(AT_FDCWD, file, content, sizeof(content), 0600, err))
        return false;
    AUTO_FD int from_fd = fs_open_dir(AT_FDCWD, from, err);
    AUTO_FD int to_fd = from_fd < 0 ? -1 : fs_open_dir(AT_FDCWD, to, err);
    return to_fd >= 0 && clonetree_file(from_fd, to_fd, "file", err);
}

static void try_clone(const char *bases_dir, struct buf *ret_why)
{
    struct err err = ERR_INIT, ignored = ERR_INIT;
    AUTO_FREE char *folder = xasprintf("%s/probe-XXXXXX", bases_dir);
    if (!mkdtemp(folder))
        return; /* whoever needs the folder will say why */
    if (!try_in(folder, &err))
        buf_addf(ret_why,
                 "the file system of the state folder shares no content between files (%s)",
                 err.text);
    (void)!fs_remove_tree(AT_FDCWD, folder, &ignored);
}

static bool works(const char *bases_dir, char **ret_why)
{
    return engine_remember(bases_dir, engine_reflink.name, try_clone, ret_why);
}

/* A copy of an index of the base for the files that were cloned. */
static bool take_index(const struct engine_job *job, const char *from, const char *to,
                       const char *tree, struct err *err)
{
    return fs_copy_file(AT_FDCWD, from, AT_FDCWD, to, err) &&
           gitindex_restat(to, tree, job->repo->object_format, err);
}

static bool take_sub_indexes(struct engine_job *job, struct err *err)
{
    const struct wt_attempt *a = job->attempt;
    AUTO_FREE char *folder = fs_join(a->dir, ENGINE_SUBS);
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_FREE char *from = xasprintf("%s/sub%zu", job->base.path, i);
        AUTO_FREE char *to = xasprintf("%s/sub%zu", folder, i);
        AUTO_FREE char *tree = fs_join(a->upper, a->subs.v[i].path);
        if (!fs_mkdirs(folder, 0700, err) || !take_index(job, from, to, tree, err))
            return false;
    }
    free(job->subs_dir);
    job->subs_dir = steal_ptr(&folder);
    return true;
}

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    const struct basetree_want want = engine_want(job, BASETREE_FILES);
    if (!basetree_get(&job->base, &want, err) || !wt_fault(err) ||
        !clonetree(job->base.tree, a->upper, err) || !wt_fault(err) ||
        !engine_take_subs(job, job->base.path, err) || !take_sub_indexes(job, err))
        return false;
    job->index = fs_join(a->dir, "index");
    job->face_index = xstrdup(job->base.face);
    return take_index(job, job->base.index, job->index, a->upper, err) && wt_fault(err) &&
           engine_place_gitfile(a, err);
}

const struct engine engine_reflink = {
    .name = "reflink",
    .files = "files",
    .trade = "clones file by file at the start; files open as in a plain folder",
    .works = works,
    .make = make,
};
