#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/attempt/boxes.h"
#include "runner/attempt/broker_side.h"
#include "runner/attempt/claims.h"
#include "runner/attempt/keepfile.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

static const int64_t default_bases_bytes = (int64_t)20 << 30;

/* The private home is made once and kept for resumes. */
static bool make_home(const char *dir, const struct account *account, struct err *err)
{
    AUTO_FREE char *home = fs_join(dir, "home");
    bool is_new = !fs_exists(home); /* nothing in it is an agent's yet */
    return fs_mkdirs(home, 0700, err) && (!is_new || broker_side_profile(home, err)) &&
           (!account->is_other || fs_chown_tree(AT_FDCWD, home, account->uid, account->gid, err));
}

/* Another account must pass through the folder to its own parts; what is not its own in there is
 * 0600, and the state folder above lets nobody in. */
static bool make_folder(const char *dir, const struct account *account, struct err *err)
{
    if (!fs_mkdirs(dir, 0700, err))
        return false;
    if (account->is_other && chmod(dir, 0711) != 0)
        return err_sys(err, errno, "cannot change the mode of %s", dir);
    return true;
}

/* The name that holds, NULL: the first that works. */
static const char *engine_wanted(const struct config *config, const char *asked)
{
    return asked ? asked : config_str(config, "worktree.engine", NULL);
}

bool attempt_check_engine(const struct paths *paths, const struct config *config, const char *asked,
                          struct err *err)
{
    const char *name = engine_wanted(config, asked);
    enum wt_engine engine;
    if (!name ||
        (wt_engine_parse(&engine, name, err) && wt_engine_check(engine, paths->bases, err)))
        return true;
    return asked ? false : err_prefix(err, "worktree.engine");
}

static bool create_tree(struct wt_attempt *ret, const struct paths *paths,
                        const struct config *config, struct wt_source *source,
                        const struct attempt_spec *spec, const char *dir,
                        const struct account *account, struct err *err)
{
    AUTO_STRV struct strv include = STRV_INIT, share = STRV_INIT;
    enum wt_engine engine = WT_ENGINE_OVERLAY;
    const char *wanted = engine_wanted(config, spec->engine);
    config_list(&include, config, "worktree.include");
    config_list(&share, config, "worktree.share");
    if (wanted && !wt_engine_parse(&engine, wanted, err))
        return false;
    const struct wt_create how = {
        .id = spec->id,
        .dir = dir,
        .bases_dir = paths->bases,
        .branch = spec->branch,
        .base_oid = spec->base,
        .base_name = spec->base_ref,
        .force_engine = wanted != NULL,
        .engine = engine,
        .uid = account->is_other ? account->uid : (uid_t)-1,
        .gid = account->is_other ? account->gid : (gid_t)-1,
        .share = share.n ? &share : NULL,
        .include = include.n ? &include : NULL,
    };
    return wt_create(ret, source, &how, err);
}

/* A base that this attempt made may be one too many. */
static void trim_bases(const struct paths *paths, const struct config *config)
{
    AUTO_STRV struct strv removed = STRV_INIT;
    struct err ignored = ERR_INIT; /* `headgate clean` tells */
    int64_t limit = config_int(config, "worktree.bases", default_bases_bytes);
    (void)!wt_trim_bases(&removed, paths->bases, paths->attempts, limit, &ignored);
}

/* An attempt that was prepared before (resume, or a server that died here) keeps its worktree, and
 * *source becomes NULL: its repository need not be where it was named. */
static bool open_or_create_tree(struct wt_attempt *ret, const struct paths *paths,
                                const struct config *config, struct wt_source **source,
                                const struct attempt_spec *spec, const char *dir,
                                const struct account *account, struct err *err)
{
    struct err ignored = ERR_INIT;
    if (!wt_recover(dir, err))
        return false;
    if (wt_load(ret, dir, &ignored)) {
        *source = NULL;
        return true;
    }
    if (!create_tree(ret, paths, config, *source, spec, dir, account, err))
        return false;
    trim_bases(paths, config);
    return true;
}

static bool write_plan(struct boxes *b, struct wt_source *source, const struct policy *policy,
                       struct err *err)
{
    AUTO_BOX_SPEC struct box_spec box;
    AUTO_BUF struct buf plan = BUF_INIT;
    AUTO_JSON json_t *remotes = NULL;
    AUTO_FREE char *path = fs_join(b->tree->dir, "plan");
    box_spec_init(&box);
    if (!broker_side_remotes(&remotes, b->tree->repo, source, err))
        return false;
    b->remotes = remotes;
    return boxes_agent(&box, b, err) && box_plan(&plan, &box, err) &&
           fs_write_plain(AT_FDCWD, path, plan.ptr, plan.len, 0600, err) &&
           keepfile_write(b, &box, policy, err);
}

bool attempt_prepare(struct attempt_place *ret, const struct paths *paths,
                     const struct config *config, struct wt_source *source,
                     const struct attempt_spec *spec, const struct policy *policy, struct err *err)
{
    struct wt_attempt tree = WT_ATTEMPT_INIT;
    struct boxes boxes = {.paths = paths, .config = config, .spec = spec, .tree = &tree};
    AUTO_FREE char *dir = paths_attempt(paths, spec->id);
    if (!account_of_boxes(&boxes.account, config, err) || !make_folder(dir, &boxes.account, err) ||
        !make_home(dir, &boxes.account, err) ||
        !open_or_create_tree(&tree, paths, config, &source, spec, dir, &boxes.account, err))
        return false;
    bool ok = write_plan(&boxes, source, policy, err);
    /* The adapter's files in the home are the box's own. */
    ok = ok && make_home(dir, &boxes.account, err);
    if (ok) {
        ret->tree = xstrdup(tree.tree);
        ret->engine = xstrdup(wt_engine_name(tree.engine));
        ret->engine_why = xstrdup(tree.engine_why ? tree.engine_why : "");
    } else if (!spec->resume) {
        claims_drop(paths, spec->id);
        /* Nobody has worked here yet: undo the worktree, keep the first error. */
        struct err undo = ERR_INIT;
        if (!wt_discard(&tree, true, &undo))
            err_prefix(err, "the worktree could not be undone (%s)", undo.text);
    }
    wt_attempt_release(&tree);
    return ok;
}
