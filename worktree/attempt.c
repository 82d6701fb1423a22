#include "worktree/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/engine.h"
#include "worktree/face.h"
#include "worktree/fault.h"
#include "worktree/quarantine.h"
#include "worktree/record.h"
#include "worktree/refs.h"
#include "worktree/subs.h"

static const char *const op_names[] = {
    [OP_NONE] = "none",
    [OP_CREATE] = "create",
    [OP_HARVEST] = "harvest",
    [OP_DISCARD] = "discard",
};

void wt_commit_release(struct wt_commit *c)
{
    free(c->ref);
    free(c->subject);
    *c = (struct wt_commit){.ref = NULL};
}

void wt_attempt_release(struct wt_attempt *a)
{
    char *const owned[] = {a->id,         a->dir,  a->repo,          a->toplevel,   a->branch,
                           a->engine_why, a->tree, a->gitdir,        a->gitfile,    a->lower,
                           a->upper,      a->work, a->hooks_in_tree, a->gitdir_top, a->lower2};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    strv_release(&a->objects_ro);
    wt_subs_release(&a->subs);
    *a = (struct wt_attempt)WT_ATTEMPT_INIT;
}

void attempt_name_paths(struct wt_attempt *a, const char *dir)
{
    a->dir = xstrdup(dir);
    a->tree = fs_join(dir, "tree");
    a->gitdir = fs_join(dir, "git");
    a->gitfile = fs_join(dir, "gitfile");
}

void attempt_name_files(struct wt_attempt *a)
{
    const struct engine *engine = engine_get(a->engine);
    if (engine_is_hidden(engine))
        a->upper = fs_join(a->dir, engine->files);
}

const char *attempt_files(const struct wt_attempt *a)
{
    return a->upper ? a->upper : a->tree;
}

int attempt_open_git(const struct wt_attempt *a, const char *below)
{
    struct err ignored = ERR_INIT;
    const char *top = a->gitdir_top ? a->gitdir_top : a->gitdir;
    const char *rest = a->gitdir + strlen(top);
    AUTO_FREE char *path = fs_join(*rest ? rest + 1 : ".", below);
    AUTO_FD int dirfd = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dirfd < 0 ? -1 : fs_open_beneath(dirfd, path, O_RDONLY | O_DIRECTORY, 0, &ignored);
}

static void set(struct strv *record, const char *key, const char *value)
{
    if (value)
        strv_pushf(record, "%s=%s", key, value);
}

static void describe(struct strv *record, const struct wt_attempt *a)
{
    set(record, "version", "1");
    set(record, "id", a->id);
    set(record, "repo", a->repo);
    set(record, "toplevel", a->toplevel);
    set(record, "branch", a->branch);
    set(record, "base", a->base);
    set(record, "engine", wt_engine_name(a->engine));
    set(record, "engine_why", a->engine_why);
    set(record, "lower", a->lower);
    set(record, "lower2", a->lower2);
    set(record, "hooks_in_tree", a->hooks_in_tree);
    strv_pushf(record, "uid=%" PRId64, (int64_t)a->uid);
    strv_pushf(record, "gid=%" PRId64, (int64_t)a->gid);
    for (size_t i = 0; i < a->objects_ro.n; i++)
        strv_pushf(record, "objects%zu=%s", i, a->objects_ro.v[i]);
    subs_describe(record, &a->subs);
}

bool attempt_save(const struct wt_attempt *a, struct err *err)
{
    AUTO_STRV struct strv record = STRV_INIT;
    describe(&record, a);
    return record_save(a->dir, RECORD_ATTEMPT, &record, err);
}

static char *copy_of(const struct strv *record, const char *key)
{
    const char *value = strv_env_get(record, key);
    return value ? xstrdup(value) : NULL;
}

