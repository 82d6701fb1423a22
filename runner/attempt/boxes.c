#include "runner/attempt/boxes.h"

#include <string.h>
#include <unistd.h>

#include "runner/agents/agent.h"
#include "runner/attempt/broker_side.h"
#include "runner/attempt/way_out.h"
#include "runner/attempt/claims.h"
#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "sandbox/profile.h"

#define INSIDE_SCRATCH BOXES_INSIDE "/scratch"

enum { DEFAULT_PIDS = 4096 };
static const int64_t default_memory_bytes = (int64_t)8 << 30;

const char *boxes_home(const struct boxes *b)
{
    const char *home = strv_env_get(&b->spec->env, "HOME");
    return home && home[0] == '/' ? home : b->paths->home;
}

/* System folders are shown whole; what of Headgate's or the person's lies there is not. */
static void hide(struct box_spec *spec, const struct boxes *b)
{
    const char *const all[] = {b->paths->state, b->paths->runtime, b->tree->repo,
                               b->tree->toplevel};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct err ignored = ERR_INIT;
        AUTO_FREE char *real = all[i] ? fs_realpath(all[i], &ignored) : NULL;
        if (real)
            strv_push(&spec->hidden, real);
    }
}

/* What the agent's box and the helper boxes share: account, environment, private home. */
static bool begin(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    AUTO_FREE char *home = fs_join(b->tree->dir, "home");
    spec->uid = b->account.uid;
    spec->gid = b->account.gid;
    spec->hostname = xasprintf("headgate-%s", b->spec->id);
    for (char *c = spec->hostname; *c; c++)
        if (*c == '.')
            *c = '-';
    hide(spec, b);
    return profile_apply(spec, &b->spec->env, boxes_home(b), home, err);
}

/* The files, where they are a folder of the host. */
static const char *host_files(const struct wt_attempt *t)
{
    return t->upper ? t->upper : t->tree;
}

static void show_tree(struct box_spec *spec, const struct wt_attempt *t, bool writable)
{
    if (t->lower) {
        spec->overlay.lower = xstrdup(t->lower);
        spec->overlay.under = t->lower2 ? xstrdup(t->lower2) : NULL;
        /* A read-only view still mounts the upper: mounting without it would hide the agent's work.
         */
        spec->overlay.upper = xstrdup(t->upper);
        spec->overlay.work = xstrdup(t->work);
        spec->overlay.inside = xstrdup(t->tree);
    } else {
        box_spec_bind(spec, host_files(t), t->tree, writable ? BOX_BIND_WRITE : 0);
    }
}

static void show_git(struct box_spec *spec, const struct wt_attempt *t, bool with_tree,
                     bool writable)
{
    box_spec_bind(spec, t->gitdir, t->gitdir, writable ? BOX_BIND_WRITE : 0);
    if (!t->upper && t->subs.n > 0) /* their pointers name it so */
        box_spec_bind(spec, t->gitdir, WT_INSIDE_GITDIR, writable ? BOX_BIND_WRITE : 0);
    for (size_t i = 0; i < t->objects_ro.n; i++)
        box_spec_bind(spec, t->objects_ro.v[i], t->objects_ro.v[i], 0);
    if (with_tree) {
        AUTO_FREE char *gitfile = fs_join(t->tree, ".git");
        box_spec_bind(spec, t->gitfile, gitfile, 0);
        /* Where the tree is the host's, what is mounted in it can go, and is made again from here.
         */
        box_spec_bind(spec, t->gitfile, CHANGES_GITFILE, 0);
    }
}

static bool show_gate(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    AUTO_FREE char *hook = paths_program("headgate-hook", err);
    AUTO_FREE char *mcp = hook ? paths_program("headgate-mcp", err) : NULL;
    if (!mcp)
        return false;
    AUTO_FREE char *gate = paths_gate_socket(b->paths, b->spec->id);
    box_spec_bind(spec, hook, WAY_OUT_HOOK, 0);
    box_spec_bind(spec, mcp, WAY_OUT_BIN "/headgate-mcp", 0);
    box_spec_bind(spec, gate, BOXES_GATE, BOX_BIND_LATER); /* the keeper listens there */
    return true;
}

