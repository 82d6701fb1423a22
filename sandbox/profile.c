#include "sandbox/profile.h"

#include <stdlib.h>
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/plan_parts.h"
#include "sandbox/toolchain.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define DEFAULT_TERM "xterm-256color"
#define SPARE_HOME "/home/agent"

/*
 * What passes: language, terminal, locations of toolchains, flags of builds. What does not:
 * credentials, sockets of agents and desktops, and everything whose meaning is not known here
 * (--env adds it by name).
 */
/* clang-format off */
const char *const profile_env_allowed[] = {
    "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR",
    "CLICOLOR", "CLICOLOR_FORCE", "EDITOR", "VISUAL", "PAGER", "LESS", "SHELL", "CI", "CC", "CXX", "CFLAGS",
    "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "CMAKE_*", "CCACHE_*",
    "RUSTFLAGS", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUST_BACKTRACE", "GOROOT", "GOPATH", "GOFLAGS",
    "GOPRIVATE", "GOPROXY", "CGO_*", "JAVA_HOME", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "NODE_ENV",
    "NODE_OPTIONS", "NODE_PATH", "NVM_DIR", "NVM_BIN", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH",
    "PYTHONUNBUFFERED", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "GEM_PATH", "RUBYLIB",
    "RUBYOPT", "PERL5LIB", "SOURCE_DATE_EPOCH", "DEBIAN_FRONTEND", NULL,
};
/* clang-format on */

static bool is_allowed(const char *entry)
{
    size_t name_len = strcspn(entry, "=");
    if (entry[name_len] != '=')
        return false;
    for (size_t i = 0; profile_env_allowed[i]; i++) {
        const char *name = profile_env_allowed[i];
        size_t len = strlen(name);
        if (name[len - 1] == '*' ? strncmp(entry, name, len - 1) == 0
                                 : len == name_len && memcmp(entry, name, len) == 0)
            return true;
    }
    return false;
}

void profile_env_filter(struct strv *out, const struct strv *env)
{
    for (size_t i = 0; i < env->n; i++)
        if (is_allowed(env->v[i]))
            strv_push(out, env->v[i]);
}

static bool is_plain_path(const char *path)
{
    size_t len = strlen(path);
    return len > 1 && path[0] == '/' && path[len - 1] != '/' && !strstr(path, "//") &&
           !strstr(path, "/./") && !strstr(path, "/../");
}

/* The private home appears where the person's own is, unless nothing can be mounted there. Below a
 * system folder, something can where a folder is. */
static const char *home_inside(const char *person_home, const char *real_home)
{
    static const char *const taken[] = {"/proc", "/dev", "/etc", "/sys"};
    if (!is_plain_path(person_home))
        return SPARE_HOME;
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        size_t n = strlen(taken[i]);
        if (strncmp(person_home, taken[i], n) == 0 && (!person_home[n] || person_home[n] == '/'))
            return SPARE_HOME;
    }
    bool is_below_system = box_is_system_path(person_home) && strchr(person_home + 1, '/');
    if (box_is_system_path(person_home) &&
        !(is_below_system && real_home && strcmp(person_home, real_home) == 0))
        return SPARE_HOME;
    return person_home;
}

/* Where a variable is not set, the tool's own default lies in the private home already. These are
 * the ones that tools look for beside the toolchain, which is read-only here. */
static void set_caches(struct strv *env, const char *home)
{
    static const struct {
        const char *name, *below_home;
    } caches[] = {
        {"CARGO_HOME", ".cargo"},
        {"BUN_INSTALL_CACHE_DIR", ".cache/bun"},
    };
    for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
        AUTO_FREE char *path = fs_join(home, caches[i].below_home);
        strv_env_set(env, caches[i].name, path);
    }
}

/* pnpm keeps its store beside its program, where that is in a folder of its own. npm, which is
 * given the same variable, warns of it: only then. */
static void set_pnpm_store(struct box_spec *spec)
{
    AUTO_FREE char *own = fs_join(spec->home_inside, ".local/share/pnpm");
    AUTO_FREE char *store = fs_join(spec->home_inside, ".cache/pnpm");
    for (size_t i = 0; i < spec->n_binds; i++)
        if (strcmp(spec->binds[i].inside, own) == 0)
            strv_env_set(&spec->env, "npm_config_store_dir", store);
}

static void set_environment(struct box_spec *spec, const struct strv *caller_env)
{
    AUTO_FREE char *account = plan_account_name(spec->uid);
    const char *shell = strv_env_get(caller_env, "SHELL");
    profile_env_filter(&spec->env, caller_env);
    strv_env_set(&spec->env, "HOME", spec->home_inside);
    strv_env_set(&spec->env, "USER", account);
    strv_env_set(&spec->env, "LOGNAME", account);
    strv_env_set(&spec->env, "TMPDIR", "/tmp");
    if (!shell || (strncmp(shell, "/bin/", 5) != 0 && strncmp(shell, "/usr/bin/", 9) != 0))
        strv_env_set(&spec->env, "SHELL", "/bin/sh");
    if (!strv_env_get(&spec->env, "PATH"))
        strv_env_set(&spec->env, "PATH", DEFAULT_PATH);
    if (!strv_env_get(&spec->env, "TERM"))
        strv_env_set(&spec->env, "TERM", DEFAULT_TERM);
    set_caches(&spec->env, spec->home_inside);
}

bool profile_apply(struct box_spec *spec, const struct strv *caller_env, const char *person_home,
                   const char *home_host, struct err *err)
{
    struct toolchains toolchains;
    struct err ignored = ERR_INIT;
    AUTO_FREE char *real_home =
        is_plain_path(person_home) ? fs_realpath(person_home, &ignored) : NULL;
    if (home_host && !fs_is_dir(home_host))
        return err_set(err, ERR_INTERNAL, "the private home %s does not exist", home_host);
    free(spec->home);
    free(spec->home_inside);
    spec->home = home_host ? xstrdup(home_host) : NULL;
    spec->home_inside = xstrdup(home_inside(person_home, real_home));
    if (real_home && strchr(real_home + 1, '/'))
        strv_push(&spec->hidden, real_home);
    set_environment(spec, caller_env);
    toolchains_find(&toolchains, caller_env, person_home);
    for (size_t i = 0; i < toolchains.n; i++) {
        box_spec_bind(spec, toolchains.root[i].host, toolchains.root[i].inside, 0);
        profile_mask_root(spec, &spec->binds[spec->n_binds - 1]);
    }
    toolchains_release(&toolchains);
    set_pnpm_store(spec);
    return true;
}
