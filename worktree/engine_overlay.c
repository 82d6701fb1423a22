#include "worktree/engine.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/base/text.h"
#include "worktree/fault.h"
#include "worktree/gitdir.h"
#include "worktree/subs.h"

#define PROBE_NAME "overlay-probe"
#define WORKS "works"

enum { PROBE_BYTES = 4096, PROBE_TIMEOUT_MS = 10000 };

/* A box mounts in a user namespace of its own, so that is where it is tried. An upper layer that
 * cannot be written gives a read-only mount without an error; hence the touch. */
static bool try_mount(const char *bases_dir, struct buf *ret_why)
{
    static const char script[] =
        "cd \"$1\" && mkdir lower upper work at && mount -t overlay overlay "
        "-o lowerdir=lower,upperdir=upper,workdir=work$2 at && : >at/written";
    AUTO_FREE char *folder = xasprintf("%s/probe-XXXXXX", bases_dir);
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    if (!mkdtemp(folder))
        return true; /* whoever needs the folder will say why */
    bool is_root = geteuid() == 0;
    const char *const words[] = {"unshare", is_root ? "-m" : "-Urm",    "sh", "-c", script, "sh",
                                 folder,    is_root ? "" : ",userxattr"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    struct proc_cmd cmd = {.argv = &argv, .timeout_ms = PROBE_TIMEOUT_MS};
    bool is_tried = proc_run(&r, &cmd, &err);
    bool works = !is_tried || r.status == 0;
    if (!works) {
        text_sanitise(ret_why, r.errout.ptr, r.errout.len < 300 ? r.errout.len : 300, 0);
        buf_rtrim(ret_why);
    }
    (void)!fs_remove_tree(AT_FDCWD, folder, &err); /* empty folders, in nobody's way */
    return works;
}

bool engine_overlay_works(const char *bases_dir, char **ret_why)
{
    struct statfs fs;
    if (statfs(bases_dir, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC) {
        *ret_why = xstrdup("the state folder is itself on an overlay file system");
        return false;
    }
    struct err ignored = ERR_INIT;
    char boot[40] = "";
    AUTO_BUF struct buf known = BUF_INIT;
    AUTO_BUF struct buf why = BUF_INIT;
    AUTO_FREE char *file = fs_join(bases_dir, PROBE_NAME);
    size_t len = proc_boot_id(boot, &ignored) ? strlen(boot) : 0;
    if (fs_read_file(&known, AT_FDCWD, file, PROBE_BYTES, &ignored) && len > 0 && known.len > len &&
        strncmp(known.ptr, boot, len) == 0) {
        buf_adds(&why, known.ptr + len + 1);
    } else {
        if (try_mount(bases_dir, &why))
            buf_adds(&why, WORKS);
        buf_clear(&known);
        buf_addf(&known, "%s %s", boot, why.ptr);
        if (!fs_write_plain(AT_FDCWD, file, known.ptr, known.len, 0600, &ignored))
            unlink(file); /* it is tried again next time */
    }
    if (strcmp(why.ptr, WORKS) == 0)
        return true;
    *ret_why = xasprintf("an overlay cannot be mounted here (%s)", why.ptr);
    return false;
}

/* The submodules of the base, and why not all of them are filled, for people. */
static bool take_subs(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    AUTO_BUF struct buf absent = BUF_INIT;
    if (!subs_load(&a->subs, job->base.path, &absent, err))
        return false;
    for (size_t i = 0; i < a->subs.n; i++)
        if (!gitdir_object_dirs(&a->objects_ro, a->subs.v[i].repo, err))
            return false;
    if (absent.len > 0) {
        char *why = xasprintf("%s; empty submodules, whose commits you do not have: %s (git "
                              "submodule update --init --recursive)",
                              a->engine_why, absent.ptr);
        free(a->engine_why);
        a->engine_why = why;
    }
    return true;
}

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    struct basetree_want want = {
        .repo = job->repo,
        .cfg = job->cfg,
        .bases_dir = job->bases_dir,
        .oid = job->oid,
        .uid = a->uid,
        .gid = a->gid,
    };
    if (!basetree_get(&job->base, &want, err) || !wt_fault(err) || !take_subs(job, err))
        return false;
    a->lower = xstrdup(job->base.tree);
    a->lower2 = job->base.under ? xstrdup(job->base.under) : NULL;
    a->upper = fs_join(a->dir, "upper");
    a->work = fs_join(a->dir, "work");
    job->index = xstrdup(job->base.index);
    job->face_index = xstrdup(job->base.face);
    AUTO_FREE char *point = fs_join(a->upper, ".git");
    /* Something must be there for the box to show the gitfile over. */
    return fs_mkdirs(a->upper, 0755, err) && fs_mkdirs(a->work, 0755, err) &&
           fs_copy_file(AT_FDCWD, a->gitfile, AT_FDCWD, point, err);
}

const struct engine engine_overlay = {
    .name = "overlay",
    .is_tree_empty_on_host = true,
    .make = make,
};
