#include "runner/attempt/carry.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/broker.h"
#include "runner/attempt/attempt.h"
#include "runner/attempt/broker_side.h"
#include "runner/base/b64.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/text.h"

enum {
    CARRY_OUTPUT_BYTES = 640 * 1024, /* what fits into one answer, encoded */
    CARRY_TIMEOUT_MS = 10 * 60 * 1000,
    SHALLOW_BYTES = 64 * 1024 * 1024,
    CARRY_NOT_DONE = 125, /* exit code of headgate-broker when it did not start the command */
};

/* One call, with what was looked up for it. */
struct errand {
    const struct carry *c;
    struct broker_act act;
    struct wt_attempt tree;
    struct boxes boxes;
    const char *remote, *url, *ref, *commit; /* of the call's arguments */
    char *scratch, *keys, *repo;             /* host folders */
    struct carry_result *ret;
};

void carry_result_release(struct carry_result *r)
{
    json_decref(r->message);
    wt_harvest_release(&r->harvest);
}

json_t *carry_lost(void)
{
    json_t *message = json_object();
    jx_set_str(
        message, "failed",
        "Headgate's server was killed while this was carried out. Whether it took effect is not "
        "known, and it is not done again by itself: look at the remote first (git ls-remote)");
    return message;
}

/* The person may have pointed the remote elsewhere since the call was shown. */
static bool check_remote(const struct errand *e, struct err *err)
{
    AUTO_JSON json_t *remotes = NULL;
    size_t i;
    const json_t *remote;
    if (!broker_side_remotes(&remotes, e->tree.repo, NULL, err))
        return false;
    json_array_foreach(remotes, i, remote)
    {
        const char *url = jx_str(remote, e->act.kind == BROKER_PUSH ? "push" : "url", "");
        if (strcmp(jx_str(remote, "name", ""), e->remote) == 0 && strcmp(url, e->url) == 0)
            return true;
    }
    return err_set(err, ERR_CONFLICT,
                   "the remote '%s' leads elsewhere than when this was asked; ask again",
                   e->remote);
}

/* Bring the commits home, and compare: what is pushed is what was approved. */
static bool harvest(struct errand *e, struct err *err)
{
    const struct carry *c = e->c;
    char tip[65];
    if (!wt_harvest(&e->ret->harvest, &e->tree, false, boxes_run_job, &e->boxes, err))
        return err_prefix(err, "the work could not be brought home, so nothing was pushed");
    e->ret->has_harvest = true;
    bool is_head = strcmp(e->act.src, "HEAD") == 0;
    bool may_be_public = is_head || strcmp(e->act.src, c->spec->branch) == 0;
    if (may_be_public && strcmp(e->ret->harvest.tip, e->commit) == 0)
        return true;
    if (!is_head && !wt_branch_tip(tip, &e->tree, e->act.src, err))
        return false;
    if (!is_head && strcmp(tip, e->commit) == 0)
        return true;
    return err_set(
        err, ERR_CONFLICT,
        "%s is at another commit than when this was asked, so nothing was pushed; ask again",
        e->act.src);
}

/* git-lfs uploads from a hook, and hooks do not run. */
static bool check_lfs(const struct errand *e, struct err *err)
{
    char *path;
    if (!wt_new_lfs_file(&path, e->tree.repo, e->tree.base, e->commit, err))
        return false;
    AUTO_FREE char *held = path;
    AUTO_FREE char *shown = held ? text_clean(held) : NULL;
    return !held ||
           err_set(err, ERR_REFUSED,
                   "%.200s is a file of Git LFS, whose content a push of commits would leave "
                   "behind, so nothing was pushed; ask the person to push",
                   shown);
}

/* ---- the repository in which it is done ---- */

static bool write_alternates(const struct errand *e, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *own = fs_join(e->tree.repo, "objects");
    AUTO_FREE char *path = fs_join(e->repo, "objects/info/alternates");
    buf_addf(&text, "%s\n", own);
    return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0644, err);
}

