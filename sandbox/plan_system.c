#include "sandbox/plan_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

enum { SMALL_FILE_BYTES = 16 * 1024 };

/* Shown read-only where the host has them, links as links (merged /usr). */
static const char *const system_folders[] = {"/usr",   "/bin",    "/sbin", "/lib", "/lib32",
                                             "/lib64", "/libx32", "/opt",  "/nix", "/gnu"};

/* More that programs read, below folders that are otherwise absent. */
static const char *const system_parts[] = {
    "/sys/devices/system", /* processors and memory: lscpu, Go, Java */
    "/var/lib/ca-certificates",
    "/var/cache/fontconfig",
};

/*
 * What of /etc is shown; a final * stands for anything. Everything else stays away: shadow, ssh
 * host keys, sudoers, private keys of the host's own services, gitconfig (credential helpers),
 * npmrc and pip.conf (tokens), resolv.conf (there is no network). passwd, group, hosts and hostname
 * are the box's own (plan_account.c).
 */
/* clang-format off */
static const char *const etc_shown[] = {
    "alternatives", "ant*", "bash.bashrc", "chromium*", "crypto-policies", "debian_version", "dictionaries-common",
    "dpkg", "fonts", "ghc*", "gitattributes", "gnutls", "gradle", "inputrc", "java*", "ld.so.*",
    "locale.alias", "locale.conf", "localtime", "lsb-release", "mailcap", "maven*", "mime.types",
    "mono", "nsswitch.conf", "ocaml*", "os-release", "perl", "php*", "pkcs11", "pki", "profile*",
    "protocols", "python*", "redhat-release", "services", "sgml", "shells", "ssl", "system-release",
    "terminfo", "texmf", "timezone", "xdg", "xml", "zsh*",
};
/* clang-format on */

/* Below /etc/ssl and /etc/pki lie private keys too; they are covered. */
static const char *const etc_masked[] = {"/etc/ssl/private", "/etc/pki/tls/private",
                                         "/etc/opt/private"};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};

static const struct {
    const char *path, *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"}, {"/dev/stderr", "/proc/self/fd/2"},
    {"/etc/mtab", "/proc/self/mounts"}, {"/var/run", "/run"},
};

/* Empty of themselves: enough for the places of what is bound there. */
static const char hidden_options[] = "mode=0755,size=1m";

static bool has(const struct box_spec *spec, enum layer_id id)
{
    return (spec->without & (1U << id)) == 0;
}

/* A mount point is opened without following links, so the box's own links must not lie on the way
 * to one. */
static bool is_on_the_way(const struct box_spec *spec, const char *path)
{
    if (fs_is_at_or_below(spec->home_inside, path) || fs_is_at_or_below(spec->overlay.inside, path))
        return true;
    for (size_t i = 0; i < spec->n_binds; i++)
        if (fs_is_at_or_below(spec->binds[i].inside, path))
            return true;
    return false;
}

/* A folder or file as it is; a link as a link, or, where it lies on the way to something else that
 * is shown, as what it leads to. Absent: passed over. */
static void show(struct buf *plan, const struct box_spec *spec, const char *path)
{
    struct stat st;
    char target[PATH_MAX];
    if (lstat(path, &st) != 0)
        return;
    if (!S_ISLNK(st.st_mode)) {
        plan_add(plan, PLAN_TREE, PLAN_OWN | (S_ISDIR(st.st_mode) ? 0U : PLAN_PLAIN), path, path,
                 NULL);
        return;
    }
    if (is_on_the_way(spec, path)) {
        plan_add(plan, PLAN_TREE, 0, path, path, NULL);
        return;
    }
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0)
        return;
    target[len] = '\0';
    plan_add(plan, PLAN_LINK, 0, path, target, NULL);
}

static bool is_shown(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(etc_shown); i++) {
        const char *pattern = etc_shown[i];
        size_t len = strlen(pattern);
        if (pattern[len - 1] == '*' ? strncmp(pattern, name, len - 1) == 0
                                    : strcmp(pattern, name) == 0)
            return true;
    }
    return false;
}

/* A small text file goes into the plan as what it holds now: cheaper than a mount, at the start of
 * a box and at its end. */
static bool copy_small(struct buf *plan, int dirfd, const char *name, const char *path)
{
    char text[SMALL_FILE_BYTES + 1];
    AUTO_FD int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (len < 0 || len > SMALL_FILE_BYTES || memchr(text, '\0', (size_t)len))
        return false;
    text[len] = '\0';
    plan_add(plan, PLAN_FILE, 0, path, text, NULL);
    return true;
}

/* A link in /etc that leads out of what is shown (NixOS, resolvconf) is shown as what it leads to.
 */
static void show_etc_link(struct buf *plan, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0)
        return;
    target[len] = '\0';
    const char *usr = strstr(target, "usr/");
    bool leads_to_usr = usr && (usr == target + 1 || strncmp(target, "../usr/", 7) == 0);
    if (leads_to_usr || target[0] != '/')
        plan_add(plan, PLAN_LINK, 0, path, target, NULL);
    else if (access(path, R_OK) == 0)
        plan_add(plan, PLAN_TREE, 0, path, path, NULL);
}