static bool parse(struct wt_attempt *a, const struct strv *record, const char *dir, struct err *err)
{
    const char *base = record_get(record, "base");
    a->id = copy_of(record, "id");
    a->repo = copy_of(record, "repo");
    a->toplevel = copy_of(record, "toplevel");
    a->branch = copy_of(record, "branch");
    a->engine_why = copy_of(record, "engine_why");
    attempt_name_paths(a, dir);
    if (!a->id || !a->repo || !a->branch || strlen(base) >= sizeof(a->base) ||
        strcmp(record_get(record, "version"), "1") != 0)
        return err_set(err, ERR_FORMAT, "the record of the attempt in %s is damaged or newer", dir);
    memcpy(a->base, base, strlen(base) + 1);
    a->uid = (uid_t)strtoll(record_get(record, "uid"), NULL, 10);
    a->gid = (gid_t)strtoll(record_get(record, "gid"), NULL, 10);
    a->hooks_in_tree = xstrdup(record_get(record, "hooks_in_tree"));
    a->lower = copy_of(record, "lower");
    a->lower2 = copy_of(record, "lower2");
    if (a->lower)
        a->work = fs_join(dir, "work");
    for (size_t i = 0;; i++) {
        AUTO_FREE char *key = xasprintf("objects%zu", i);
        const char *path = strv_env_get(record, key);
        if (!path)
            break;
        strv_push(&a->objects_ro, path);
    }
    subs_parse(&a->subs, record);
    if (!wt_engine_parse(&a->engine, record_get(record, "engine"), err))
        return false;
    attempt_name_files(a);
    return true;
}

static bool load(struct wt_attempt *ret, struct strv *record, bool *ret_found, const char *dir,
                 const char *name, struct err *err)
{
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    if (!record_load(record, ret_found, dir, name, err) ||
        (*ret_found && !parse(&a, record, dir, err)))
        return false;
    *ret = a;
    a = (struct wt_attempt)WT_ATTEMPT_INIT;
    return true;
}

bool wt_load(struct wt_attempt *ret, const char *dir, struct err *err)
{
    AUTO_STRV struct strv record = STRV_INIT;
    bool is_found;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    if (!load(&a, &record, &is_found, dir, RECORD_ATTEMPT, err))
        return false;
    if (!is_found)
        return err_set(err, ERR_NOT_FOUND, "there is no worktree of an attempt in %s", dir);
    *ret = a;
    a = (struct wt_attempt)WT_ATTEMPT_INIT;
    return true;
}

bool attempt_begin(const struct wt_attempt *a, enum attempt_op op, const char *extra,
                   struct err *err)
{
    AUTO_STRV struct strv record = STRV_INIT;
    describe(&record, a);
    set(&record, "op", op_names[op]);
    if (extra)
        strv_push(&record, extra);
    return record_save(a->dir, RECORD_JOURNAL, &record, err);
}

bool attempt_end(const struct wt_attempt *a, struct err *err)
{
    return record_remove(a->dir, RECORD_JOURNAL, err);
}

/* Everything in the folder but the journal, which goes last. */
static bool clear_folder(const char *dir, struct err *err)
{
    AUTO_DIR DIR *entries = opendir(dir);
    if (!entries)
        return errno == ENOENT || err_sys(err, errno, "cannot list %s", dir);
    for (const struct dirent *e; (e = readdir(entries));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, RECORD_JOURNAL) != 0 &&
            !fs_remove_tree(dirfd(entries), e->d_name, err))
            return false;
    return true;
}

/* Our transaction creates `harvested` before the branch: without it the branch is somebody else's.
 */
static bool undo_refs(const struct wt_attempt *a, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_BUF struct buf tx = BUF_INIT;
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    AUTO_FREE char *public = xasprintf("refs/heads/%s", a->branch);
    AUTO_FREE char *mark = xasprintf(REFS_OWN "%s/harvested", refs_attempt_part(a->branch));
    if (!refs_find(&refs, mark))
        return true;
    for (size_t i = 0; i < refs.n; i++)
        if (strncmp(refs.v[i].name, REFS_BASE, strlen(REFS_BASE)) != 0 && /* was there before us */
            (strcmp(refs.v[i].name, public) != 0 || strcmp(refs.v[i].oid, a->base) == 0))
            refs_tx_delete(&tx, refs.v[i].name, refs.v[i].oid);
    return refs_tx_run(&tx, a->repo, "headgate: undo", err);
}

