#include "tests/unit/worktree/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/strv.h"

static void set_env(const char *name, const char *folder, const char *below)
{
    AUTO_FREE char *value = fs_join(folder, below);
    setenv(name, value, 1);
}

/* Where an engine is tried: a folder of a file system that it needs. */
static const struct {
    const char *variable; /* names it */
    const char *absent;   /* where there is none; NULL: then it cannot be tried */
} grounds[WT_ENGINES] = {
    [WT_ENGINE_OVERLAY] = {"TMPDIR", "/tmp"},
    [WT_ENGINE_BTRFS] = {"TEST_FS_BTRFS", NULL},
    [WT_ENGINE_REFLINK] = {"TEST_FS_XFS", NULL},
    [WT_ENGINE_CHECKOUT] = {"TMPDIR", "/tmp"},
};

static enum wt_engine engine_now = WT_ENGINE_OVERLAY;

static const char *ground(enum wt_engine engine)
{
    const char *folder = getenv(grounds[engine].variable);
    return folder && *folder ? folder : grounds[engine].absent;
}

bool fixture_use(const char *name)
{
    struct err err = ERR_INIT;
    if (name)
        assert_ok(wt_engine_parse(&engine_now, name, &err), &err);
    if (ground(engine_now))
        return true;
    print_message(
        "skipped: %s names no folder on a file system for the engine %s; tests/run.sh makes "
        "one when root starts it\n",
        grounds[engine_now].variable, name);
    return false;
}

int fixture_setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    AUTO_FREE char *template = fs_join(ground(engine_now), "wt-test-XXXXXX");
    struct err err = ERR_INIT;
    f->engine = engine_now;
    if (!mkdtemp(template))
        return -1;
    f->root = fs_realpath(template, &err);
    f->repo = fs_join(f->root, "repo");
    f->bases = fs_join(f->root, "bases");
    f->attempts = fs_join(f->root, "attempts");
    f->uid = (uid_t)-1;
    set_env("HOME", f->root, "home");
    set_env("XDG_CONFIG_HOME", f->root, "home/.config");
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    setenv("TZ", "UTC", 1);
    setenv("LC_ALL", "C", 1);
    free(sh(
        f, NULL,
        "mkdir -p home bases attempts && chmod 755 . && git config --global user.name Person && "
        "git config --global user.email person@example.com && "
        "git config --global init.defaultBranch main && git init -q repo && cd repo && "
        "mkdir -p src 'a b' && echo one >src/one.c && echo two >'a b/two words' && "
        "printf '*.o\\n.env\\n' >.gitignore && printf '#!/bin/sh\\n' >run.sh && chmod +x run.sh && "
        "ln -s src/one.c link && git add . && git commit -qm first"));
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    bool is_gone = fs_remove_tree(AT_FDCWD, f->root, &err);
    if (!is_gone)
        print_error("%s\n", err.text);
    free(f->root);
    free(f->repo);
    free(f->bases);
    free(f->attempts);
    free(f);
    return is_gone ? 0 : -1;
}

static void run(struct proc_result *ret, const char *folder, const struct strv *argv)
{
    struct err err = ERR_INIT;
    struct proc_cmd cmd = {.argv = argv, .cwd = folder};
    assert_ok(proc_run(ret, &cmd, &err), &err);
}

static char *finish(struct proc_result *r, const char *script)
{
    if (r->status != 0)
        fail_msg("%s\nended with status %d: %s%s", script, r->status, r->out.ptr, r->errout.ptr);
    buf_rtrim(&r->out);
    return buf_steal(&r->out);
}

static void run_script(struct proc_result *ret, const struct fixture *f, const char *folder,
                       const char *script)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    const char *const words[] = {"sh", "-c", script};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    run(ret, folder ? folder : f->root, &argv);
}

#define FORMAT(script, format)                           \
    va_list args_;                                       \
    va_start(args_, format);                             \
    char *script = NULL;                                 \
    assert_true(vasprintf(&script, format, args_) >= 0); \
    va_end(args_)

