#include "runner/base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/strv.h"
#include "runner/base/text.h"

enum {
    MACHINE_ID_BYTES = 64,
    SOCKET_NAME_BYTES = 24, /* the longest name under the runtime folder, "k10000.10000" and room */
    STATE_DIGITS = 8,
};

/* An absolute path from the environment; the XDG rules say that a relative one is ignored. */
static const char *env_path(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

static char *find_home(void)
{
    const char *home = env_path("HOME");
    if (home)
        return xstrdup(home);
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 && found &&
        found->pw_dir[0] == '/')
        return xstrdup(found->pw_dir);
    return NULL;
}

/* Homes shared by several machines keep one state folder for each (machine-id(5)). */
static char *machine_id(void)
{
    static const char *const files[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
    struct err ignored = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        AUTO_BUF struct buf id = BUF_INIT;
        if (!fs_read_file(&id, AT_FDCWD, files[i], MACHINE_ID_BYTES, &ignored))
            continue;
        buf_rtrim(&id);
        if (text_is_name(id.ptr, MACHINE_ID_BYTES))
            return buf_steal(&id);
    }
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, sizeof(host) - 1) == 0 && text_is_name(host, MACHINE_ID_BYTES))
        return xstrdup(host);
    return xstrdup("local");
}

/* That an open folder is the caller's alone. */
static bool require_private(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot stat %s", path);
    if (st.st_uid != geteuid())
        return err_set(err, ERR_REFUSED, "%s belongs to user %u and not to you (%u)", path,
                       st.st_uid, geteuid());
    if (st.st_mode & 077)
        return err_set(err, ERR_REFUSED, "%s is open to other users; run: chmod 700 '%s'", path,
                       path);
    return true;
}

/* The nearest folder that exists on the way to path. */
static char *existing_part(const char *path)
{
    char *part = xstrdup(path);
    while (!fs_exists(part) && strcmp(part, "/") != 0) {
        char *parent = fs_dirname(part);
        free(part);
        part = parent;
    }
    return part;
}

static bool require_local(const char *path, struct err *err)
{
    AUTO_FREE char *part = existing_part(path);
    const char *type = fs_network_type(part);
    if (!type)
        return true;
    return err_set(err, ERR_REFUSED,
                   "the state folder %s is on a network file system (%s), where locks and overlays "
                   "break; set HEADGATE_STATE to a folder on a local disk",
                   path, type);
}

static bool choose_state(char **ret, const char *home, struct err *err)
{
    const char *given = getenv("HEADGATE_STATE");
    if (given && given[0] && given[0] != '/')
        return err_set(err, ERR_USAGE, "HEADGATE_STATE must be an absolute path, not '%s'", given);
    if (given && given[0]) {
        *ret = xstrdup(given);
        return true;
    }
    const char *xdg = env_path("XDG_STATE_HOME");
    if (!xdg && !home)
        return err_set(err, ERR_USAGE, "there is no home folder; set HOME or HEADGATE_STATE");
    AUTO_FREE char *base = xdg ? xstrdup(xdg) : fs_join(home, ".local/state");
    AUTO_FREE char *machine = machine_id();
    *ret = xasprintf("%s/headgate/%s", base, machine);
    return true;
}

/* Create and check the state folder; the result is free of symlinks, so that every program that
 * derives names from it derives the same. */
static bool open_state(char **ret, const char *home, struct err *err)
{
    AUTO_FREE char *wanted = NULL;
    if (!choose_state(&wanted, home, err) || !require_local(wanted, err))
        return false;
    if (!fs_mkdirs(wanted, 0700, err))
        return err_prefix(err, "the state folder cannot be used");
    AUTO_FREE char *real = fs_realpath(wanted, err);
    if (!real)
        return false;
    AUTO_FD int fd = fs_open_dir(AT_FDCWD, real, err);
    if (fd < 0 || !require_private(fd, real, err))
        return false;
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return err_sys(
            err, errno,
            "the state folder cannot be used (HEADGATE_STATE names another): cannot write %s",
            real);
    *ret = steal_ptr(&real);
    return true;
}

/* Open one private folder below parent, made when absent. Somebody else may have been there first
 * (in /tmp anybody can), so it is judged after it was opened, and a symlink is not followed. */
static int open_private(int parent, const char *name, const char *shown, struct err *err)
{
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot create %s", shown), -1;
    AUTO_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot open the folder %s", shown), -1;
    return require_private(fd, shown, err) ? steal_fd(&fd) : -1;
}

static bool make_runtime(char **ret, const char *base, const char *name, const char *digits,
                         struct err *err)
{
    AUTO_FREE char *outer = fs_join(base, name);
    AUTO_FREE char *inner = fs_join(outer, digits);
    AUTO_FD int base_fd = fs_open_dir(AT_FDCWD, base, err);
    if (base_fd < 0)
        return false;
    AUTO_FD int outer_fd = open_private(base_fd, name, outer, err);
    if (outer_fd < 0)
        return false;
    AUTO_FD int inner_fd = open_private(outer_fd, digits, inner, err);
    if (inner_fd < 0)
        return false;
    *ret = steal_ptr(&inner);
    return true;
}

/* A runtime folder that is ours and leaves room for socket names. After su(1) XDG_RUNTIME_DIR often
 * still names the folder of somebody else. */
