#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/agents/program.h"
#include "runner/attempt/account.h"
#include "runner/attempt/box_claims.h"
#include "runner/attempt/way_out.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "runner/cmd/box_loop.h"
#include "runner/cmd/box_notes.h"
#include "runner/cmd/box_proxy.h"
#include "runner/cmd/cmd.h"
#include "runner/cmd/out.h"
#include "sandbox/profile.h"

/* As docker has it, so that the command's own codes stay apart from ours. */
enum { EXIT_HEADGATE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NO_PROGRAM = 127 };

struct box_options {
    struct strv net, services, ro, rw, mask, env;
    const char *off, *require;
    int64_t memory_bytes, pids;
    bool explain;
};

static void options_release(struct box_options *o)
{
    strv_release(&o->net);
    strv_release(&o->services);
    strv_release(&o->ro);
    strv_release(&o->rw);
    strv_release(&o->mask);
    strv_release(&o->env);
}

static bool show_paths(struct box_spec *spec, const struct strv *paths, unsigned flags,
                       const char *work, bool *ret_is_work_named, struct err *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        AUTO_FREE char *real = fs_realpath(paths->v[i], err);
        if (!real)
            return err_prefix(err, flags & BOX_BIND_WRITE ? "--rw" : "--ro");
        if (strcmp(real, work) == 0)
            *ret_is_work_named = true;
        box_spec_bind(spec, real, real, flags);
    }
    return true;
}

/* In every box, or the box's own: a command can start there without its being shown. */
static bool is_in_each_box(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/tmp") == 0 || fs_is_at_or_below(path, "/etc") ||
           box_is_system_path(path);
}

/* Somebody works below /opt, say: the folder is the account's own. */
static bool is_own(const char *path, uid_t uid)
{
    struct stat st;
    return strchr(path + 1, '/') && stat(path, &st) == 0 && st.st_uid == uid;
}

/* The current folder is the work folder: writable at its own path, unless it was named read-only.
 */
static bool show_work(struct box_spec *spec, const struct box_options *o, const char *home,
                      struct err *err)
{
    bool is_named = false;
    AUTO_FREE char *work = getcwd(NULL, 0);
    if (!work)
        return err_sys(err, errno, "cannot find the current folder");
    if (!show_paths(spec, &o->ro, 0, work, &is_named, err) ||
        !show_paths(spec, &o->rw, BOX_BIND_WRITE, work, &is_named, err))
        return false;
    spec->cwd = steal_ptr(&work);
    if (is_named || (is_in_each_box(spec->cwd) && !is_own(spec->cwd, spec->uid)))
        return true;
    AUTO_FREE char *real_home = fs_realpath(home, err);
    if (real_home && fs_is_at_or_below(real_home, spec->cwd))
        return err_set(err, ERR_USAGE,
                       "%s would show your whole home in the box; go to the folder of the work, or "
                       "say --ro . if you mean it",
                       spec->cwd);
    box_spec_bind(spec, spec->cwd, spec->cwd, BOX_BIND_WRITE);
    return true;
}

/* What the configuration has for every box; the command line comes later and has the last word. */
static bool add_configured(struct box_spec *spec, const struct config *config,
                           const struct strv *all, const char *home, struct err *err)
{
    AUTO_STRV struct strv ro = STRV_INIT, rw = STRV_INIT, env = STRV_INIT;
    config_list(&ro, config, "box.ro");
    config_list(&rw, config, "box.rw");
    config_list(&env, config, "box.env");
    for (size_t i = 0; i < env.n; i++) /* a name alone is passed where it is set */
        if ((strchr(env.v[i], '=') || strv_env_get(all, env.v[i])) &&
            !profile_env_add(&spec->env, all, env.v[i], err))
            return false;
    return profile_show(spec, &ro, BOX_BIND_OPTIONAL, home, err) &&
           profile_show(spec, &rw, BOX_BIND_OPTIONAL | BOX_BIND_WRITE, home, err);
}

/* A mistyped path would leave bare what was to be covered. */
static bool check_masks(const struct strv *masks, const char *home, const char *work,
                        struct err *err)
{
    for (size_t i = 0; i < masks->n; i++) {
        AUTO_FREE char *path = profile_path(masks->v[i], home, work, err);
        if (!path)
            return err_prefix(err, "--mask");
        if (!fs_exists(path))
            return err_set(err, ERR_USAGE, "--mask: there is no %s to cover", path);
    }
    return true;
}

/* After the work folder, below which relative paths to cover lie. */
static bool add_named(struct box_spec *spec, const struct box_options *o,
                      const struct config *config, const struct strv *all, const char *home,
                      struct err *err)
{
    AUTO_STRV struct strv mask = STRV_INIT;
    if (!check_masks(&o->mask, home, spec->cwd, err))
        return false;
    config_list(&mask, config, "box.mask");
    strv_push_all(&mask, strv_array(&o->mask));
    for (size_t i = 0; i < o->env.n; i++)
        if (!profile_env_add(&spec->env, all, o->env.v[i], err))
            return false;
    profile_mask_secrets(spec, home);
    profile_keep_shown(spec, 0);
    return profile_cover(spec, &mask, home, spec->cwd, err);
}

