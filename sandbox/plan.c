#include "sandbox/box.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "sandbox/plan.h"
#include "sandbox/plan_parts.h"

enum { HOSTNAME_BYTES = 64 };

/* A path that means one thing only: absolute, without empty, "." and ".." components. */
static bool check_path(const char *path, const char *what, struct err *err)
{
    if (!path || path[0] != '/')
        return err_set(err, ERR_USAGE, "%s must be an absolute path: %s", what, path ? path : "");
    if (strlen(path) >= LIMIT_PATH_BYTES)
        return err_set(err, ERR_USAGE, "%s is longer than %d bytes", what, LIMIT_PATH_BYTES);
    for (const char *p = path; *p;) {
        size_t len = strcspn(p + 1, "/");
        if ((len == 0 && p[1]) || (len == 1 && p[1] == '.') ||
            (len == 2 && p[1] == '.' && p[2] == '.'))
            return err_set(err, ERR_USAGE, "%s must not hold //, . or ..: %s", what, path);
        p += len + 1;
    }
    return true;
}

static bool check_inside(const char *path, const char *what, struct err *err)
{
    static const char *const own[] = {"/",       "/proc",   "/dev",   "/dev/pts",
                                      "/.lower", "/.under", "/.upper"};
    if (!check_path(path, what, err))
        return false;
    size_t len = strlen(path);
    if (len > 1 && path[len - 1] == '/')
        return err_set(err, ERR_USAGE, "%s must not end in /: %s", what, path);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(path, own[i]) == 0)
            return err_set(err, ERR_USAGE, "%s cannot be %s, which is the box's own", what, path);
    if (strncmp(path, "/proc/", 6) == 0)
        return err_set(err, ERR_USAGE, "%s cannot lie below /proc: %s", what, path);
    return true;
}

static bool check_account(const struct box_spec *spec, struct err *err)
{
    uid_t uid = geteuid();
    if (spec->uid == 0 || spec->gid == 0)
        return err_set(err, ERR_LAYER,
                       "a box never runs as root; create an unprivileged account (useradd "
                       "--system --create-home headgate) and name it in box.user");
    if (uid != 0 && (spec->uid != uid || spec->gid != getegid()))
        return err_set(err, ERR_USAGE, "a box started by uid %u runs as that uid, not as %u", uid,
                       spec->uid);
    return true;
}

static bool check(const struct box_spec *spec, struct err *err)
{
    if (!check_account(spec, err))
        return false;
    if (spec->argv.n == 0 || !spec->argv.v[0][0])
        return err_set(err, ERR_USAGE, "there is no command to run in the box");
    if (spec->without & (1U << LAYER_USER))
        return err_set(err, ERR_USAGE,
                       "the user layer cannot be left out: all others are made inside it");
    if (spec->pty && (spec->without & (1U << LAYER_PTY)))
        return err_set(err, ERR_USAGE, "a terminal in the box needs the pty layer");
    if (spec->hostname && strlen(spec->hostname) > HOSTNAME_BYTES)
        return err_set(err, ERR_USAGE, "the host name %s is too long", spec->hostname);
    if (spec->move_notify && !spec->overlay.upper)
        return err_set(err, ERR_USAGE, "renames are carried out in an overlay only");
    return check_path(spec->cwd, "the working folder", err);
}

static void add_head(struct buf *plan, const struct box_spec *spec)
{
    const struct plan_head head = {
        .uid = spec->uid,
        .gid = spec->gid,
        .require = spec->require,
        .without = spec->without,
        .flags = (spec->pty ? PLAN_PTY : 0U) | (spec->exec_notify ? PLAN_EXEC_NOTIFY : 0U) |
                 (spec->move_notify ? PLAN_MOVE_NOTIFY : 0U),
        .cols = spec->cols,
        .rows = spec->rows,
        .pids = spec->limits.pids,
        .memory_bytes = spec->limits.memory_bytes,
        .open_files = spec->limits.open_files,
    };
    plan_begin(plan, &head);
}

/* Upper and work lie on one mount, which must be shown to the kernel as one: their nearest common
 * folder, with the rest of each path below it. */