static bool is_usable_runtime(const char *dir)
{
    struct stat st;
    size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1 - SOCKET_NAME_BYTES -
                  strlen("/headgate/") - STATE_DIGITS - 1;
    return dir[0] == '/' && strlen(dir) <= room && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

/* The choice is written down in the state folder: a login and a cron job of one person see
 * different environments, and must still meet at the same sockets. */
static char *runtime_base(const char *state)
{
    AUTO_BUF struct buf recorded = BUF_INIT;
    AUTO_FREE char *note = fs_join(state, "runtime");
    struct err ignored = ERR_INIT;
    if (fs_read_file(&recorded, AT_FDCWD, note, PATH_MAX, &ignored) &&
        (strcmp(recorded.ptr, "/tmp") == 0 || is_usable_runtime(recorded.ptr)))
        return xstrdup(recorded.ptr);
    const char *xdg = env_path("XDG_RUNTIME_DIR");
    const char *base = xdg && is_usable_runtime(xdg) ? xdg : "/tmp";
    /* Without the note this command still works; only one with another environment would not meet
     * it. */
    (void)!fs_write_atomic(AT_FDCWD, note, base, strlen(base), 0600, &ignored);
    return xstrdup(base);
}

static bool open_runtime(char **ret, const char *state, struct err *err)
{
    char digest[DIGEST_HEX_SIZE];
    digest_bytes(digest, state, strlen(state));
    digest[STATE_DIGITS] = '\0';
    AUTO_FREE char *base = runtime_base(state);
    if (strcmp(base, "/tmp") != 0)
        return make_runtime(ret, base, "headgate", digest, err);
    AUTO_FREE char *name = xasprintf("headgate-%u", geteuid());
    return make_runtime(ret, base, name, digest, err);
}

static char *find_user_config(const char *home)
{
    const char *xdg = env_path("XDG_CONFIG_HOME");
    return xdg ? fs_join(xdg, "headgate/config") : fs_join(home, ".config/headgate/config");
}

void paths_init_config(struct paths *ret)
{
    *ret = (struct paths){.home = find_home()};
    if (!ret->home)
        ret->home = xstrdup("/");
    ret->user_config = find_user_config(ret->home);
}

static void add_existing(struct strv *out, const char *folder)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *real = fs_realpath(folder, &ignored);
    if (real)
        strv_push(out, real);
}

void paths_add_private(struct strv *out)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *home = find_home();
    AUTO_FREE char *state = NULL;
    const char *xdg = env_path("XDG_RUNTIME_DIR");
    AUTO_FREE char *sockets = xdg ? fs_join(xdg, "headgate") : NULL;
    AUTO_FREE char *spare = xasprintf("/tmp/headgate-%u", geteuid());
    if (choose_state(&state, home, &ignored))
        add_existing(out, state);
    if (sockets)
        add_existing(out, sockets);
    add_existing(out, spare);
}

bool paths_init(struct paths *ret, struct err *err)
{
    AUTO_PATHS struct paths p = {.home = find_home()};
    if (!open_state(&p.state, p.home, err) || !open_runtime(&p.runtime, p.state, err))
        return false;
    if (!p.home) /* everything that is ours then lies in the state folder */
        p.home = xstrdup(p.state);
    p.db = fs_join(p.state, "state.db");
    p.lock = fs_join(p.state, "lock");
    p.bases = fs_join(p.state, "bases");
    p.attempts = fs_join(p.state, "attempts");
    p.control = fs_join(p.runtime, "ctl");
    p.user_config = find_user_config(p.home);
    if (!fs_mkdirs(p.bases, 0700, err) || !fs_mkdirs(p.attempts, 0700, err))
        return false;
    fs_scatter(p.attempts); /* many come and go */
    *ret = p;
    p = (struct paths){0};
    return true;
}

void paths_done(struct paths *p)
{
    free(p->state);
    free(p->db);
    free(p->lock);
    free(p->bases);
    free(p->attempts);
    free(p->runtime);
    free(p->control);
    free(p->user_config);
    free(p->home);
    *p = (struct paths){0};
}

char *paths_attempt(const struct paths *p, const char *id)
{
    return fs_join(p->attempts, id);
}

char *paths_attempt_file(const struct paths *p, const char *id, const char *name)
{
    return xasprintf("%s/%s/%s", p->attempts, id, name);
}

char *paths_keeper_socket(const struct paths *p, const char *id)
{
    return xasprintf("%s/k%s", p->runtime, id);
}

char *paths_gate_socket(const struct paths *p, const char *id)
{
    return xasprintf("%s/g%s", p->runtime, id);
}

char *paths_program(const char *name, struct err *err)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len < 0)
        return err_sys(err, errno, "cannot read /proc/self/exe"), NULL;
    self[len] = '\0';
    AUTO_FREE char *folder = fs_dirname(self);
    AUTO_FREE char *beside = fs_join(folder, name);
    if (access(beside, X_OK) == 0)
        return steal_ptr(&beside);
    AUTO_FREE char *prefix = fs_dirname(folder);
    AUTO_FREE char *installed = xasprintf("%s/libexec/headgate/%s", prefix, name);
    if (access(installed, X_OK) == 0)
        return steal_ptr(&installed);
    err_set(err, ERR_INTERNAL,
            "the program %s is neither in %s nor in %s/libexec/headgate; "
            "the installation is not complete",
            name, folder, prefix);
    return NULL;
}
