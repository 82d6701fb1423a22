#include "runner/agents/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *program_find(const char *program, const struct strv *env)
{
    if (strchr(program, '/'))
        return is_program(program) ? xstrdup(program) : NULL;
    const char *path = strv_env_get(env, "PATH");
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, path ? path : "/usr/local/bin:/usr/bin:/bin", ':', false);
    for (size_t i = 0; i < folders.n; i++) {
        AUTO_FREE char *candidate = fs_join(folders.v[i], program);
        if (candidate[0] == '/' && is_program(candidate))
            return steal_ptr(&candidate);
    }
    return NULL;
}

bool program_is_native(const char *path)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char magic[4];
    return fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
           memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* System folders are in every box already. */
static bool is_system_path(const char *path)
{
    static const char *const roots[] = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/"};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (strncmp(path, roots[i], strlen(roots[i])) == 0)
            return true;
    return false;
}

/* The folder of the Node package that a script belongs to: beside it or up to two above. A home is
 * never one, whatever lies in it. Allocated, NULL: none. */
static char *package_of(const char *script, const char *home)
{
    enum { LEVELS = 3 };
    AUTO_FREE char *folder = fs_dirname(script);
    for (int i = 0; i < LEVELS && strcmp(folder, "/") != 0 && (!home || strcmp(folder, home) != 0);
         i++) {
        AUTO_FREE char *manifest = fs_join(folder, "package.json");
        if (fs_exists(manifest))
            return steal_ptr(&folder);
        char *above = fs_dirname(folder);
        free(folder);
        folder = above;
    }
    return NULL;
}

char *program_show(struct box_spec *spec, const char *path, struct err *err)
{
    AUTO_FREE char *real = fs_realpath(path, err);
    if (!real)
        return NULL;
    if (is_system_path(real))
        return steal_ptr(&real);
    AUTO_FREE char *package = program_is_native(real) ? NULL : package_of(real, spec->home_inside);
    const char *shown = package ? package : real;
    box_spec_bind(spec, shown, shown, 0);
    return steal_ptr(&real);
}

char *program_show_driver(struct box_spec *spec, const char *hook_inside, struct err *err)
{
    static const char name[] = "headgate-drive";
    AUTO_FREE char *host = paths_program(name, err);
    if (!host)
        return NULL;
    AUTO_FREE char *folder = fs_dirname(hook_inside);
    char *inside = fs_join(folder, name);
    box_spec_bind(spec, host, inside, 0);
    return inside;
}