/* Where the person's history ends: without it, git would look for parents that nobody has. */
static bool copy_shallow(const struct errand *e, struct err *err)
{
    AUTO_FREE char *from = fs_join(e->tree.repo, "shallow");
    AUTO_FREE char *to = fs_join(e->repo, "shallow");
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_exists(from) || fs_exists(to))
        return true;
    return fs_read_file(&text, AT_FDCWD, from, SHALLOW_BYTES, err) &&
           fs_write_plain(AT_FDCWD, to, text.ptr, text.len, 0644, err);
}

/* As `git init --bare` makes it, without templates. */
static bool make_repo(const struct errand *e, struct err *err)
{
    static const char *const folders[] = {"objects/info", "objects/pack", "refs/heads",
                                          "refs/tags"};
    bool is_sha256 = strlen(e->tree.base) == 64;
    AUTO_FREE char *config = fs_join(e->repo, "config");
    AUTO_FREE char *head = fs_join(e->repo, "HEAD");
    AUTO_BUF struct buf text = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FREE char *path = fs_join(e->repo, folders[i]);
        if (!fs_mkdirs(path, 0755, err))
            return false;
    }
    buf_addf(&text, "[core]\n\trepositoryformatversion = %d\n\tbare = true\n", is_sha256 ? 1 : 0);
    if (is_sha256)
        buf_adds(&text, "[extensions]\n\tobjectformat = sha256\n");
    return fs_write_plain(AT_FDCWD, config, text.ptr, text.len, 0644, err) &&
           fs_write_plain(AT_FDCWD, head, "ref: refs/heads/main\n", 21, 0644, err) &&
           write_alternates(e, err) && copy_shallow(e, err);
}

static bool remove_below(const char *dir, const char *name, struct err *err)
{
    AUTO_FREE char *path = fs_join(dir, name);
    if (!fs_exists(path))
        return true;
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, dir, err);
    return fd >= 0 && fs_remove_tree(fd, name, err);
}

bool carry_sweep(const struct paths *paths, const char *id, struct err *err)
{
    AUTO_FREE char *dir = paths_attempt(paths, id);
    AUTO_FREE char *keys_name = xasprintf("b%s", id);
    return remove_below(paths->runtime, keys_name, err) && remove_below(dir, "broker", err);
}

/* What is fetched stays, read-only in the attempt's box, so that the next time less is fetched. */
static bool make_place(struct errand *e, struct err *err)
{
    AUTO_FREE char *inbox = broker_side_inbox(&e->tree);
    e->scratch = fs_join(e->tree.dir, "broker");
    e->keys = xasprintf("%s/b%s", e->c->paths->runtime, e->c->spec->id);
    e->repo = e->act.kind == BROKER_FETCH ? xasprintf("%s/%s.git", inbox, e->remote)
                                          : fs_join(e->scratch, "repo");
    if (!carry_sweep(e->c->paths, e->c->spec->id, err) || !fs_mkdirs(e->scratch, 0755, err) ||
        !make_repo(e, err))
        return false;
    const struct account *account = &e->boxes.account;
    return !account->is_other || fs_chown_tree(AT_FDCWD, e->repo, account->uid, account->gid, err);
}

/* ---- headgate-broker ---- */

static json_t *job_of(const struct errand *e)
{
    json_t *job = json_object();
    jx_set(job, "args", json_incref(e->c->request->args));
    jx_set_int(job, "parent", getpid());
    jx_set_str(job, "common_dir", e->tree.repo);
    jx_set_str(job, "repo", e->repo);
    jx_set(job, "objects", jx_from_strv(&e->tree.objects_ro));
    jx_set_str(job, "scratch", e->scratch);
    jx_set_str(job, "keys", e->keys);
    jx_set_int(job, "uid", e->boxes.account.uid);
    jx_set_int(job, "gid", e->boxes.account.gid);
    jx_set_str(job, "hostname", e->c->spec->id);
    return job;
}

static void environment(struct strv *env, const struct carry *c)
{
    for (size_t i = 0; i < c->spec->env.n; i++)
        strv_push(env, c->spec->env.v[i]);
    for (size_t i = 0; i < c->session->n; i++) {
        AUTO_FREE char *name = xstrndup(c->session->v[i], strcspn(c->session->v[i], "="));
        strv_env_set(env, name, c->session->v[i] + strlen(name) + 1);
    }
    if (!strv_env_get(env, "HOME"))
        strv_env_set(env, "HOME", c->paths->home);
}