static bool add_etc(struct buf *plan, const struct box_spec *spec, struct err *err)
{
    AUTO_DIR DIR *dir = opendir("/etc");
    if (!dir)
        return err_sys(err, errno, "cannot read /etc");
    plan_add(plan, PLAN_FOLDER, 0, "/etc", NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        char path[NAME_MAX + 8];
        if (!is_shown(entry->d_name))
            continue;
        snprintf(path, sizeof(path), "/etc/%s", entry->d_name);
        if (entry->d_type == DT_LNK)
            show_etc_link(plan, path);
        else if (entry->d_type == DT_DIR)
            plan_add(plan, PLAN_TREE, PLAN_OWN, path, path, NULL);
        else if (entry->d_type == DT_REG && !copy_small(plan, dirfd(dir), entry->d_name, path))
            plan_add(plan, PLAN_TREE, PLAN_OWN | PLAN_PLAIN, path, path, NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(etc_masked); i++)
        plan_add(plan, PLAN_MASK, 0, etc_masked[i], NULL);
    plan_add_account(plan, spec);
    return true;
}

static void add_devices(struct buf *plan, const struct box_spec *spec)
{
    plan_add(plan, PLAN_FOLDER, 0, "/dev", NULL);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/dev/%s", devices[i]);
        plan_add(plan, PLAN_TREE, PLAN_OWN | PLAN_PLAIN | PLAN_DEVICE | PLAN_WRITE | PLAN_NOEXEC,
                 path, path, NULL);
    }
    if (has(spec, LAYER_IPC)) {
        plan_add(plan, PLAN_MQUEUE, 0, "/dev/mqueue", NULL);
        plan_add(plan, PLAN_ALLOW, 0, "/dev/mqueue", NULL);
    }
    if (has(spec, LAYER_PTY)) {
        plan_add(plan, PLAN_DEVPTS, 0, "/dev/pts", NULL);
        plan_add(plan, PLAN_LINK, 0, "/dev/ptmx", "pts/ptmx", NULL);
    } else {
        plan_add(plan, PLAN_TREE, PLAN_DEVICE | PLAN_WRITE, "/dev/pts", "/dev/pts", NULL);
        plan_add(plan, PLAN_TREE, PLAN_DEVICE | PLAN_WRITE, "/dev/ptmx", "/dev/ptmx", NULL);
    }
}

void plan_add_memory_folder(struct buf *plan, const char *path, const char *mode, int64_t tmp_bytes)
{
    char options[64];
    if (tmp_bytes > 0)
        snprintf(options, sizeof(options), "mode=%s,size=%" PRId64, mode, tmp_bytes);
    else
        snprintf(options, sizeof(options), "mode=%s,size=25%%", mode);
    plan_add(plan, PLAN_TMPFS, 0, path, options, NULL);
    plan_add(plan, PLAN_ALLOW, 0, path, NULL);
}

bool plan_add_system(struct buf *plan, const struct box_spec *spec, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
        show(plan, spec, system_folders[i]);
    for (size_t i = 0; i < ARRAY_LEN(system_parts); i++)
        show(plan, spec, system_parts[i]);
    plan_add(plan, PLAN_FOLDER, 0, "/var", NULL);
    plan_add(plan, PLAN_FOLDER, 0, "/run", NULL);
    add_devices(plan, spec);
    if (has(spec, LAYER_PID))
        plan_add(plan, PLAN_PROC, 0, "/proc", NULL);
    else
        plan_add(plan, PLAN_TREE, PLAN_WRITE, "/proc", "/proc", NULL);
    if (!add_etc(plan, spec, err))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        if (!is_on_the_way(spec, links[i].path))
            plan_add(plan, PLAN_LINK, 0, links[i].path, links[i].target, NULL);
    plan_add_memory_folder(plan, "/tmp", "1777", spec->limits.tmp_bytes);
    if (is_on_the_way(spec, "/var/tmp"))
        plan_add_memory_folder(plan, "/var/tmp", "1777", spec->limits.tmp_bytes);
    else
        plan_add(plan, PLAN_LINK, 0, "/var/tmp", "/tmp", NULL);
    plan_add_memory_folder(plan, "/dev/shm", "1777", spec->limits.tmp_bytes);
    plan_add(plan, PLAN_ALLOW, PLAN_DEVICE, "/dev", NULL);
    plan_add(plan, PLAN_ALLOW, PLAN_DEVICE, "/proc", NULL);
    return true;
}

bool box_is_system_path(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
        if (fs_is_at_or_below(path, system_folders[i]))
            return true;
    return false;
}

bool plan_add_hidden(struct buf *plan, const struct box_spec *spec, struct err *err)
{
    for (size_t i = 0; i < spec->hidden.n; i++) {
        const char *path = spec->hidden.v[i];
        if (!box_is_system_path(path))
            continue;
        if (strchr(path + 1, '/') == NULL)
            return err_set(err, ERR_USAGE,
                           "%s holds programs of the system and cannot be kept out of the box",
                           path);
        plan_add(plan, PLAN_TMPFS, 0, path, hidden_options, NULL);
    }
    return true;
}