/* Where Headgate's state and sockets are: whoever reaches them decides calls. Below what is shown
 * they are covered. */
static bool hide_own(struct box_spec *spec, struct err *err)
{
    AUTO_STRV struct strv hidden = STRV_INIT;
    paths_add_private(&hidden);
    for (size_t i = 0; i < hidden.n; i++) {
        for (size_t j = 0; j < spec->n_binds; j++)
            if (fs_is_at_or_below(spec->binds[j].host, hidden.v[i]))
                return err_set(err, ERR_USAGE,
                               "%s cannot be shown in a box: Headgate keeps its state there",
                               spec->binds[j].host);
        strv_push(&spec->masks, hidden.v[i]);
    }
    return true;
}

static bool show_way_out(struct box_spec *spec, const struct box_options *o, struct err *err)
{
    AUTO_FREE char *hook = paths_program("headgate-hook", err);
    if (!hook)
        return false;
    box_spec_bind(spec, hook, WAY_OUT_HOOK, 0);
    way_out_show(spec, &o->services);
    return true;
}

struct request {
    const struct box_options *options;
    const struct config *config;
    const struct strv *net; /* listed hosts, of both */
    const struct strv *command;
    struct strv writable,
        known; /* out: folders of the host; what this host obeys in them already */
};

static void request_release(struct request *r)
{
    strv_release(&r->writable);
    strv_release(&r->known);
}

/* For the end: what was there, or is writable because it was named, is not news then. */
static void remember_shown(struct request *r, const struct box_spec *spec)
{
    strv_push_all(&r->known, strv_array(&spec->frozen));
    for (size_t i = 0; i < spec->n_binds; i++)
        if (spec->binds[i].flags & BOX_BIND_WRITE) {
            strv_push(&r->known, spec->binds[i].host);
            if (strcmp(spec->binds[i].host, spec->binds[i].inside) == 0)
                strv_push(&r->writable, spec->binds[i].host);
        }
}

static bool describe(struct box_spec *spec, void *arg, struct err *err)
{
    struct request *r = arg;
    const struct box_options *o = r->options;
    AUTO_STRV struct strv env = STRV_INIT;
    const struct config *config = r->config;
    struct account account;
    strv_push_all(&env, environ);
    const char *person_home = strv_env_get(&env, "HOME");
    if (!person_home || *person_home != '/')
        person_home = "/home/agent";
    if (!account_of_boxes(&account, config, err))
        return false;
    spec->uid = account.uid;
    spec->gid = account.gid;
    /* In memory: it costs no folder on a disk, and nothing of it can be left behind. */
    if (!profile_apply(spec, &env, person_home, NULL, err) ||
        !add_configured(spec, config, &env, person_home, err) ||
        !show_work(spec, o, person_home, err) ||
        !add_named(spec, o, config, &env, person_home, err) || !hide_own(spec, err))
        return false;
    box_note_unwritable(spec, &account);
    box_note_linked(spec);
    remember_shown(r, spec);
    strv_push_all(&spec->argv, strv_array(r->command));
    strv_push_all(&spec->listen_ports, strv_array(&o->services));
    if (r->net->n && !show_way_out(spec, o, err))
        return false;
    spec->limits.memory_bytes = o->memory_bytes;
    spec->limits.pids = o->pids;
    spec->hostname = xstrdup("headgate-box");
    return (!o->off || layer_parse_list(&spec->without, o->off, err)) &&
           (!o->require || layer_parse_list(&spec->require, o->require, err));
}

static bool explain(const struct box_end *end, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    for (unsigned id = 0; id < LAYER_COUNT; id++) {
        const struct layer_status *s = &end->report.layer[id];
        buf_addf(&text, "%-9s %-12s %s%s%s\n", layer_name(id), layer_state_name(s->state),
                 s->mechanism, s->mechanism[0] && s->reason[0] ? ": " : "", s->reason);
    }
    uint64_t sum_us = 0;
    for (unsigned i = 0; i < end->times.n; i++) {
        buf_addf(&text, "%8u us  %s\n", end->times.row[i].took_us, end->times.row[i].step);
        sum_us += end->times.row[i].took_us;
    }
    buf_addf(&text, "%8llu us  in all, from the launcher's start to the agent's\n",
             (unsigned long long)sum_us);
    return fs_write_fd(STDERR_FILENO, text.ptr, text.len, err);
}