bool attempt_make_refs(const struct wt_attempt *a, const char *base_name, struct err *err)
{
    AUTO_BUF struct buf tx = BUF_INIT;
    const char *part = refs_attempt_part(a->branch);
    AUTO_FREE char *mark = xasprintf(REFS_OWN "%s/harvested", part);
    AUTO_FREE char *keep = xasprintf(REFS_KEEP "%s/%s", part, a->base);
    AUTO_FREE char *public = xasprintf("refs/heads/%s", a->branch);
    AUTO_FREE char *reason =
        xasprintf("headgate: attempt %s from %.200s", a->id, base_name ? base_name : a->base);
    refs_tx_set(&tx, mark, a->base, ""); /* first: it tells an undo that the branch is ours */
    refs_tx_set(&tx, keep, a->base, "");
    refs_tx_set(&tx, public, a->base, "");
    return refs_tx_run(&tx, a->repo, reason, err) && wt_fault(err);
}

bool attempt_undo_create(const struct wt_attempt *a, struct err *err)
{
    return undo_refs(a, err) && face_remove(a->repo, a->dir, err) && clear_folder(a->dir, err) &&
           attempt_end(a, err);
}

static bool remove_refs(const struct wt_attempt *a, struct err *err)
{
    AUTO_REF_LIST struct ref_list refs = REF_LIST_INIT;
    AUTO_BUF struct buf tx = BUF_INIT;
    if (!refs_list_attempt(&refs, a->repo, a->branch, err))
        return false;
    for (size_t i = 0; i < refs.n; i++)
        refs_tx_delete(&tx, refs.v[i].name, refs.v[i].oid);
    return refs_tx_run(&tx, a->repo, "headgate: discard", err) && wt_fault(err);
}

/* In the person's repositories of the submodules. */
static bool remove_sub_refs(const struct wt_attempt *a, struct err *err)
{
    for (size_t i = 0; i < a->subs.n; i++) {
        AUTO_WT_ATTEMPT struct wt_attempt s = WT_ATTEMPT_INIT;
        subs_view(&s, a, i);
        if (fs_is_dir(s.repo) && !remove_refs(&s, err))
            return false;
    }
    return true;
}

bool attempt_finish_discard(const struct wt_attempt *a, struct err *err)
{
    if (!remove_sub_refs(a, err))
        return false;
    if (!fs_is_dir(a->repo)) /* the person removed it: only the folder is left to clear */
        return clear_folder(a->dir, err) && attempt_end(a, err);
    return wt_fault(err) && face_remove(a->repo, a->dir, err) && wt_fault(err) &&
           remove_refs(a, err) && clear_folder(a->dir, err) && wt_fault(err) && attempt_end(a, err);
}

bool attempt_sweep_harvest(const char *dir, const char *quarantine, struct err *err)
{
    static const char *const names[] = {"scratch", "incoming", "harvesting"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *path = fs_join(dir, names[i]);
        if (!fs_remove_tree(AT_FDCWD, path, err))
            return false;
    }
    if (!*quarantine)
        return true;
    quarantine_let_go(quarantine);
    return fs_remove_tree(AT_FDCWD, quarantine, err);
}

/* A submodule's harvest has a journal of its own. */
static bool recover_subs(const char *dir, struct err *err)
{
    for (size_t i = 0;; i++) {
        AUTO_FREE char *folder = xasprintf("%s/sub%zu", dir, i);
        if (!fs_is_dir(folder))
            return true;
        if (!wt_recover(folder, err))
            return false;
    }
}

bool wt_recover(const char *dir, struct err *err)
{
    AUTO_STRV struct strv record = STRV_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    bool is_found;
    if (!load(&a, &record, &is_found, dir, RECORD_JOURNAL, err))
        return false;
    if (!is_found)
        return recover_subs(dir, err);
    const char *op = record_get(&record, "op");
    AUTO_FREE char *whole = fs_join(dir, RECORD_ATTEMPT);
    if (strcmp(op, op_names[OP_DISCARD]) == 0)
        return attempt_finish_discard(&a, err);
    if (strcmp(op, op_names[OP_CREATE]) == 0 && !fs_exists(whole))
        return attempt_undo_create(&a, err);
    if (strcmp(op, op_names[OP_HARVEST]) == 0 &&
        !attempt_sweep_harvest(dir, record_get(&record, "quarantine"), err))
        return false;
    return attempt_end(&a, err);
}