static bool add_overlay(struct buf *plan, const struct box_overlay *o, struct err *err)
{
    if (!check_path(o->lower, "the overlay's lower folder", err) ||
        !check_inside(o->inside, "the worktree's path in the box", err))
        return false;
    if (!o->upper) {
        plan_add(plan, PLAN_TREE, 0, o->lower, o->inside, NULL);
        return true;
    }
    if (!check_path(o->upper, "the overlay's upper folder", err) ||
        !check_path(o->work, "the overlay's work folder", err))
        return false;
    size_t common = 0;
    for (size_t i = 0; o->upper[i] && o->upper[i] == o->work[i]; i++)
        if (o->upper[i] == '/')
            common = i;
    const char *upper = o->upper + common + 1, *work = o->work + common + 1;
    if (!*upper || !*work || strpbrk(upper, ":,\\") || strpbrk(work, ":,\\"))
        return err_set(err, ERR_USAGE, "the overlay's folders %s and %s cannot be used together",
                       o->upper, o->work);
    AUTO_FREE char *parent = xstrndup(o->upper, common ? common : 1);
    if (o->under && !check_path(o->under, "the overlay's second lower folder", err))
        return false;
    plan_add(plan, PLAN_OVERLAY, 0, o->lower, parent, upper, work, o->inside,
             o->under ? o->under : "", NULL);
    plan_add(plan, PLAN_ALLOW, 0, o->inside, NULL);
    return true;
}

static bool add_bind(struct buf *plan, const struct box_bind *bind, struct err *err)
{
    unsigned flags = (bind->flags & BOX_BIND_WRITE ? PLAN_WRITE : 0U) |
                     (bind->flags & BOX_BIND_NOEXEC ? PLAN_NOEXEC : 0U);
    if (!check_path(bind->host, "a path to show", err) ||
        !check_inside(bind->inside, "a path in the box", err))
        return false;
    if (!(bind->flags & BOX_BIND_LATER) && access(bind->host, F_OK) != 0) {
        if (bind->flags & BOX_BIND_OPTIONAL)
            return true;
        return err_sys(err, errno, "cannot show %s in the box", bind->host);
    }
    plan_add(plan, PLAN_TREE, flags, bind->host, bind->inside, NULL);
    plan_add(plan, PLAN_ALLOW, flags & PLAN_WRITE ? 0 : PLAN_CONNECT, bind->inside, NULL);
    return true;
}

static bool add_files(struct buf *plan, const struct box_spec *spec, struct err *err)
{
    if (!plan_add_system(plan, spec, err) || !plan_add_hidden(plan, spec, err))
        return false;
    if (spec->home) {
        const struct box_bind home = {spec->home, spec->home_inside, BOX_BIND_WRITE};
        if (!add_bind(plan, &home, err))
            return false;
    } else if (spec->home_inside) {
        if (!check_inside(spec->home_inside, "the home", err))
            return false;
        plan_add_memory_folder(plan, spec->home_inside, "0755", spec->limits.tmp_bytes);
    }
    if (spec->overlay.inside && !add_overlay(plan, &spec->overlay, err))
        return false;
    for (size_t i = 0; i < spec->n_binds; i++)
        if (!add_bind(plan, &spec->binds[i], err))
            return false;
    for (size_t i = 0; i < spec->frozen.n; i++) {
        if (!check_inside(spec->frozen.v[i], "a path to keep as it is", err))
            return false;
        plan_add(plan, PLAN_FREEZE, 0, spec->frozen.v[i], NULL);
    }
    for (size_t i = 0; i < spec->masks.n; i++) {
        if (!check_inside(spec->masks.v[i], "a path to cover", err))
            return false;
        plan_add(plan, PLAN_MASK, 0, spec->masks.v[i], NULL);
    }
    for (size_t i = 0; i < spec->covered.n; i++) {
        if (!check_inside(spec->covered_in, "a folder with something to cover", err))
            return false;
        plan_add(plan, PLAN_COVER, 0, spec->covered_in, spec->covered.v[i], NULL);
    }
    return true;
}

/* Without the mount layer the host's files are seen as they are, and only Landlock knows which may
 * be written: those that would have been writable, at their paths inside. */