/* A program that this host has and the box does not show: say how to show it. */
static void hint_at(struct err *failure, const char *name)
{
    struct err ignored = ERR_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    strv_push_all(&env, environ);
    AUTO_FREE char *found = program_find(name, &env);
    AUTO_FREE char *real = found ? fs_realpath(found, &ignored) : NULL;
    AUTO_FREE char *folder = real ? fs_dirname(real) : NULL;
    if (folder && !box_is_system_path(real))
        err_set(failure, ERR_NOT_FOUND,
                "the program %s is at %s on this host, which the box does not show; add --ro %s",
                name, real, folder);
}

static int status_of(struct box_end *end, const char *name)
{
    if (end->exceeded.code != ERR_NONE)
        cmd_exit(false, &end->exceeded); /* says it */
    if (end->failure.code == ERR_NONE)
        return end->status;
    if (end->failure.code == ERR_NOT_FOUND)
        hint_at(&end->failure, name);
    cmd_exit(false, &end->failure);
    if (end->failure.code == ERR_NOT_FOUND)
        return EXIT_NO_PROGRAM;
    return end->failure.code == ERR_REFUSED ? EXIT_NOT_EXECUTABLE : EXIT_HEADGATE;
}

static void proxy_release_(struct box_proxy **proxy)
{
    box_proxy_free(*proxy);
}

static bool run(int *ret_status, const struct box_options *o, const struct strv *command,
                struct err *err)
{
    struct box_end end;
    AUTO_PATHS struct paths paths = {0};
    AUTO_CONFIG struct config *config = NULL;
    AUTO_STRV struct strv net = STRV_INIT;
    AUTO_FREE char *launcher = paths_program("headgate-box", err);
    __attribute__((cleanup(proxy_release_))) struct box_proxy *proxy = NULL;
    paths_init_config(&paths);
    if (!launcher || !config_load(&config, &paths, err))
        return false;
    config_list(&net, config, "box.net");
    strv_push_all(&net, strv_array(&o->net));
    bool is_plain = !o->off && o->memory_bytes == 0 && o->pids == 0;
    __attribute__((cleanup(request_release))) struct request request = {
        o, config, &net, command, STRV_INIT, STRV_INIT};
    if (net.n && !box_proxy_new(&proxy, &net, way_out_port(&o->services), err))
        return false;
    if (!box_loop_run(&end, launcher, is_plain, describe, &request, box_claims_take, proxy, err))
        return false;
    box_note_made(&request.writable, &request.known);
    if (o->explain && !explain(&end, err))
        return false;
    *ret_status = status_of(&end, command->v[0]);
    return true;
}

static bool box(int *ret_status, char **argv, struct err *err)
{
    __attribute__((cleanup(options_release))) struct box_options o = {.net = STRV_INIT,
                                                                      .services = STRV_INIT,
                                                                      .ro = STRV_INIT,
                                                                      .rw = STRV_INIT,
                                                                      .mask = STRV_INIT,
                                                                      .env = STRV_INIT};
    const struct opt table[] = {
        {0, "net", OPT_LIST, &o.net, "HOST[:PORT]",
         "let the command reach a host through a proxy (443 and 80)", 0, 0},
        {0, "service", OPT_LIST, &o.services, "PORT",
         "map a loopback port of this host into the box", 0, 0},
        {0, "rw", OPT_LIST, &o.rw, "PATH", "show a path, writable", 0, 0},
        {0, "ro", OPT_LIST, &o.ro, "PATH", "show a path, read-only (also `.`)", 0, 0},
        {0, "mask", OPT_LIST, &o.mask, "PATH", "cover a path that would be shown", 0, 0},
        {0, "env", OPT_LIST, &o.env, "NAME[=VALUE]", "pass a variable", 0, 0},
        {0, "memory", OPT_SIZE, &o.memory_bytes, "SIZE", "at most so much memory", 0, 0},
        {0, "pids", OPT_INT, &o.pids, "N", "at most so many processes", 1, 1000000},
        {0, "require", OPT_STRING, &o.require, "LAYER,...", "fail unless these are active", 0, 0},
        {0, "off", OPT_STRING, &o.off, "LAYER,...", "leave layers out: for diagnosis only", 0, 0},
        {0, "explain", OPT_FLAG, &o.explain, NULL,
         "print layers and the time of each step at the end", 0, 0},
    };
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    if (!cmd_parse(&args, argv, table, ARRAY_LEN(table), err))
        return false;
    if (args.operands.n == 0)
        return cmd_usage("box", "no command is named", err);
    if (args.dashdash != 0)
        return cmd_usage("box", "the command stands after --", err);
    return run(ret_status, &o, &args.operands, err);
}

int cmd_box(int argc, char **argv)
{
    (void)argc;
    struct err err = ERR_INIT;
    int status = 0;
    if (box(&status, argv, &err))
        return status;
    if (err.code == ERR_SHOWN)
        return 0;
    cmd_exit(false, &err);
    return EXIT_HEADGATE;
}
