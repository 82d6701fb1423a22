/*
 * create: an attempt's worktree from a commit. First everything is looked at and nothing touched;
 * then the journal says what is to be undone; then the steps; the record "attempt" makes it exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/attempt.h"
#include "worktree/engine.h"
#include "worktree/face.h"
#include "worktree/fault.h"
#include "worktree/gitdir.h"
#include "worktree/gitindex.h"
#include "worktree/gitrun.h"
#include "worktree/include.h"
#include "worktree/lfs.h"
#include "worktree/moment.h"
#include "worktree/record.h"
#include "worktree/refs.h"
#include "worktree/share.h"
#include "worktree/source.h"
#include "worktree/subs.h"

struct creation {
    const struct wt_repo *repo;
    const struct wt_create *how;
    const struct engine *engine;
    const struct gitcfg *cfg;
    const struct ref_list *refs;
    struct wt_attempt a;
    struct engine_job job;
};

static void creation_release(struct creation *c)
{
    wt_attempt_release(&c->a);
    engine_job_release(&c->job);
}

#define AUTO_CREATION __attribute__((cleanup(creation_release)))

/* A ref cannot be both a name and the folder of others. */
static const char *ref_in_the_way(const struct ref_list *refs, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < refs->n; i++) {
        const char *other = refs->v[i].name;
        size_t other_len = strlen(other), shorter = len < other_len ? len : other_len;
        if (strncmp(name, other, shorter) == 0 &&
            (len == other_len || (len < other_len ? other[len] : name[other_len]) == '/'))
            return other;
    }
    return NULL;
}

static bool check_names(const struct creation *c, struct err *err)
{
    const char *part = refs_attempt_part(c->how->branch);
    if (!part)
        return err_set(err, ERR_USAGE, "the branch of an attempt starts with " BRANCH_PREFIX);
    if (!refs_is_valid_name(c->how->branch))
        return err_set(err, ERR_USAGE, "git allows no branch of the name %s", c->how->branch);
    if (!gitrun_is_oid(c->how->base_oid))
        return err_set(err, ERR_USAGE, "%s is not a whole commit id", c->how->base_oid);
    AUTO_FREE char *public = xasprintf("refs/heads/%s", c->how->branch);
    AUTO_FREE char *own = xasprintf(REFS_OWN "%s", part);
    AUTO_FREE char *keep = xasprintf(REFS_KEEP "%s", part);
    const char *const names[] = {public, own, keep};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *other = ref_in_the_way(c->refs, names[i]);
        if (other && strcmp(other, names[i]) == 0)
            return err_set(err, ERR_CONFLICT, "the branch %s exists already; choose another run",
                           c->how->branch);
        if (other)
            return err_set(err, ERR_CONFLICT,
                           "the branch %s cannot be made, because %s exists; rename or delete that",
                           c->how->branch, other);
    }
    return true;
}

/* A name that was given holds; else the first engine that works. */
static bool choose_engine(struct creation *c, struct err *err)
{
    if (c->how->force_engine) {
        if (!wt_engine_check(c->how->engine, c->how->bases_dir, err))
            return false;
        c->a.engine = c->how->engine;
        c->a.engine_why = xstrdup("asked for by name");
    } else {
        c->a.engine = wt_engine_first(c->how->bases_dir, &c->a.engine_why);
    }
    c->engine = engine_get(c->a.engine);
    attempt_name_files(&c->a);
    return true;
}

