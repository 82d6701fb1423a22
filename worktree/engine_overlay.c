#include "worktree/engine.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "runner/base/text.h"
#include "worktree/fault.h"

enum { PROBE_TIMEOUT_MS = 10000, WHY_BYTES = 300, UUID_BYTES = 16 };

/* A box mounts in a user namespace of its own, so that is where it is tried. An upper layer that
 * cannot be written gives a read-only mount without an error; hence the touch. */
static void try_mount(const char *bases_dir, struct buf *ret_why)
{
    static const char script[] =
        "cd \"$1\" && mkdir lower upper work at && mount -t overlay overlay "
        "-o userxattr,lowerdir=lower,upperdir=upper,workdir=work at && : >at/written";
    AUTO_FREE char *folder = xasprintf("%s/probe-XXXXXX", bases_dir);
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    if (!mkdtemp(folder))
        return; /* whoever needs the folder will say why */
    const char *const words[] = {
        "unshare", geteuid() == 0 ? "-m" : "-Urm", "sh", "-c", script, "sh", folder};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    struct proc_cmd cmd = {.argv = &argv, .timeout_ms = PROBE_TIMEOUT_MS};
    if (proc_run(&r, &cmd, &err) && r.status != 0) {
        buf_adds(ret_why, "an overlay cannot be mounted here (");
        text_sanitise(ret_why, r.errout.ptr, r.errout.len < WHY_BYTES ? r.errout.len : WHY_BYTES,
                      0);
        buf_rtrim(ret_why);
        buf_addch(ret_why, ')');
    }
    (void)!fs_remove_tree(AT_FDCWD, folder, &err); /* empty folders, in nobody's way */
}

static bool works(const char *bases_dir, char **ret_why)
{
    struct statfs fs;
    if (statfs(bases_dir, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC) {
        *ret_why = xstrdup("the state folder is itself on an overlay file system");
        return false;
    }
    return engine_remember(bases_dir, engine_overlay.name, try_mount, ret_why);
}

/* The first mount of an overlay would give its upper layer this name, and so change the folder at a
 * moment when nothing of the worktree changes (give_index). Where it cannot be, git looks once at
 * every file. */
static void name_upper(const char *upper)
{
    unsigned char name[UUID_BYTES];
    if (getrandom(name, sizeof(name), GRND_NONBLOCK) == (ssize_t)sizeof(name))
        (void)!setxattr(upper, "user.overlay.uuid", name, sizeof(name), XATTR_CREATE);
}

static bool make(struct engine_job *job, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    const struct basetree_want want = engine_want(job, BASETREE_LAYER);
    if (!basetree_get(&job->base, &want, err) || !wt_fault(err) ||
        !engine_take_subs(job, job->base.path, err))
        return false;
    a->lower = xstrdup(job->base.tree);
    a->lower2 = job->base.under ? xstrdup(job->base.under) : NULL;
    a->work = fs_join(a->dir, "work");
    job->index = xstrdup(job->base.index);
    job->face_index = xstrdup(job->base.face);
    if (!fs_mkdirs(a->work, 0755, err) || !engine_place_gitfile(a, err))
        return false;
    name_upper(a->upper);
    return true;
}

const struct engine engine_overlay = {
    .name = "overlay",
    .files = "upper",
    .trade = "starts at once; what opens every file, as git grep does, takes some 40 % longer",
    .works = works,
    .make = make,
};
