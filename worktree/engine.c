/*
 * The table of engines, the choice, and what they share.
 */
#include "worktree/engine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/proc.h"
#include "worktree/gitdir.h"
#include "worktree/subs.h"

#define WORKS "works"

enum { PROBE_BYTES = 4096 };

static const struct engine *const engines[WT_ENGINES] = {
    [WT_ENGINE_OVERLAY] = &engine_overlay,
    [WT_ENGINE_BTRFS] = &engine_btrfs,
    [WT_ENGINE_REFLINK] = &engine_reflink,
    [WT_ENGINE_CHECKOUT] = &engine_checkout,
};

const struct engine *engine_get(enum wt_engine engine)
{
    return engines[engine];
}

bool engine_is_hidden(const struct engine *e)
{
    return strcmp(e->files, "tree") != 0;
}

const char *wt_engine_name(enum wt_engine engine)
{
    return engines[engine]->name;
}

const char *wt_engine_trade(enum wt_engine engine)
{
    return engines[engine]->trade;
}

bool wt_engine_parse(enum wt_engine *ret, const char *name, struct err *err)
{
    for (size_t i = 0; i < WT_ENGINES; i++)
        if (strcmp(name, engines[i]->name) == 0) {
            *ret = (enum wt_engine)i;
            return true;
        }
    return err_set(err, ERR_USAGE,
                   "%s is no engine; there are overlay, btrfs, reflink and checkout", name);
}

bool wt_engine_works(enum wt_engine engine, const char *bases_dir, char **ret_why)
{
    return engines[engine]->works(bases_dir, ret_why);
}

bool wt_engine_check(enum wt_engine engine, const char *bases_dir, struct err *err)
{
    AUTO_FREE char *why = NULL;
    return engines[engine]->works(bases_dir, &why) ||
           err_set(err, ERR_USAGE,
                   "the engine %s does not work here: %s; without a name the first that works is "
                   "taken, and `headgate doctor` lists them",
                   engines[engine]->name, why);
}

enum wt_engine wt_engine_first(const char *bases_dir, char **ret_why)
{
    AUTO_BUF struct buf why = BUF_INIT;
    size_t i = 0;
    for (; i + 1 < WT_ENGINES; i++) {
        AUTO_FREE char *reason = NULL;
        if (engines[i]->works(bases_dir, &reason))
            break;
        buf_addf(&why, "%s%s does not work: %s", why.len ? "; " : "", engines[i]->name, reason);
    }
    if (i == 0)
        buf_adds(&why, "the default");
    if (engines[i]->remark)
        buf_addf(&why, "; %s", engines[i]->remark);
    *ret_why = buf_steal(&why);
    return (enum wt_engine)i;
}

bool engine_remember(const char *bases_dir, const char *name,
                     void (*attempt)(const char *bases_dir, struct buf *ret_why), char **ret_why)
{
    struct err ignored = ERR_INIT;
    char boot[40] = "";
    AUTO_BUF struct buf known = BUF_INIT;
    AUTO_BUF struct buf why = BUF_INIT;
    AUTO_FREE char *file = xasprintf("%s/%s-probe", bases_dir, name);
    size_t len = proc_boot_id(boot, &ignored) ? strlen(boot) : 0;
    if (fs_read_file(&known, AT_FDCWD, file, PROBE_BYTES, &ignored) && len > 0 && known.len > len &&
        strncmp(known.ptr, boot, len) == 0) {
        buf_adds(&why, known.ptr + len + 1);
    } else {
        attempt(bases_dir, &why);
        if (why.len == 0)
            buf_adds(&why, WORKS);
        buf_clear(&known);
        buf_addf(&known, "%s %s", boot, why.ptr);
        if (!fs_write_plain(AT_FDCWD, file, known.ptr, known.len, 0600, &ignored))
            unlink(file); /* it is tried again next time */
    }
    if (strcmp(why.ptr, WORKS) == 0)
        return true;
    *ret_why = buf_steal(&why);
    return false;
}

struct basetree_want engine_want(const struct engine_job *job, enum basetree_kind kind)
{
    return (struct basetree_want){
        .kind = kind,
        .repo = job->repo,
        .cfg = job->cfg,
        .bases_dir = job->bases_dir,
        .oid = job->oid,
        .uid = job->attempt->uid,
        .gid = job->attempt->gid,
    };
}

bool engine_take_subs(struct engine_job *job, const char *folder, struct err *err)
{
    struct wt_attempt *a = job->attempt;
    AUTO_BUF struct buf absent = BUF_INIT;
    job->subs_dir = xstrdup(folder);
    if (!subs_load(&a->subs, folder, &absent, err))
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

bool engine_place_gitfile(const struct wt_attempt *a, struct err *err)
{
    AUTO_FREE char *point = fs_join(a->upper, ".git");
    return fs_mkdirs(a->upper, 0755, err) &&
           fs_copy_file(AT_FDCWD, a->gitfile, AT_FDCWD, point, err);
}

void engine_job_release(struct engine_job *job)
{
    free(job->index);
    free(job->face_index);
    free(job->subs_dir);
    basetree_release(&job->base);
}
