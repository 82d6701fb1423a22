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

/* Whether the first part of a name is there; asked once for names that share it. */
static bool may_exist(const char *host, const char *folder, const char *name, const char **asked)
{
    size_t len = strcspn(name, "/");
    if (!host || (*asked && strncmp(*asked, name, len + 1) == 0))
        return true;
    AUTO_FREE char *part = xstrndup(name, len);
    AUTO_FREE char *path = xasprintf("%s%s%s/%s", host, *folder ? "/" : "", folder, part);
    if (!fs_exists(path))
        return false;
    *asked = name;
    return true;
}

static void keep(struct box_spec *spec, const char *tree, const char *host, const char *folder,
                 const struct strv *lifted)
{
    const char *asked = NULL;
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        if (!may_exist(host, folder, settings[i], &asked))
            continue;
        AUTO_FREE char *path =
            xasprintf("%s%s%s/%s", tree, *folder ? "/" : "", folder, settings[i]);
        if (!is_lifted(path, tree, lifted))
            strv_push(&spec->frozen, path);
    }
}

void profile_keep_settings(struct box_spec *spec, const char *tree, const char *host,
                           const char *subdir, const struct strv *lifted)
{
    keep(spec, tree, host, "", lifted);
    for (const char *end = subdir; *end; end += *end == '/') {
        end = strchrnul(end, '/');
        AUTO_FREE char *folder = xstrndup(subdir, (size_t)(end - subdir));
        keep(spec, tree, host, folder, lifted);
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
