#include "sandbox/toolchain.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"

/* A link of a link of a shim: version managers do not nest deeper. */
enum { LINK_DEPTH = 4 };

/* In every box already, or never shown. */
static const char *const system_roots[] = {"/usr", "/bin",  "/sbin", "/lib", "/opt", "/nix",
                                           "/gnu", "/proc", "/sys",  "/dev", "/etc"};

/* Folders of the home that hold more than programs: what they contain is shown, never they
 * themselves. */
static const char *const shared_parents[] = {"",   ".local", ".local/share", ".config", ".cargo",
                                             "go", ".cache", "snap",         ".dotnet"};

/* Of ~/.cargo everything but registry (writable, private) and credentials. */
static const char *const cargo_parts[] = {"bin", "config", "config.toml", "env"};

static const char *const root_variables[] = {"RUSTUP_HOME", "JAVA_HOME",   "GOROOT",
                                             "PYENV_ROOT",  "VIRTUAL_ENV", "NVM_BIN"};

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_system(const char *path, const char *home)
{
    /* A home that lies below a system folder is kept out of the box, with all that is in it. */
    if (home[0] == '/' && home[1] && is_below(path, home))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(system_roots); i++)
        if (is_below(path, system_roots[i]))
            return true;
    return false;
}

/* The home itself, what holds it, or a folder of it that many programs share. */
static bool is_shared(const char *path, const char *home)
{
    if (is_below(home, path))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(shared_parents); i++) {
        AUTO_FREE char *shared = fs_join(home, shared_parents[i]);
        if (strcmp(path, shared) == 0)
            return true;
    }
    return strchr(path + 1, '/') == NULL; /* a folder at the top of the host */
}

static bool is_clean(const char *path)
{
    return path[0] == '/' && path[1] && !strstr(path, "//") && !strstr(path, "/./") &&
           !strstr(path, "/../") && path[strlen(path) - 1] != '/';
}

static bool is_known(const struct toolchains *t, const char *host, const char *inside)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct toolchain_root *r = &t->root[i];
        if (!is_below(inside, r->inside) || !is_below(host, r->host))
            continue;
        if (strcmp(inside + strlen(r->inside), host + strlen(r->host)) == 0)
            return true;
    }
    return false;
}

static void add(struct toolchains *t, const char *host, const char *inside, const char *home)
{
    if (t->n >= TOOLCHAIN_ROOTS_MAX || !is_clean(inside) || is_known(t, host, inside) ||
        is_system(inside, home))
        return;
    t->root = xreallocarray(t->root, t->n + 1, sizeof(*t->root));
    t->root[t->n++] = (struct toolchain_root){xstrdup(host), xstrdup(inside)};
}

/* `~/.NAME/bin` says little of what else is in ~/.NAME: many a tool keeps its tokens, sockets and
 * settings there. What these keep is known, and their programs need it. */
static const char *const whole_folders[] = {
    ".asdf",      ".bun", ".deno",     ".ghcup",  ".goenv",  ".jenv",  ".juliaup",
    ".linuxbrew", ".n",   ".nodebrew", ".nodenv", ".phpenv", ".plenv", ".pyenv",
    ".rbenv",     ".rvm", ".rustup",   ".sdkman", ".tfenv",  ".venv",  ".volta",
};

static bool may_hold_secrets(const char *folder, const char *home)
{
    size_t len = strlen(home);
    const char *name = folder + len + 1;
    if (!is_below(folder, home) || folder[len] != '/' || name[0] != '.' || strchr(name, '/'))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(whole_folders); i++)
        if (strcmp(name, whole_folders[i]) == 0)
            return false;
    return true;
}

/* The folder to show for a folder of programs: its parent where that is a prefix of its own.
 * Allocated. */
static char *root_of(const char *folder, const char *home)
{
    const char *name = fs_basename(folder);
    if (strcmp(name, "bin") == 0 || strcmp(name, "shims") == 0 || strcmp(name, "sbin") == 0) {
        AUTO_FREE char *parent = fs_dirname(folder);
        if (!is_shared(parent, home) && !is_system(parent, home) && !may_hold_secrets(parent, home))
            return steal_ptr(&parent);
    }
    return xstrdup(folder);
}