char *sh(const struct fixture *f, const char *folder, const char *format, ...)
{
    FORMAT(script, format);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    run_script(&r, f, folder, script);
    char *out = finish(&r, script);
    free(script);
    return out;
}

int sh_status(const struct fixture *f, const char *folder, const char *format, ...)
{
    FORMAT(script, format);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    run_script(&r, f, folder, script);
    free(script);
    return r.status;
}

bool try_attempt(struct fixture *f, struct wt_attempt *ret, const char *id, bool force,
                 enum wt_engine engine, struct err *err)
{
    AUTO_WT_SOURCE struct wt_source *own = wt_source_new(f->repo);
    struct wt_source *source = f->source ? f->source : own;
    const struct wt_repo *repo;
    struct wt_commit commit = {.ref = NULL};
    AUTO_FREE char *dir = fs_join(f->attempts, id);
    AUTO_FREE char *branch = xasprintf("headgate/%s", id);
    for (char *p = branch; *p; p++)
        *p = *p == '.' ? '/' : *p;
    assert_ok(wt_source_repo(&repo, source, err), err);
    assert_ok(wt_resolve(&commit, repo, f->base, err), err);
    assert_ok(fs_mkdirs(dir, 0755, err), err);
    struct wt_create how = {
        .id = id,
        .dir = dir,
        .bases_dir = f->bases,
        .branch = branch,
        .base_oid = commit.oid,
        .base_name = "main",
        .force_engine = force,
        .engine = engine,
        .include = f->include,
        .uid = f->uid,
        .gid = f->uid == (uid_t)-1 ? (gid_t)-1 : (gid_t)f->uid,
    };
    bool is_made = wt_create(ret, source, &how, err);
    wt_commit_release(&commit);
    return is_made;
}

void make_attempt(struct fixture *f, struct wt_attempt *ret, const char *id, bool force,
                  enum wt_engine engine)
{
    struct err err = ERR_INIT;
    assert_ok(try_attempt(f, ret, id, force, engine, &err), &err);
}

static void add_option(struct strv *argv, const char *name, const char *value)
{
    if (value) {
        strv_push(argv, name);
        strv_push(argv, value);
    }
}

static void box_command(struct strv *argv, const struct fixture *f, const struct wt_attempt *a)
{
    strv_push(argv, BOXRUN);
    add_option(argv, "--lower", a->lower);
    add_option(argv, "--lower2", a->lower2);
    add_option(argv, "--upper", a->upper);
    add_option(argv, "--work", a->work);
    add_option(argv, "--tree", a->tree);
    add_option(argv, "--gitfile", a->gitfile);
    add_option(argv, "--gitdir", a->gitdir);
    add_option(argv, "--common", a->repo);
    for (size_t i = 0; i < a->objects_ro.n; i++)
        add_option(argv, "--objects", a->objects_ro.v[i]);
    if (f->uid != (uid_t)-1) {
        AUTO_FREE char *uid = xasprintf("%u", f->uid);
        add_option(argv, "--uid", uid);
        add_option(argv, "--gid", uid);
    }
}

static void run_inside(struct proc_result *ret, const struct fixture *f, const struct wt_attempt *a,
                       const char *script)
{
    AUTO_STRV struct strv argv = STRV_INIT;
    box_command(&argv, f, a);
    strv_push(&argv, "--");
    /* The hook that the real box has is not here, and git would note so in the index. */
    const char *const words[] = {"env", "HOME=/nonexistent", "GIT_OPTIONAL_LOCKS=0", "sh", "-c",
                                 script};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        strv_push(&argv, words[i]);
    run(ret, f->root, &argv);
}

char *inside(const struct fixture *f, const struct wt_attempt *a, const char *format, ...)
{
    FORMAT(script, format);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    run_inside(&r, f, a, script);
    char *out = finish(&r, script);
    free(script);
    return out;
}