static void add_allowed_only(struct buf *plan, const struct box_spec *spec)
{
    if (spec->home_inside)
        plan_add(plan, PLAN_ALLOW, 0, spec->home_inside, NULL);
    if (spec->overlay.inside && spec->overlay.upper)
        plan_add(plan, PLAN_ALLOW, 0, spec->overlay.inside, NULL);
    for (size_t i = 0; i < spec->n_binds; i++)
        if (spec->binds[i].flags & BOX_BIND_WRITE)
            plan_add(plan, PLAN_ALLOW, 0, spec->binds[i].inside, NULL);
    plan_add(plan, PLAN_ALLOW, PLAN_DEVICE, "/dev", NULL);
    plan_add(plan, PLAN_ALLOW, PLAN_DEVICE, "/proc", NULL);
    if (!(spec->without & (1U << LAYER_PID)))
        plan_add(plan, PLAN_PROC, 0, "/proc", NULL);
    if (!(spec->without & (1U << LAYER_PTY)))
        plan_add(plan, PLAN_DEVPTS, 0, "/dev/pts", NULL);
}

static bool add_ports(struct buf *plan, const struct strv *ports, struct err *err)
{
    if (ports->n > PLAN_MAX_PORTS)
        return err_set(err, ERR_LIMIT, "a box can have at most %d mapped ports", PLAN_MAX_PORTS);
    for (size_t i = 0; i < ports->n; i++) {
        char *end;
        long port = strtol(ports->v[i], &end, 10);
        if (*end || end == ports->v[i] || port < 1 || port > 65535)
            return err_set(err, ERR_USAGE, "\"%s\" is not a port from 1 to 65535", ports->v[i]);
        plan_add(plan, PLAN_PORT, 0, ports->v[i], NULL);
    }
    return true;
}

static void add_program(struct buf *plan, const struct strv *argv, const struct strv *env,
                        const char *cwd)
{
    plan_add(plan, PLAN_CWD, 0, cwd, NULL);
    for (size_t i = 0; i < argv->n; i++)
        plan_add(plan, PLAN_ARG, 0, argv->v[i], NULL);
    for (size_t i = 0; i < env->n; i++)
        plan_add(plan, PLAN_ENV, 0, env->v[i], NULL);
}

void plan_join(struct buf *plan, const struct strv *argv, const struct strv *env, const char *cwd,
               uint16_t cols, uint16_t rows)
{
    const struct plan_head head = {.cols = cols, .rows = rows};
    plan_begin(plan, &head);
    add_program(plan, argv, env, cwd);
}

void plan_move(struct buf *plan, const struct box_rename *r)
{
    const struct plan_head head = {.flags = 0};
    char tid[16], from_dirfd[16], to_dirfd[16], flags[16];
    snprintf(tid, sizeof(tid), "%d", r->tid);
    snprintf(from_dirfd, sizeof(from_dirfd), "%d", r->from_dirfd);
    snprintf(to_dirfd, sizeof(to_dirfd), "%d", r->to_dirfd);
    snprintf(flags, sizeof(flags), "%u", r->flags);
    plan_begin(plan, &head);
    plan_add(plan, PLAN_MOVE, 0, tid, from_dirfd, r->from, to_dirfd, r->to, flags, NULL);
}

bool box_plan(struct buf *ret_plan, const struct box_spec *spec, struct err *err)
{
    AUTO_BUF struct buf plan = BUF_INIT;
    if (!check(spec, err))
        return false;
    add_head(&plan, spec);
    plan_add_cgroups(&plan, &spec->limits, "/sys/fs/cgroup", "/proc/self/cgroup");
    if (spec->without & (1U << LAYER_MOUNT))
        add_allowed_only(&plan, spec);
    else if (!add_files(&plan, spec, err))
        return false;
    if (!add_ports(&plan, &spec->listen_ports, err))
        return false;
    plan_add(&plan, PLAN_HOSTNAME, 0, spec->hostname ? spec->hostname : "box", NULL);
    add_program(&plan, &spec->argv, &spec->env, spec->cwd);
    for (size_t i = 0; i < spec->setup.n; i++)
        plan_add(&plan, PLAN_SETUP_ARG, 0, spec->setup.v[i], NULL);
    for (size_t i = 0; i < spec->setup_env.n; i++)
        plan_add(&plan, PLAN_SETUP_ENV, 0, spec->setup_env.v[i], NULL);
    for (size_t i = 0; i < spec->teardown.n; i++)
        plan_add(&plan, PLAN_TEARDOWN_ARG, 0, spec->teardown.v[i], NULL);
    if (plan.len > PLAN_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "the environment and arguments of the box are too large");
    buf_release(ret_plan);
    *ret_plan = plan;
    buf_init(&plan);
    return true;
}