/* What git asks what has changed. The upper layer shows nothing that the worktree does not, unless
 * something is covered there; then git is told that everything may have. */
static bool show_changes(struct box_spec *spec, const struct boxes *b, bool is_covered,
                         struct err *err)
{
    AUTO_FREE char *hook = paths_program("headgate-hook", err);
    if (!hook)
        return false;
    if (b->tree->lower)
        box_spec_bind(spec, hook, CHANGES_HOOK, 0);
    if (b->tree->lower && !is_covered)
        box_spec_bind(spec, b->tree->upper, CHANGES_UPPER, BOX_BIND_NOEXEC);
    return true;
}

/* Whether one of the masks from `first` on lies in the worktree. */
static bool covers_tree(const struct box_spec *spec, size_t first, const char *tree)
{
    for (size_t i = first; i < spec->masks.n; i++)
        if (strncmp(spec->masks.v[i], tree, strlen(tree)) == 0)
            return true;
    return false;
}

static bool show_broker(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    AUTO_FREE char *hook = paths_program("headgate-hook", err);
    return hook && broker_side_show(spec, b, hook, err);
}

static void tell_environment(struct box_spec *spec, const struct boxes *b)
{
    AUTO_FREE char *run = xasprintf("%lld", (long long)b->spec->run);
    const char *path = strv_env_get(&spec->env, "PATH");
    AUTO_FREE char *with_hook = xasprintf("%s:" BOXES_BIN, path ? path : "/usr/bin:/bin");
    strv_env_set(&spec->env, "PATH", with_hook);
    strv_env_set(&spec->env, "HEADGATE_RUN", run);
    strv_env_set(&spec->env, "HEADGATE_ATTEMPT", b->spec->id);
    strv_env_set(&spec->env, "HEADGATE_BRANCH", b->spec->branch);
    strv_env_set(&spec->env, "HEADGATE_TASK", b->spec->prompt);
    if (b->spec->resume && b->spec->message)
        strv_env_set(&spec->env, "HEADGATE_MESSAGE", b->spec->message);
    strv_env_set(&spec->env, "HEADGATE_WORKTREE", b->tree->tree);
    strv_env_set(&spec->env, "HEADGATE_GATE", BOXES_GATE);
    strv_env_set(&spec->env, "HEADGATE_HOOK", WAY_OUT_HOOK);
}

int64_t boxes_memory(const struct config *config)
{
    return config_int(config, "box.memory", default_memory_bytes);
}

int64_t boxes_pids(const struct config *config)
{
    return config_int(config, "box.pids", DEFAULT_PIDS);
}

static void set_limits(struct box_spec *spec, const struct boxes *b)
{
    const struct attempt_spec *s = b->spec;
    spec->limits.memory_bytes = s->memory_bytes ? s->memory_bytes : boxes_memory(b->config);
    spec->limits.pids = s->pids ? s->pids : boxes_pids(b->config);
}

static bool show_configured(struct box_spec *spec, const struct boxes *b, const char *key,
                            unsigned flags, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    config_list(&words, b->config, key);
    return profile_show(spec, &words, flags | BOX_BIND_OPTIONAL, boxes_home(b), err) ||
           err_prefix(err, "%s", key);
}