int inside_status(const struct fixture *f, const struct wt_attempt *a, const char *format, ...)
{
    FORMAT(script, format);
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    run_inside(&r, f, a, script);
    free(script);
    return r.status;
}

bool box_fn(void *arg, const struct wt_box_job *job, struct proc_result *ret, struct err *err)
{
    const struct box_arg *box = arg;
    AUTO_STRV struct strv argv = STRV_INIT;
    box_command(&argv, box->f, box->a);
    add_option(&argv, "--scratch", job->scratch_host);
    add_option(&argv, "--tree-ro", job->tree_writable ? NULL : "1");
    add_option(&argv, "--gitdir-ro", job->gitdir_writable ? NULL : "1");
    strv_push(&argv, "--");
    strv_push(&argv, "env");
    strv_push(&argv, "HOME=/nonexistent");
    for (size_t i = 0; i < job->env.n; i++)
        strv_push(&argv, job->env.v[i]);
    if (box->replace_script) {
        strv_push(&argv, "sh");
        strv_push(&argv, "-c");
        strv_push(&argv, box->replace_script);
    }
    for (const char *const *p = job->argv; !box->replace_script && *p; p++)
        strv_push(&argv, *p);
    struct proc_cmd cmd = {
        .argv = &argv,
        .cwd = box->f->root,
        .input = job->input,
        .input_len = job->input_len,
        .output_fd = job->output_fd,
        .max_output_bytes = job->max_output_bytes,
        .timeout_ms = job->timeout_ms,
    };
    return proc_run(ret, &cmd, err);
}

void assert_text(char *got, const char *expected)
{
    if (strcmp(got, expected) != 0)
        fail_msg("expected \"%s\", got \"%s\"", expected, got);
    free(got);
}

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void harvest(const struct fixture *f, const struct wt_attempt *a, bool with_snapshot,
             struct wt_harvest *ret)
{
    struct err err = ERR_INIT;
    struct box_arg box = {.f = f, .a = a};
    assert_ok(wt_harvest(ret, a, with_snapshot, box_fn, &box, &err), &err);
}

void go_round(struct fixture *f)
{
    struct err err = ERR_INIT;
    AUTO_WT_ATTEMPT struct wt_attempt a = WT_ATTEMPT_INIT;
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    AUTO_WT_MERGE struct wt_merge m = WT_MERGE_INIT;
    AUTO_WT_REPO struct wt_repo repo = WT_REPO_INIT;
    make_attempt(f, &a, "1.1", true, f->engine);
    assert_text(inside(f, &a, "git diff-files --name-only; git status --porcelain"), "");
    const char *name = wt_engine_name(f->engine);
    free(inside(f, &a, "echo %s >w-%s && git add . && git commit -qm work && cp w-%s u-%s", name,
                name, name, name));
    harvest(f, &a, true, &h);
    assert_int_equal(h.commits, 2);
    assert_ok(wt_repo_open(&repo, f->repo, &err), &err);
    AUTO_FREE char *into = sh(f, f->repo,
                              "git rev-parse -q --verify main >/dev/null && echo main || "
                              "git symbolic-ref --short HEAD");
    const struct wt_merge_ask ask = {.branch = a.branch, .into = into};
    assert_ok(wt_merge(&m, &repo, &ask, &err), &err);
    assert_int_not_equal(strlen(m.commit), 0);
    assert_text(sh(f, f->repo, "git show %s:w-%s %s:u-%s | uniq", into, name, into, name), name);
    assert_ok(wt_discard(&a, false, &err), &err);
    free(sh(f, f->repo, "git fsck --strict"));
}

void make_two_commits(struct fixture *f, struct wt_attempt *a)
{
    AUTO_WT_HARVEST struct wt_harvest h = WT_HARVEST_INIT;
    make_attempt(f, a, "1.1", true, WT_ENGINE_OVERLAY);
    free(inside(f, a,
                "echo changed >src/one.c && echo n >new && git add . && git commit -qm one && "
                "echo m >>new && git commit -qam two"));
    harvest(f, a, true, &h);
}
