/*
 * profile_settings: what of a folder of work is read-only in it, though the folder is writable.
 *
 * Agents read settings of the project that name hooks, permissions, servers and plugins: those
 * decide what reaches the gate. Editors of this host run what the project's settings say as soon as
 * the folder is opened. A file that is there stays as it is; one that is not gets no stand-in,
 * which git would see: what an agent then writes there counts for nothing at the gate (the adapters
 * see to that) and is on the review list. Hooks that tools write at every installation (.husky) are
 * on the review list alone.
 */
#include <string.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "sandbox/present.h"
#include "sandbox/profile.h"

/* Files and whole folders. */
/* clang-format off */
static const char *const settings[] = {
    /* agents: hooks, permissions, servers that are started, plugins */
    ".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks",
    ".codex/config.toml", ".codex/hooks.json", ".codex/hooks", ".codex/rules",
    ".opencode/plugin", ".opencode/plugins", ".opencode/opencode.json", ".opencode/opencode.jsonc",
    "opencode.json", "opencode.jsonc", ".gemini/settings.json", ".gemini/extensions",
    ".gemini/policies", ".gemini/hooks", ".qwen/settings.json", ".qwen/extensions", ".qwen/hooks",
    ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks", ".cursor/cli.json", ".github/hooks",
    ".headgate",
    /* editors and shells */
    ".vscode", ".idea", ".zed", ".exrc", ".nvimrc", ".nvim.lua", ".vimrc", ".dir-locals.el",
    ".envrc", ".gdbinit",
};
/* clang-format on */

static bool is_at_or_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || !path[len]);
}

static bool overlap(const char *a, const char *b)
{
    return is_at_or_below(a, b) || is_at_or_below(b, a);
}

/* What names the whole tree, or more, says nothing about its settings. */
static bool is_lifted(const char *path, const char *tree, const struct strv *lifted)
{
    for (size_t i = 0; i < lifted->n; i++)
        if (overlap(path, lifted->v[i]) && !is_at_or_below(tree, lifted->v[i]))
            return true;
    return false;
}

struct keep {
    struct box_spec *spec;
    const char *tree, *folder; /* folder in the tree, "" */
    const struct strv *lifted;
};

static void keep(const char *name, void *arg)
{
    const struct keep *k = arg;
    AUTO_FREE char *path = xasprintf("%s%s%s/%s", k->tree, *k->folder ? "/" : "", k->folder, name);
    if (!is_lifted(path, k->tree, k->lifted))
        strv_push(&k->spec->frozen, path);
}

static void keep_all(struct keep *k, const char *host)
{
    if (host) {
        AUTO_FREE char *folder = fs_join(host, k->folder);
        present_each(folder, settings, ARRAY_LEN(settings), keep, k);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        keep(settings[i], k);
}

void profile_keep_settings(struct box_spec *spec, const char *tree, const char *host,
                           const char *subdir, const struct strv *lifted)
{
    struct keep k = {spec, tree, "", lifted};
    keep_all(&k, host);
    for (const char *end = subdir; *end; end += *end == '/') {
        end = strchrnul(end, '/');
        AUTO_FREE char *folder = xstrndup(subdir, (size_t)(end - subdir));
        k.folder = folder;
        keep_all(&k, host);
    }
}

void profile_keep_shown(struct box_spec *spec, size_t first)
{
    AUTO_STRV struct strv writable = STRV_INIT;
    size_t n = spec->n_binds;
    for (size_t i = first; i < n; i++)
        if (spec->binds[i].flags & BOX_BIND_WRITE)
            strv_push(&writable, spec->binds[i].inside);
    for (size_t i = first; i < n; i++) {
        const struct box_bind *bind = &spec->binds[i];
        if (!(bind->flags & BOX_BIND_WRITE))
            continue;
        AUTO_FREE char *git = fs_join(bind->host, ".git");
        AUTO_FREE char *inside = fs_join(bind->inside, ".git");
        if (fs_exists(git) && !strv_has(&writable, inside))
            strv_push(&spec->frozen, inside);
        profile_keep_settings(spec, bind->inside, bind->host, "", &writable);
    }
}

bool profile_is_setting(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        for (size_t i = 0; i < ARRAY_LEN(settings); i++)
            if (overlap(settings[i], part))
                return true;
    }
    return false;
}