/* Where a path lies below the person's checkout, without a slash before it; NULL: elsewhere. */
static const char *in_checkout(const struct boxes *b, const char *path)
{
    const char *top = b->tree->toplevel;
    size_t len = top ? strlen(top) : 0;
    return top && strncmp(path, top, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* A path in the person's checkout means the same one of the worktree. */
static void cover(struct box_spec *spec, const struct boxes *b, const char *path)
{
    const char *below = in_checkout(b, path);
    if (below)
        strv_pushf(&spec->masks, "%s/%s", b->tree->tree, below);
    else
        strv_push(&spec->masks, path);
}

/* --rw of settings in the checkout lets the agent change them, those of its worktree; anything else
 * is the person's own folder, shown writable. */
static void show_writable(struct box_spec *spec, const struct boxes *b)
{
    AUTO_STRV struct strv lifted = STRV_INIT;
    const struct strv *rw = &b->spec->rw;
    for (size_t i = 0; i < rw->n; i++) {
        const char *below = in_checkout(b, rw->v[i]);
        if (below && profile_is_setting(below))
            strv_pushf(&lifted, "%s/%s", b->tree->tree, below);
        else
            box_spec_bind(spec, rw->v[i], rw->v[i], BOX_BIND_WRITE);
    }
    profile_keep_settings(spec, b->tree->tree, b->tree->lower ? NULL : host_files(b->tree),
                          b->spec->subdir, &lifted);
}

static bool cover_paths(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    AUTO_STRV struct strv words = STRV_INIT;
    config_list(&words, b->config, "box.mask");
    if (!profile_cover(spec, &words, boxes_home(b), b->tree->tree, err))
        return err_prefix(err, "box.mask");
    for (size_t i = 0; i < b->spec->mask.n; i++)
        cover(spec, b, b->spec->mask.v[i]);
    return true;
}

/* Where the links of worktree.share lead. What has become a link since is not followed. */
static bool show_shared(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    AUTO_BUF struct buf paths = BUF_INIT;
    AUTO_FREE char *record = fs_join(b->tree->dir, WT_SHARED_RECORD);
    if (!fs_exists(record))
        return true;
    if (!fs_read_file(&paths, AT_FDCWD, record, LIMIT_CONFIG_BYTES, err))
        return false;
    for (const char *p = paths.ptr; p < paths.ptr + paths.len; p += strlen(p) + 1) {
        struct err absent = ERR_INIT;
        AUTO_FREE char *real = fs_realpath(p, &absent);
        if (real && strcmp(real, p) == 0)
            box_spec_bind(spec, p, p, BOX_BIND_OPTIONAL);
    }
    return true;
}

/* The configuration first, so that the command line has the last word. */
static bool add_overrides(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    const struct attempt_spec *s = b->spec;
    size_t first = spec->n_binds;
    if (!show_shared(spec, b, err) || !show_configured(spec, b, "box.ro", 0, err) ||
        !show_configured(spec, b, "box.rw", BOX_BIND_WRITE, err))
        return false;
    for (size_t i = 0; i < s->ro.n; i++)
        box_spec_bind(spec, s->ro.v[i], s->ro.v[i], 0);
    show_writable(spec, b);
    profile_mask_secrets(spec, boxes_home(b));
    profile_keep_shown(spec, first);
    return cover_paths(spec, b, err) && claims_take(b, spec, first, err);
}

/* What the person named passes, whatever it is; the rest was filtered where the run was asked for.
 */
static void pass_environment(struct box_spec *spec, const struct boxes *b)
{
    static const char *const own[] = {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"};
    const struct strv *env = &b->spec->env;
    for (size_t i = 0; i < env->n; i++) {
        AUTO_FREE char *name = xstrndup(env->v[i], strcspn(env->v[i], "="));
        bool is_own = false;
        for (size_t k = 0; k < ARRAY_LEN(own); k++)
            is_own = is_own || strcmp(name, own[k]) == 0;
        if (!is_own && !strv_env_get(&spec->env, name))
            strv_push(&spec->env, env->v[i]);
    }
}

static void cover_settings_of(struct box_spec *spec, const struct boxes *b, const char *folder)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    for (size_t i = 0; agent->project_settings && agent->project_settings[i]; i++)
        strv_pushf(&spec->covered, "%s%s%s", folder, *folder ? "/" : "",
                   agent->project_settings[i]);
}

/* A covered file must not look deleted to git, which would commit that. */
static void keep_covered(struct buf *script, const struct agent *agent)
{
    static const char real[] = "realpath -m --relative-to=\"$HEADGATE_WORKTREE\"";
    buf_adds(script, "git -C \"$HEADGATE_WORKTREE\" ls-files -z --");
    for (size_t i = 0; agent->project_settings[i]; i++)
        buf_addf(script, " '%s' '**/%s' \"$(%s -- \"$HEADGATE_WORKTREE/%s\")\"",
                 agent->project_settings[i], agent->project_settings[i], real,
                 agent->project_settings[i]);
    buf_adds(script,
             " | git -C \"$HEADGATE_WORKTREE\" update-index -z --skip-worktree --stdin || :\n");
}

/* The person takes the word of projects for it. */
static bool may_count(const struct boxes *b, const struct agent *agent)
{
    AUTO_FREE char *key = xasprintf("agent.%s.projectsettings", agent->name);
    return agent->is_gated_apart && config_bool(b->config, key, false);
}

/* In every folder from the top of the worktree to where the agent starts. */
static void cover_settings(struct box_spec *spec, const struct boxes *b, struct buf *setup)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    const char *subdir = b->spec->subdir;
    if (!agent->project_settings || may_count(b, agent))
        return;
    spec->covered_in = xstrdup(b->tree->tree);
    cover_settings_of(spec, b, "");
    for (const char *end = subdir; *end; end += *end == '/') {
        end = strchrnul(end, '/');
        AUTO_FREE char *folder = xstrndup(subdir, (size_t)(end - subdir));
        cover_settings_of(spec, b, folder);
    }
    keep_covered(setup, agent);
}

/* What runs in the same box before the agent, which starts only when it succeeded: our own part,
 * then the set-up command. */
static void put_setup_first(struct box_spec *spec, const struct boxes *b)
{
    AUTO_BUF struct buf script = BUF_INIT;
    cover_settings(spec, b, &script);
    buf_adds(&script, b->spec->setup ? b->spec->setup : "");
    if (script.len == 0)
        return;
    strv_push(&spec->setup, "/bin/sh");
    strv_push(&spec->setup, "-e");
    strv_push(&spec->setup, "-c");
    strv_push(&spec->setup, script.ptr);
    if (b->spec->setup)
        strv_push_all(&spec->setup_env, strv_array(&b->spec->secrets));
}

static void put_teardown_last(struct box_spec *spec, const struct boxes *b)
{
    static const char *const shell[] = {"/bin/sh", "-e", "-c"};
    if (!b->spec->teardown)
        return;
    for (size_t i = 0; i < ARRAY_LEN(shell); i++)
        strv_push(&spec->teardown, shell[i]);
    strv_push(&spec->teardown, b->spec->teardown);
}

const char *boxes_task(const struct attempt_spec *s)
{
    if (s->resume && s->message)
        return s->message;
    return s->resume && s->interactive ? "" : s->prompt;
}

static bool add_agent(struct box_spec *spec, const struct boxes *b, struct err *err)
{
    const struct agent *agent = agent_kind(b->spec->agent);
    AUTO_FREE char *home = fs_join(b->tree->dir, "home");
    const struct agent_start start = {
        .attempt = b->spec->id,
        .prompt = boxes_task(b->spec),
        .command = b->spec->command.n ? &b->spec->command : NULL,
        .interactive = b->spec->interactive,
        .resume = b->spec->resume,
        .is_heard = agent->hears && !b->spec->interactive,
        .dir = b->tree->dir,
        .home_host = home,
        .home_inside = boxes_home(b),
        .worktree = b->tree->tree,
        .profile = broker_side_profile_text,
        .hook_inside = WAY_OUT_HOOK,
        .gate_inside = BOXES_GATE,
        .caller_env = &b->spec->env,
        .config = b->config,
        .agent_name = b->spec->agent,
    };
    return agent->prepare(spec, &start, err);
}

/* Whatever the shell was that asked: what draws is our own terminal, and a person sits before it.
 * Programs that find CI set (in a container, say) would draw nothing until they end. */
static void tell_terminal(struct box_spec *spec)
{
    strv_env_set(&spec->env, "TERM", "xterm-256color");
    if (strv_env_get(&spec->env, "CI"))
        strv_env_set(&spec->env, "CI", "false");
}

bool boxes_agent(struct box_spec *ret, const struct boxes *b, struct err *err)
{
    AUTO_BOX_SPEC struct box_spec spec;
    box_spec_init(&spec);
    if (!begin(&spec, b, err))
        return false;
    show_tree(&spec, b->tree, true);
    show_git(&spec, b->tree, true, true);
    if (!show_gate(&spec, b, err) || !add_agent(&spec, b, err))
        return false;
    put_setup_first(&spec, b);
    put_teardown_last(&spec, b);
    size_t first_mask = spec.masks.n; /* those before are an agent's settings, no secrets */
    if (!add_overrides(&spec, b, err) ||
        !show_changes(&spec, b, covers_tree(&spec, first_mask, b->tree->tree), err))
        return false;
    strv_push_all(&spec.listen_ports, strv_array(&b->spec->services));
    pass_environment(&spec, b);
    tell_environment(&spec, b);
    if (!show_broker(&spec, b, err))
        return false;
    way_out_show(&spec, &b->spec->services);
    for (size_t i = 0; i < b->spec->models.n; i++)
        strv_pushf(&spec.listen_ports, "%u", b->spec->models.v[i].inside);
    set_limits(&spec, b);
    spec.cwd =
        b->spec->subdir[0] ? fs_join(b->tree->tree, b->spec->subdir) : xstrdup(b->tree->tree);
    spec.pty = b->spec->interactive;
    spec.exec_notify = b->spec->exec != EXEC_OFF;
    spec.move_notify = spec.overlay.upper != NULL;
    if (spec.pty)
        tell_terminal(&spec);
    spec.cols = (uint16_t)(b->spec->cols > 0 ? b->spec->cols : 80);
    spec.rows = (uint16_t)(b->spec->rows > 0 ? b->spec->rows : 24);
    if (b->spec->require && !layer_parse_required(&spec.require, b->spec->require, err))
        return false;
    spec.require &= ~LAYER_EXEC_BIT; /* the keeper's */
    *ret = spec;
    box_spec_init(&spec);
    return true;
}

bool boxes_run_job(void *arg, const struct wt_box_job *job, struct proc_result *ret,
                   struct err *err)
{
    const struct boxes *b = arg;
    AUTO_BOX_SPEC struct box_spec spec;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    box_spec_init(&spec);
    if (!launcher || !begin(&spec, b, err))
        return false;
    if (job->with_tree)
        show_tree(&spec, b->tree, job->tree_writable);
    if (job->with_tree && !show_changes(&spec, b, false, err))
        return false;
    show_git(&spec, b->tree, job->with_tree, job->gitdir_writable);
    if (job->scratch_host)
        box_spec_bind(&spec, job->scratch_host, INSIDE_SCRATCH, BOX_BIND_WRITE);
    strv_push_all(&spec.argv, (char *const *)job->argv);
    for (size_t i = 0; i < job->env.n; i++)
        strv_push(&spec.env, job->env.v[i]);
    set_limits(&spec, b);
    spec.cwd = xstrdup(job->with_tree ? b->tree->tree : b->tree->gitdir);
    const struct proc_cmd cmd = {
        .input = job->input,
        .input_len = job->input_len,
        .output_fd = job->output_fd,
        .max_output_bytes = job->max_output_bytes,
        .timeout_ms = job->timeout_ms,
    };
    struct layer_report report;
    return box_run(ret, &report, launcher, &spec, &cmd, err);
}