static bool run(struct proc_result *ret, const struct errand *e, struct err *err)
{
    AUTO_FREE char *program = paths_program("headgate-broker", err);
    AUTO_STRV struct strv argv = STRV_INIT, env = STRV_INIT;
    AUTO_JSON json_t *job = job_of(e);
    AUTO_BUF struct buf text = BUF_INIT;
    if (!program)
        return false;
    jx_dump(&text, job);
    strv_push(&argv, program);
    environment(&env, e->c);
    const struct proc_cmd cmd = {
        .argv = &argv,
        .env = &env,
        .cwd = "/",
        .input = text.ptr,
        .input_len = text.len,
        .max_output_bytes = CARRY_OUTPUT_BYTES,
        .timeout_ms = CARRY_TIMEOUT_MS,
    };
    return proc_run(ret, &cmd, err) ||
           err_prefix(err, "it was begun and did not end well, so it may have taken effect");
}

static void answer(const struct errand *e, const struct proc_result *r)
{
    json_t *result = json_object();
    AUTO_BUF struct buf out = BUF_INIT, errout = BUF_INIT;
    b64_encode(&out, r->out.ptr, r->out.len);
    b64_encode(&errout, r->errout.ptr, r->errout.len);
    jx_set_int(result, "status", r->status);
    jx_set_str(result, "out", out.ptr);
    jx_set_str(result, "err", errout.ptr);
    jx_set_str(result, "remote", e->remote);
    if (e->ref[0])
        jx_set_str(result, "ref", e->ref);
    if (e->act.kind == BROKER_FETCH) {
        AUTO_FREE char *inside = xasprintf(BROKER_INSIDE_INBOX "/%s.git", e->remote);
        jx_set_str(result, "dir", inside);
    }
    e->ret->status = r->status;
    jx_set(e->ret->message, "result", result);
}

static bool go(struct errand *e, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    AUTO_FREE char *dir = paths_attempt(e->c->paths, e->c->spec->id);
    if (!broker_of_call(&e->act, e->c->request, err) ||
        !account_of_boxes(&e->boxes.account, e->c->config, err) || !wt_recover(dir, err) ||
        !wt_load(&e->tree, dir, err) || !check_remote(e, err) ||
        (e->act.kind == BROKER_PUSH && (!harvest(e, err) || !check_lfs(e, err))) ||
        !make_place(e, err) || !run(&r, e, err))
        return false;
    if (r.status == CARRY_NOT_DONE) {
        buf_rtrim(&r.errout);
        return err_set(err, ERR_FAILED, "%s",
                       r.errout.len ? r.errout.ptr : "headgate-broker failed");
    }
    answer(e, &r);
    return true;
}

void carry_out(struct carry_result *ret, const struct carry *c)
{
    struct err err = ERR_INIT, ignored = ERR_INIT;
    *ret = (struct carry_result){.message = json_object(), .status = -1};
    struct errand e = {
        .c = c,
        .act = BROKER_ACT_INIT,
        .tree = WT_ATTEMPT_INIT,
        .remote = jx_str(c->request->args, "remote", ""),
        .url = jx_str(c->request->args, "url", ""),
        .ref = jx_str(c->request->args, "ref", ""),
        .commit = jx_str(c->request->args, "commit", ""),
        .ret = ret,
    };
    e.boxes =
        (struct boxes){.paths = c->paths, .config = c->config, .spec = c->spec, .tree = &e.tree};
    if (!go(&e, &err))
        jx_set_str(ret->message, "failed", err.text);
    bool is_clear = carry_sweep(c->paths, c->spec->id, &ignored);
    (void)is_clear; /* the next call clears first, and fails when it cannot */
    wt_attempt_release(&e.tree);
    broker_act_release(&e.act);
    free(e.scratch);
    free(e.keys);
    free(e.repo);
}
