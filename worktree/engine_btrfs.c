/*
 * btrfs: a snapshot of the base, which is a subvolume. Inode numbers and times are the base's, so
 * its index is valid as it is, as with an overlay; and every folder can be renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/subvol.h"
#include "worktree/engine.h"
#include "worktree/fault.h"

static void try_snapshot(const char *bases_dir, struct buf *ret_why)
{
    struct err err = ERR_INIT;
    AUTO_FREE char *folder = xasprintf("%s/probe-XXXXXX", bases_dir);
    if (!mkdtemp(folder))
        return; /* whoever needs the folder will say why */
    AUTO_FREE char *base = fs_join(folder, "base");
    AUTO_FREE char *copy = fs_join(folder, "copy");
    if (!subvol_create(base, &err) || !subvol_snapshot(base, copy, &err) ||
        !fs_remove_tree(AT_FDCWD, folder, &err))
        buf_adds(ret_why, err.text);
    (void)!fs_remove_tree(AT_FDCWD, folder, &err);
}

static bool works(const char *bases_dir, char **ret_why)
{
    struct statfs fs;
    if (statfs(bases_dir, &fs) != 0 || fs.f_type != BTRFS_SUPER_MAGIC) {
        *ret_why = xstrdup("the state folder is not on a btrfs file system");
        return false;
    }
    return engine_remember(bases_dir, engine_btrfs.name, try_snapshot, ret_why);
}

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    const struct basetree_want want = engine_want(job, BASETREE_SUBVOLUME);
    if (!basetree_get(&job->base, &want, err) || !wt_fault(err) ||
        !subvol_snapshot(job->base.tree, a->upper, err) || !wt_fault(err) ||
        !engine_take_subs(job, job->base.path, err))
        return false;
    job->index = xstrdup(job->base.index);
    job->face_index = xstrdup(job->base.face);
    return engine_place_gitfile(a, err);
}

const struct engine engine_btrfs = {
    .name = "btrfs",
    .files = "files",
    .trade = "starts quickly; files open as in a plain folder",
    .works = works,
    .make = make,
};
