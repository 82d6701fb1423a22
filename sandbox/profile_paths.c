/*
 * profile_paths: what a person adds to the profile, in the configuration or on the command line:
 * further paths shown, paths covered, variables passed.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/profile.h"

/* Without empty, "." and ".." components, as text: what is named may not exist. */
static char *normalise(const char *path)
{
    AUTO_STRV struct strv parts = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    size_t n = 0; /* parts that count */
    strv_split(&parts, path, '/', false);
    for (size_t i = 0; i < parts.n; i++) {
        if (strcmp(parts.v[i], "..") == 0)
            n -= n > 0;
        else if (strcmp(parts.v[i], ".") != 0) {
            char *part = parts.v[i];
            parts.v[i] = parts.v[n];
            parts.v[n++] = part;
        }
    }
    for (size_t i = 0; i < n; i++)
        buf_addf(&out, "/%s", parts.v[i]);
    return n ? buf_steal(&out) : xstrdup("/");
}

char *profile_path(const char *word, const char *home, const char *base, struct err *err)
{
    AUTO_FREE char *path = NULL;
    if (strcmp(word, "~") == 0)
        path = xstrdup(home);
    else if (strncmp(word, "~/", 2) == 0)
        path = fs_join(home, word + 2);
    else if (word[0] == '/')
        path = xstrdup(word);
    else if (word[0] && base)
        path = fs_join(base, word);
    if (!path) {
        err_set(err, ERR_USAGE, "'%s' must be an absolute path, or begin with ~/", word);
        return NULL;
    }
    return normalise(path);
}

bool profile_show(struct box_spec *spec, const struct strv *words, unsigned flags, const char *home,
                  struct err *err)
{
    for (size_t i = 0; i < words->n; i++) {
        struct err why = ERR_INIT;
        AUTO_FREE char *path = profile_path(words->v[i], home, NULL, err);
        AUTO_FREE char *real = path ? fs_realpath(path, &why) : NULL;
        if (!path)
            return false;
        bool is_absent = !real && (why.sys_errno == ENOENT || why.sys_errno == ENOTDIR);
        if (is_absent && flags & BOX_BIND_OPTIONAL)
            continue;
        if (!real) {
            *err = why;
            return false;
        }
        box_spec_bind(spec, real, real, flags);
        /* Programs look for it where it was named, which may be a link to where it is. */
        if (strcmp(real, path) != 0 && !box_is_system_path(path))
            box_spec_bind(spec, real, path, flags);
    }
    return true;
}

bool profile_cover(struct box_spec *spec, const struct strv *words, const char *home,
                   const char *base, struct err *err)
{
    for (size_t i = 0; i < words->n; i++) {
        AUTO_FREE char *path = profile_path(words->v[i], home, base, err);
        if (!path)
            return false;
        strv_push(&spec->masks, path);
    }
    return true;
}

bool profile_env_add(struct strv *env, const struct strv *all, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    AUTO_FREE char *name = xstrndup(word, strcspn(word, "="));
    const char *value = equals ? equals + 1 : strv_env_get(all, name);
    if (!*name)
        return err_set(err, ERR_USAGE, "--env needs NAME or NAME=VALUE");
    if (!value)
        return err_set(err, ERR_USAGE, "--env %s: that variable is not set here", name);
    strv_env_set(env, name, value);
    return true;
}