static void follow_links(struct toolchains *t, const char *folder, const char *home, int depth);

/* Show the root of a folder of programs, at its real path and, where a link led there, at that too.
 */
static void add_folder(struct toolchains *t, const char *folder, const char *home, int depth)
{
    struct err ignored = ERR_INIT;
    AUTO_FREE char *real = fs_realpath(folder, &ignored);
    if (!real || is_system(real, home) || is_below(home, real) || depth > LINK_DEPTH)
        return;
    AUTO_FREE char *real_root = root_of(real, home);
    size_t before = t->n;
    add(t, real_root, real_root, home);
    if (strcmp(real, folder) != 0) {
        size_t tail = strlen(real) - strlen(real_root);
        AUTO_FREE char *inside = root_of(folder, home);
        if (strlen(folder) - strlen(inside) == tail)
            add(t, real_root, inside, home);
        else
            add(t, real, folder, home);
    }
    if (t->n > before)
        follow_links(t, real, home, depth);
}

/* Each link in a folder of programs that leads out of what is shown so far adds where it leads. */
static void follow_links(struct toolchains *t, const char *folder, const char *home, int depth)
{
    AUTO_DIR DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct err ignored = ERR_INIT;
        if (entry->d_type != DT_LNK)
            continue;
        AUTO_FREE char *path = fs_join(folder, entry->d_name);
        AUTO_FREE char *real = fs_realpath(path, &ignored);
        if (!real || is_system(real, home) || is_known(t, real, real))
            continue;
        AUTO_FREE char *target_folder = fs_dirname(real);
        if (is_shared(target_folder, home))
            add(t, real, real, home);
        else
            add_folder(t, target_folder, home, depth + 1);
    }
}

static void add_path(struct toolchains *t, const char *path, const char *home)
{
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, path, ':', false);
    for (size_t i = 0; i < folders.n; i++)
        if (is_clean(folders.v[i]) && !is_system(folders.v[i], home) &&
            !is_below(home, folders.v[i]))
            add_folder(t, folders.v[i], home, 0);
}

/* rustc and cargo in ~/.cargo/bin are one program that finds the toolchains through RUSTUP_HOME. */
static void add_rust(struct toolchains *t, const char *home)
{
    AUTO_FREE char *rustup = fs_join(home, ".rustup");
    AUTO_FREE char *cargo = fs_join(home, ".cargo");
    AUTO_FREE char *programs = fs_join(cargo, "bin");
    if (!fs_is_dir(programs))
        return;
    for (size_t i = 0; i < ARRAY_LEN(cargo_parts); i++) {
        AUTO_FREE char *part = fs_join(cargo, cargo_parts[i]);
        if (fs_exists(part))
            add(t, part, part, home);
    }
    if (fs_is_dir(rustup))
        add(t, rustup, rustup, home);
}

static void add_variables(struct toolchains *t, const struct strv *env, const char *home)
{
    struct err ignored = ERR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(root_variables); i++) {
        const char *path = strv_env_get(env, root_variables[i]);
        if (!path || !is_clean(path) || is_system(path, home) || is_shared(path, home))
            continue;
        AUTO_FREE char *real = fs_realpath(path, &ignored);
        if (!real || is_system(real, home) || is_shared(real, home))
            continue;
        add(t, real, real, home);
        add(t, real, path, home);
    }
}

static int by_inside(const void *a, const void *b)
{
    const struct toolchain_root *x = a, *y = b;
    return strcmp(x->inside, y->inside);
}

void toolchains_find(struct toolchains *ret, const struct strv *env, const char *home)
{
    struct toolchains t = {.root = NULL, .n = 0};
    const char *path = strv_env_get(env, "PATH");
    add_variables(&t, env, home);
    if (path)
        add_path(&t, path, home);
    if (is_clean(home))
        add_rust(&t, home);
    if (t.n > 0)
        qsort(t.root, t.n, sizeof(*t.root), by_inside);
    *ret = t;
}

void toolchains_release(struct toolchains *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->root[i].host);
        free(t->root[i].inside);
    }
    free(t->root);
    *t = (struct toolchains){.root = NULL, .n = 0};
}
