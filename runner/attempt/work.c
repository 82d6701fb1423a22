/*
 * work: what is done with an attempt once it is prepared: start its keeper, bring its work home,
 * remove it.
 */
#include <fcntl.h>
#include <string.h>

#include "runner/attempt/boxes.h"
#include "runner/attempt/claims.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/start.h"

enum { KEEPER_START_MS = 30000 };

/* The keeper gets a bare environment: nothing of the server's may reach what it starts. */
static void keeper_environment(struct strv *env)
{
    strv_env_set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    strv_env_set(env, "LC_ALL", "C.UTF-8");
}

/* What the keeper is told and no file: the keys of the model. */
static bool told_words(struct buf *out, const struct attempt_spec *spec, const json_t *keys,
                       struct err *err)
{
    const char *lacking = model_ways_lacking(&spec->models, keys);
    if (lacking)
        return err_set(err, ERR_FAILED,
                       "the key of %s is not known any more, since the server that had it ended; "
                       "'headgate resume %s' from a shell that has it goes on",
                       lacking, spec->id);
    if (keys)
        jx_dump(out, keys);
    buf_addch(out, '\n');
    return true;
}

bool attempt_start(const struct paths *paths, const struct attempt_spec *spec, const json_t *keys,
                   struct err *err)
{
    AUTO_BUF struct buf words = BUF_INIT;
    if (!told_words(&words, spec, keys, err))
        return false;
    AUTO_FREE char *program = paths_program("headgate-keep", err);
    if (!program)
        return false;
    AUTO_FREE char *dir = paths_attempt(paths, spec->id);
    AUTO_STRV struct strv argv = STRV_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_PROC_RESULT struct proc_result result = PROC_RESULT_INIT;
    strv_push(&argv, program);
    strv_push(&argv, dir);
    keeper_environment(&env);
    const struct proc_cmd cmd = {.argv = &argv,
                                 .env = &env,
                                 .cwd = "/",
                                 .timeout_ms = KEEPER_START_MS,
                                 .input = words.ptr,
                                 .input_len = words.len};
    bool has_run = proc_run(&result, &cmd, err);
    explicit_bzero(words.ptr, words.len);
    if (!has_run)
        return err_prefix(err, "the keeper of %s could not be started", spec->id);
    if (result.status != 0) {
        buf_rtrim(&result.errout);
        return err_set(err, result.status == 4 ? ERR_LAYER : ERR_FAILED,
                       "the keeper of %s ended: %s", spec->id,
                       result.errout.len ? result.errout.ptr : "without a word");
    }
    return true;
}

/* Open what is needed to work on an attempt after its creation. */
static bool load(struct boxes *b, struct wt_attempt *tree, struct err *err)
{
    AUTO_FREE char *dir = paths_attempt(b->paths, b->spec->id);
    return wt_recover(dir, err) && wt_load(tree, dir, err);
}

bool attempt_harvest(struct wt_harvest *ret, const struct paths *paths, const struct config *config,
                     const struct attempt_spec *spec, bool with_snapshot, struct err *err)
{
    struct wt_attempt tree = WT_ATTEMPT_INIT;
    struct boxes boxes = {.paths = paths, .config = config, .spec = spec, .tree = &tree};
    bool ok = account_of_boxes(&boxes.account, config, err) && load(&boxes, &tree, err) &&
              wt_harvest(ret, &tree, with_snapshot, boxes_run_job, &boxes, err);
    if (with_snapshot) /* the box has ended */
        claims_drop(paths, spec->id);
    wt_attempt_release(&tree);
    return ok;
}

static bool remove_folder(const struct paths *paths, const char *id, struct err *err)
{
    AUTO_FD int attempts = fs_open_dir(AT_FDCWD, paths->attempts, err);
    return attempts >= 0 && fs_remove_tree(attempts, id, err);
}

/* Of an attempt that never got a worktree, its base is held all the same. */
static bool let_go_of_base(const struct attempt_spec *spec, struct err *err)
{
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    struct err gone = ERR_INIT;
    if (!spec->is_base_held || !wt_repo_open(&repo, spec->repo, &gone))
        return true;
    return wt_unpin(repo.common_dir, spec->branch, err);
}

bool attempt_discard(const struct paths *paths, const struct attempt_spec *spec, bool force,
                     struct err *err)
{
    AUTO_FREE char *dir = paths_attempt(paths, spec->id);
    if (!fs_exists(dir))
        return let_go_of_base(spec, err);
    if (!wt_recover(dir, err))
        return false;
    struct wt_attempt tree = WT_ATTEMPT_INIT;
    struct err absent = ERR_INIT;
    bool ok = !wt_load(&tree, dir, &absent) || wt_discard(&tree, force, err);
    wt_attempt_release(&tree);
    return ok && let_go_of_base(spec, err) && remove_folder(paths, spec->id, err);
}
