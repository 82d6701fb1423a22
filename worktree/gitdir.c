#include "worktree/gitdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "runner/base/paths.h"
#include "worktree/gitrun.h"

enum {
    SMALL_FILE_BYTES = 1024 * 1024,
    HOOKS_MAX = 64,
    ALTERNATES_DEPTH = 5, /* git's own bound */
    SHALLOW_BYTES = 64 * 1024 * 1024,
};

static bool write_file(const char *dir, const char *name, const char *text, size_t len,
                       struct err *err)
{
    AUTO_FREE char *path = fs_join(dir, name);
    return fs_write_plain(AT_FDCWD, path, text, len, 0644, err);
}

/* As git reads a line of objects/info/alternates: a comment, a quoted path or a plain one.
 * Allocated or NULL. */
static char *alternate_path(const char *line)
{
    if (*line == '\0' || *line == '#')
        return NULL;
    if (*line != '"')
        return xstrdup(line);
    AUTO_BUF struct buf path = BUF_INIT;
    for (const char *p = line + 1; *p && *p != '"'; p++) {
        if (*p != '\\' || !p[1]) {
            buf_addch(&path, *p);
        } else if (p[1] >= '0' && p[1] <= '3' && p[2] && p[3]) {
            buf_addch(&path, (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0')));
            p += 3;
        } else {
            p++;
            buf_addch(&path, (char)(*p == 'n' ? '\n' : *p == 't' ? '\t' : *p));
        }
    }
    return buf_steal(&path);
}

/* Take "." and ".." out by the letter, as git does. Allocated. */
static char *normalise(const char *path)
{
    AUTO_STRV struct strv parts = STRV_INIT;
    AUTO_BUF struct buf out = BUF_INIT;
    const char *kept[256];
    size_t n = 0;
    strv_split(&parts, path, '/', false);
    for (size_t i = 0; i < parts.n; i++) {
        if (strcmp(parts.v[i], "..") == 0)
            n -= n > 0;
        else if (strcmp(parts.v[i], ".") != 0 && n < ARRAY_LEN(kept))
            kept[n++] = parts.v[i];
    }
    for (size_t i = 0; i < n; i++)
        buf_addf(&out, "/%s", kept[i]);
    return buf_steal(&out);
}

static bool add_object_dir(struct strv *dirs, const char *path, int depth, struct err *err)
{
    if (strv_has(dirs, path) || depth > ALTERNATES_DEPTH || !fs_is_dir(path))
        return true;
    strv_push(dirs, path);
    AUTO_FREE char *file = fs_join(path, "info/alternates");
    AUTO_BUF struct buf text = BUF_INIT;
    if (!fs_exists(file))
        return true;
    if (!fs_read_file(&text, AT_FDCWD, file, SMALL_FILE_BYTES, err))
        return false;
    char *rest = text.ptr;
    for (char *line; (line = strsep(&rest, "\n"));) {
        AUTO_FREE char *named = alternate_path(line);
        if (!named)
            continue;
        AUTO_FREE char *joined = *named == '/' ? xstrdup(named) : fs_join(path, named);
        AUTO_FREE char *whole = normalise(joined);
        if (!add_object_dir(dirs, whole, depth + 1, err))
            return false;
    }
    return true;
}

bool gitdir_object_dirs(struct strv *ret, const char *common_dir, struct err *err)
{
    AUTO_FREE char *objects = fs_join(common_dir, "objects");
    return add_object_dir(ret, objects, 0, err);
}

static bool write_alternates(const char *gitdir, const char *common_dir, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *objects = fs_join(common_dir, "objects");
    if (strchr(objects, '\n'))
        gitrun_quote_path(&text, objects);
    else
        buf_adds(&text, objects);
    buf_addch(&text, '\n');
    return write_file(gitdir, "objects/info/alternates", text.ptr, text.len, err);
}

/* Remote HEADs stay symbolic, so that `origin` still names a branch. */
static bool write_symref(const char *gitdir, const struct ref *ref, struct err *err)
{
    AUTO_FREE char *path = fs_join(gitdir, ref->name);
    AUTO_FREE char *folder = fs_dirname(path);
    AUTO_FREE char *text = xasprintf("ref: %s\n", ref->symref);
    return fs_mkdirs(folder, 0755, err) &&
           fs_write_plain(AT_FDCWD, path, text, strlen(text), 0644, err);
}

/* Of the same name as the attempt's own branch there may be one in a submodule; ours is it here. */
static bool is_seeded(const struct ref *ref, const char *own)
{
    static const char *const seeded[] = {"refs/heads/", "refs/tags/", "refs/remotes/"};
    for (size_t i = 0; i < ARRAY_LEN(seeded); i++)
        if (strncmp(ref->name, seeded[i], strlen(seeded[i])) == 0)
            return strcmp(ref->name, own) != 0;
    return false;
}

/* All in one file, in the order of their names; only those that move become files of their own. */
static bool write_refs(const char *gitdir, const struct gitdir_seed *seed, struct err *err)
{
    AUTO_BUF struct buf packed = BUF_INIT;
    AUTO_FREE char *own = xasprintf("refs/heads/%s", seed->branch);
    AUTO_FREE char *head = xasprintf("ref: %s\n", own);
    bool has_own = false;
    buf_adds(&packed, "# pack-refs with: sorted \n");
    for (size_t i = 0; i < seed->refs->n; i++) {
        const struct ref *ref = &seed->refs->v[i];
        if (!is_seeded(ref, own))
            continue;
        if (!has_own && strcmp(own, ref->name) < 0) {
            buf_addf(&packed, "%s %s\n", seed->base, own);
            has_own = true;
        }
        if (ref->symref && !write_symref(gitdir, ref, err))
            return false;
        if (!ref->symref)
            buf_addf(&packed, "%s %s\n", ref->oid, ref->name);
    }
    if (!has_own)
        buf_addf(&packed, "%s %s\n", seed->base, own);
    return write_file(gitdir, "packed-refs", packed.ptr, packed.len, err) &&
           write_file(gitdir, "HEAD", head, strlen(head), err);
}

/* Append a file that need not exist, ended by a newline. */
static void append_file(struct buf *out, const char *path)
{
    struct err ignored = ERR_INIT; /* absent or unreadable: to the person's git as well */
    if (path && fs_read_file(out, AT_FDCWD, path, SMALL_FILE_BYTES, &ignored) && out->len > 0 &&
        out->ptr[out->len - 1] != '\n')
        buf_addch(out, '\n');
}

static bool write_unless_empty(const char *gitdir, const char *name, const struct buf *text,
                               struct err *err)
{
    return text->len == 0 || write_file(gitdir, name, text->ptr, text->len, err);
}

static bool write_info(const char *gitdir, const struct gitdir_seed *seed, struct err *err)
{
    AUTO_BUF struct buf exclude = BUF_INIT;
    AUTO_BUF struct buf attributes = BUF_INIT;
    AUTO_BUF struct buf user_attributes = BUF_INIT;
    AUTO_FREE char *user_exclude = gitcfg_user_file(seed->cfg, "core.excludesfile", "ignore");
    AUTO_FREE char *repo_exclude = fs_join(seed->repo->common_dir, "info/exclude");
    AUTO_FREE char *user_attr = gitcfg_user_file(seed->cfg, "core.attributesfile", "attributes");
    AUTO_FREE char *repo_attr = fs_join(seed->repo->common_dir, "info/attributes");
    buf_adds(&exclude, "/" PATHS_MOVING "/\n"); /* there for moments, or left by a killed box */
    append_file(&exclude, user_exclude);
    append_file(&exclude, repo_exclude);
    append_file(&user_attributes, user_attr);
    append_file(&attributes, repo_attr);
    return write_file(gitdir, "info/exclude", exclude.ptr, exclude.len, err) &&
           write_unless_empty(gitdir, "info/attributes", &attributes, err) &&
           write_unless_empty(gitdir, "info/attributes.user", &user_attributes, err);
}

static bool is_sample(const char *name)
{
    size_t len = strlen(name), suffix = strlen(".sample");
    return len >= suffix && strcmp(name + len - suffix, ".sample") == 0;
}

/* Hooks may be symlinks that the person made: what they point to is copied. */
static bool copy_hook(const char *from_dir, const char *to_dir, const char *name, struct err *err)
{
    AUTO_FREE char *from = fs_join(from_dir, name);
    AUTO_FREE char *to = fs_join(to_dir, name);
    struct stat st;
    AUTO_BUF struct buf text = BUF_INIT;
    if (stat(from, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > SMALL_FILE_BYTES)
        return true;
    struct err unreadable = ERR_INIT;
    if (!fs_read_file(&text, AT_FDCWD, from, SMALL_FILE_BYTES, &unreadable))
        return true;
    return fs_write_plain(AT_FDCWD, to, text.ptr, text.len, st.st_mode & 0755, err);
}

static bool copy_hooks(const char *gitdir, const struct gitdir_seed *seed, struct err *err)
{
    const char *named = gitcfg_get(seed->cfg, "core.hookspath");
    size_t common_len = strlen(seed->repo->common_dir);
    AUTO_FREE char *to = fs_join(gitdir, "hooks");
    AUTO_FREE char *own = fs_join(seed->repo->common_dir, "hooks");
    const char *from = own;
    if (named && strncmp(named, seed->repo->common_dir, common_len) == 0 &&
        named[common_len] == '/')
        from = named;
    else if (named)
        return true; /* in the tree they need no copy; elsewhere they are not the repository's */
    AUTO_DIR DIR *dir = opendir(from);
    if (!dir)
        return true;
    int n = 0;
    for (const struct dirent *entry; n < HOOKS_MAX && (entry = readdir(dir));)
        if (*entry->d_name != '.' && !is_sample(entry->d_name)) {
            n++;
            if (!copy_hook(from, to, entry->d_name, err))
                return false;
        }
    return true;
}

static bool copy_shallow(const char *gitdir, const struct wt_repo *repo, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *from = fs_join(repo->common_dir, "shallow");
    if (!fs_exists(from))
        return true;
    return fs_read_file(&text, AT_FDCWD, from, SHALLOW_BYTES, err) &&
           write_file(gitdir, "shallow", text.ptr, text.len, err);
}

static bool copy_sparse(const char *gitdir, const struct gitdir_seed *seed, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *from = fs_join(seed->repo->git_dir, "info/sparse-checkout");
    if (!gitcfg_bool(seed->cfg, "core.sparsecheckout", false) || !fs_exists(from))
        return true;
    return fs_read_file(&text, AT_FDCWD, from, SMALL_FILE_BYTES, err) &&
           write_file(gitdir, "info/sparse-checkout", text.ptr, text.len, err);
}

bool gitdir_make(const char *gitdir, const struct gitdir_seed *seed, struct err *err)
{
    static const char *const folders[] = {"objects/info", "objects/pack", "refs/heads", "info",
                                          "hooks"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FREE char *folder = fs_join(gitdir, folders[i]);
        if (!fs_mkdirs(folder, 0755, err))
            return false;
    }
    AUTO_BUF struct buf config = BUF_INIT;
    AUTO_FREE char *index = fs_join(gitdir, "index");
    gitdir_config(&config, seed, gitdir);
    return write_file(gitdir, "config", config.ptr, config.len, err) &&
           write_alternates(gitdir, seed->repo->common_dir, err) && write_refs(gitdir, seed, err) &&
           write_info(gitdir, seed, err) && copy_hooks(gitdir, seed, err) &&
           copy_shallow(gitdir, seed->repo, err) && copy_sparse(gitdir, seed, err) &&
           (!seed->index || fs_copy_file(AT_FDCWD, seed->index, AT_FDCWD, index, err));
}