/* Look at everything; touch nothing. */
static bool plan(struct creation *c, struct wt_source *source, struct err *err)
{
    if (!wt_source_repo(&c->repo, source, err) || !source_cfg(&c->cfg, source, err) ||
        !source_refs(&c->refs, source, err))
        return false;
    attempt_name_paths(&c->a, c->how->dir);
    c->a.id = xstrdup(c->how->id);
    c->a.repo = xstrdup(c->repo->common_dir);
    c->a.toplevel = c->repo->toplevel ? xstrdup(c->repo->toplevel) : NULL;
    c->a.branch = xstrdup(c->how->branch);
    c->a.uid = c->how->uid;
    c->a.gid = c->how->gid;
    if (!check_names(c, err) || !gitdir_object_dirs(&c->a.objects_ro, c->repo->common_dir, err))
        return false;
    AUTO_FREE char *lfs = lfs_store(c->cfg, c->repo->common_dir);
    if (c->cfg->has_lfs && fs_is_dir(lfs)) /* git-lfs looks beside borrowed objects */
        strv_push(&c->a.objects_ro, lfs);
    c->a.hooks_in_tree = gitdir_hooks_in_tree(c->repo, c->cfg);
    memcpy(c->a.base, c->how->base_oid, strlen(c->how->base_oid) + 1);
    return choose_engine(c, err);
}

static bool make_home(const struct creation *c, struct err *err)
{
    AUTO_FREE char *home = fs_join(c->a.dir, "home");
    AUTO_FREE char *folder = fs_join(home, ".config/git");
    AUTO_FREE char *config = fs_join(folder, "config");
    AUTO_BUF struct buf text = BUF_INIT;
    gitdir_home_config(&text, c->cfg);
    return fs_mkdirs(home, 0700, err) &&
           (text.len == 0 || (fs_mkdirs(folder, 0700, err) &&
                              fs_write_plain(AT_FDCWD, config, text.ptr, text.len, 0644, err)));
}

static bool make_files(struct creation *c, struct err *err)
{
    AUTO_FREE char *pointer = xasprintf("gitdir: %s\n", c->a.gitdir);
    c->job = (struct engine_job){
        .repo = c->repo,
        .cfg = c->cfg,
        .bases_dir = c->how->bases_dir,
        .oid = c->a.base,
        .attempt = &c->a,
        .base = BASETREE_INIT,
    };
    return fs_write_plain(AT_FDCWD, c->a.gitfile, pointer, strlen(pointer), 0644, err) &&
           fs_mkdirs(c->a.tree, 0755, err) && make_home(c, err) && wt_fault(err) &&
           c->engine->make(&c->job, err) && wt_fault(err);
}

static bool make_gitdir(struct creation *c, struct err *err)
{
    struct gitdir_seed seed = {
        .repo = c->repo,
        .cfg = c->cfg,
        .refs = c->refs,
        .branch = c->a.branch,
        .base = c->a.base,
        .index = c->a.lower ? NULL : c->job.index, /* give_index */
        .is_overlay = c->a.lower != NULL,
    };
    AUTO_BUF struct buf linked = BUF_INIT;
    struct include inc = {
        .linked = &linked,
        .repo = c->repo,
        .patterns = c->how->include,
        .hooks_in_tree = c->a.hooks_in_tree,
        .dir = c->a.dir,
        .into = attempt_files(&c->a),
        .lower = c->a.lower,
        .lower2 = c->a.lower2,
    };
    const struct share share = {
        .repo = c->repo,
        .paths = c->how->share,
        .dir = c->a.dir,
        .into = inc.into,
        .gitdir = c->a.gitdir,
        .lower = c->a.lower,
        .lower2 = c->a.lower2,
    };
    AUTO_FREE char *indexes = fs_join(c->a.dir, ENGINE_SUBS);
    return gitdir_make(c->a.gitdir, &seed, err) && wt_fault(err) &&
           subs_equip(&c->a, c->job.subs_dir, err) && fs_remove_tree(AT_FDCWD, indexes, err) &&
           share_seed(&linked, &share, err) && include_seed(&inc, err) && wt_fault(err);
}

