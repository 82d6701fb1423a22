#include "worktree/gitcfg.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"

static bool find_in_path(const char *program)
{
    const char *path = getenv("PATH");
    AUTO_STRV struct strv folders = STRV_INIT;
    strv_split(&folders, path ? path : "/usr/bin:/bin", ':', false);
    for (size_t i = 0; i < folders.n; i++) {
        AUTO_FREE char *candidate = fs_join(folders.v[i], program);
        if (access(candidate, X_OK) == 0)
            return true;
    }
    return false;
}

bool gitcfg_load(struct gitcfg *ret, const char *git_dir, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT;
    struct gitrun g = {.git_dir = git_dir, .plain_config = true};
    if (!gitrun_out(&out, &g, GIT_ARGS("config", "--list", "-z"), err))
        return false;
    struct gitcfg cfg = GITCFG_INIT;
    for (const char *p = out.ptr; p < out.ptr + out.len; p += strlen(p) + 1)
        strv_push(&cfg.entries, p);
    cfg.has_lfs = find_in_path("git-lfs");
    *ret = cfg;
    return true;
}

void gitcfg_release(struct gitcfg *cfg)
{
    strv_release(&cfg->entries);
}

size_t gitcfg_key_len(const char *entry)
{
    return strcspn(entry, "\n");
}

const char *gitcfg_value(const char *entry)
{
    size_t len = gitcfg_key_len(entry);
    return entry[len] ? entry + len + 1 : "true";
}

const char *gitcfg_get(const struct gitcfg *cfg, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = cfg->entries.n; i-- > 0;) {
        const char *entry = cfg->entries.v[i];
        if (gitcfg_key_len(entry) == len && strncmp(entry, key, len) == 0)
            return gitcfg_value(entry);
    }
    return NULL;
}

bool gitcfg_bool(const struct gitcfg *cfg, const char *key, bool fallback)
{
    const char *value = gitcfg_get(cfg, key);
    if (!value)
        return fallback;
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strtol(value, NULL, 10) != 0;
}

char *gitcfg_user_file(const struct gitcfg *cfg, const char *key, const char *fallback)
{
    const char *value = gitcfg_get(cfg, key);
    const char *home = getenv("HOME");
    if (value && strncmp(value, "~/", 2) == 0)
        return home ? fs_join(home, value + 2) : NULL;
    if (value)
        return *value ? xstrdup(value) : NULL;
    const char *xdg = getenv("XDG_CONFIG_HOME");
    if (xdg && *xdg)
        return xasprintf("%s/git/%s", xdg, fallback);
    return home ? xasprintf("%s/.config/git/%s", home, fallback) : NULL;
}

/* The driver's name when the key is "filter.<name>.<variable>"; its length in *ret_len. */
static const char *filter_name(const char *entry, size_t *ret_len)
{
    static const char section[] = "filter.";
    size_t key_len = gitcfg_key_len(entry), skip = strlen(section);
    if (strncmp(entry, section, skip) != 0)
        return NULL;
    size_t end = key_len;
    while (end > skip && entry[end - 1] != '.')
        end--;
    if (end <= skip + 1)
        return NULL;
    *ret_len = end - 1 - skip;
    return entry + skip;
}

static void add_filter_off(struct strv *config, const char *name, size_t len)
{
    static const char *const settings[] = {"smudge=", "clean=", "process=", "required=false"};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        strv_pushf(config, "filter.%.*s.%s", (int)len, name, settings[i]);
}

void gitcfg_add_filters_off(struct strv *config, const struct gitcfg *cfg)
{
    AUTO_STRV struct strv done = STRV_INIT;
    for (size_t i = 0; i < cfg->entries.n; i++) {
        size_t len = 0;
        const char *name = filter_name(cfg->entries.v[i], &len);
        if (!name)
            continue;
        AUTO_FREE char *copy = xstrndup(name, len);
        if (strv_has(&done, copy))
            continue;
        strv_push(&done, copy);
        add_filter_off(config, name, len);
    }
}

void gitcfg_add_lfs_off(struct strv *config)
{
    add_filter_off(config, "lfs", strlen("lfs"));
}
