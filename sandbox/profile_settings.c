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
#include <fcntl.h>
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

static void freeze(struct box_spec *spec, const char *path, const struct strv *lifted)
{
    if (!strv_has(lifted, path))
        strv_push(&spec->frozen, path);
}

/* The value of a line `path = VALUE` of a .gitmodules; NULL: another line, or it leads elsewhere.
 */
static char *submodule_path(const char *line)
{
    const char *value = line + strspn(line, " \t");
    if (strncmp(value, "path", 4) != 0)
        return NULL;
    value += 4 + strspn(value + 4, " \t");
    if (*value++ != '=')
        return NULL;
    value += strspn(value, " \t\"");
    size_t len = strcspn(value, "\"\r\n");
    while (len > 0 && strchr(" \t/", value[len - 1]))
        len--;
    AUTO_FREE char *path = xstrndup(value, len);
    bool leads_out = !len || *path == '/' || strcmp(path, "..") == 0 ||
                     strncmp(path, "../", 3) == 0 || strstr(path, "/../");
    return leads_out ? NULL : steal_ptr(&path);
}

static void keep_submodules(struct box_spec *spec, const char *host, const char *inside,
                            const struct strv *lifted, unsigned depth);

/* A `git status` in the repository above runs git in it. One that has no .git yet is kept whole,
 * since the box would make one. */
static void keep_submodule(struct box_spec *spec, const char *host, const char *inside,
                           const struct strv *lifted, unsigned depth)
{
    AUTO_FREE char *git = fs_join(host, ".git");
    AUTO_FREE char *git_inside = fs_join(inside, ".git");
    bool is_lifted_whole = strv_has(lifted, inside);
    if (fs_exists(git)) {
        freeze(spec, git_inside, lifted);
        keep_submodules(spec, host, inside, lifted, depth + 1);
    } else if (fs_exists(host) && !is_lifted_whole) {
        strv_push(&spec->frozen, inside);
    }
}

/* Those that .gitmodules names, which is kept too: the next box reads it again. */
static void keep_submodules(struct box_spec *spec, const char *host, const char *inside,
                            const struct strv *lifted, unsigned depth)
{
    enum { DEPTH = 4, LIST_BYTES = 256 << 10 };
    struct err ignored = ERR_INIT;
    AUTO_FREE char *list = fs_join(host, ".gitmodules");
    AUTO_FREE char *list_inside = fs_join(inside, ".gitmodules");
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_STRV struct strv lines = STRV_INIT;
    if (depth > DEPTH || !fs_exists(list) ||
        !fs_read_file(&text, AT_FDCWD, list, LIST_BYTES, &ignored))
        return;
    freeze(spec, list_inside, lifted);
    strv_split(&lines, text.ptr, '\n', false);
    for (size_t i = 0; i < lines.n; i++) {
        AUTO_FREE char *path = submodule_path(lines.v[i]);
        AUTO_FREE char *sub = path ? fs_join(host, path) : NULL;
        AUTO_FREE char *sub_inside = path ? fs_join(inside, path) : NULL;
        if (path)
            keep_submodule(spec, sub, sub_inside, lifted, depth);
    }
}

static void keep_repository(struct box_spec *spec, const struct box_bind *bind,
                            const struct strv *lifted)
{
    AUTO_FREE char *git = fs_join(bind->host, ".git");
    AUTO_FREE char *inside = fs_join(bind->inside, ".git");
    if (!fs_exists(git))
        return;
    freeze(spec, inside, lifted);
    keep_submodules(spec, bind->host, bind->inside, lifted, 0);
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
        keep_repository(spec, bind, &writable);
        profile_keep_settings(spec, bind->inside, bind->host, "", &writable);
    }
}

struct made {
    struct strv *out;
    const char *folder;
    const struct strv *known;
};

static void add_made(const char *name, void *arg)
{
    const struct made *m = arg;
    AUTO_FREE char *path = fs_join(m->folder, name);
    if (!strv_has(m->known, path))
        strv_push(m->out, path);
}

void profile_list_made(struct strv *out, const char *folder, const struct strv *known)
{
    static const char *const git[] = {".git"};
    struct made m = {out, folder, known};
    present_each(folder, git, ARRAY_LEN(git), add_made, &m);
    present_each(folder, settings, ARRAY_LEN(settings), add_made, &m);
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