/* What the box's refs are compared with later, out of the agent's reach. */
static bool save_seed(const struct creation *c, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < c->refs->n; i++)
        if (strncmp(c->refs->v[i].name, REFS_OWN, strlen(REFS_OWN)) != 0)
            buf_addf(&text, "ref %s %s\n", c->refs->v[i].oid, c->refs->v[i].name);
    buf_addf(&text, "ref %s refs/heads/%s\n", c->a.base, c->a.branch);
    AUTO_FREE char *path = fs_join(c->a.dir, "seed");
    return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0600, err);
}

/* The box runs as another account when root started it: what it writes is that account's. */
static bool hand_over(const struct creation *c, struct err *err)
{
    if (c->a.uid == (uid_t)-1)
        return true;
    const char *const names[] = {"git", c->engine->files, "work", "home", "gitfile"};
    AUTO_FD int dirfd = fs_open_dir(AT_FDCWD, c->a.dir, err);
    if (dirfd < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = fs_join(c->a.dir, names[i]);
        if (fs_exists(path) && !fs_chown_tree(dirfd, names[i], c->a.uid, c->a.gid, err))
            return false;
    }
    return true;
}

/* When nothing more is put into the upper layer, the index can say that it knows all that is there:
 * git then asks for what changes from here on. */
static bool give_index(const struct creation *c, struct err *err)
{
    struct changes_token now;
    if (!c->a.lower)
        return true;
    AUTO_BUF struct buf token = BUF_INIT;
    AUTO_FREE char *to = fs_join(c->a.gitdir, "index");
    if (!changes_after_this(&now, err))
        return false;
    changes_format(&token, &now);
    const struct gitindex_gift gift = {
        .tree = c->a.tree,
        .token = token.ptr,
        .object_format = c->repo->object_format,
    };
    if (!gitindex_give(to, c->job.index, &gift, err))
        return false;
    return c->a.uid == (uid_t)-1 || chown(to, c->a.uid, c->a.gid) == 0 ||
           err_sys(err, errno, "cannot hand over %s", to);
}

static bool make_face(const struct creation *c, struct err *err)
{
    const char *storage = gitcfg_get(c->cfg, "extensions.refstorage");
    struct face face = {
        .common_dir = c->repo->common_dir,
        .id = c->a.id,
        .dir = c->a.dir,
        .tree = c->a.tree,
        .base = c->a.base,
        .base_name = c->how->base_name,
        .branch = c->a.branch,
        .index = c->job.face_index,
        .has_note = engine_is_hidden(c->engine),
        .made_by_git = storage && strcasecmp(storage, "files") != 0,
    };
    return face_make(&face, err) && wt_fault(err);
}

static bool carry_out(struct creation *c, struct err *err)
{
    if (!wt_fault(err) || !make_files(c, err) || !make_gitdir(c, err) || !save_seed(c, err) ||
        !make_face(c, err) || !hand_over(c, err) || !give_index(c, err) || !wt_fault(err) ||
        !attempt_make_refs(&c->a, c->how->base_name, err) || !attempt_save(&c->a, err) ||
        !attempt_end(&c->a, err))
        return false;
    /* Else discard and git could miss what the agent writes first. */
    return moment_made(&c->a, RECORD_ATTEMPT, err);
}

bool wt_create(struct wt_attempt *ret, struct wt_source *source, const struct wt_create *how,
               struct err *err)
{
    AUTO_CREATION struct creation c = {
        .how = how,
        .a = WT_ATTEMPT_INIT,
        .job = {.base = BASETREE_INIT},
    };
    if (!plan(&c, source, err) || !attempt_begin(&c.a, OP_CREATE, NULL, err))
        return false;
    if (!carry_out(&c, err)) {
        struct err undo = ERR_INIT, cause = *err;
        if (!attempt_undo_create(&c.a, &undo)) {
            err_set(err, cause.code, "%.400s; and undoing it failed: %s", cause.text, undo.text);
            err->sys_errno = cause.sys_errno;
        }
        return false;
    }
    *ret = c.a;
    c.a = (struct wt_attempt)WT_ATTEMPT_INIT;
    return true;
}
