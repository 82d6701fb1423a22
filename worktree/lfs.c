#include "worktree/lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitrun.h"

enum { POINTER_MAX_BYTES = 1024, OID_DIGITS = 64 };

/* The line that starts with the key and a blank; *ret_len is the rest's length. */
static const char *line_of(const char *text, const char *key, size_t *ret_len)
{
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, len) == 0 && line[len] == ' ') {
            *ret_len = strcspn(line + len + 1, "\n");
            return line + len + 1;
        }
    return NULL;
}

bool lfs_parse_pointer(char ret_oid[65], int64_t *ret_size, const char *text, size_t len)
{
    static const char intro[] = "version https://git-lfs.github.com/spec/v1\n";
    static const char method[] = "sha256:";
    size_t oid_len, size_len;
    if (len > POINTER_MAX_BYTES || strlen(text) != len || strncmp(text, intro, strlen(intro)) != 0)
        return false;
    const char *oid = line_of(text, "oid", &oid_len);
    const char *size = line_of(text, "size", &size_len);
    if (!oid || !size || oid_len != strlen(method) + OID_DIGITS || size_len == 0 ||
        strncmp(oid, method, strlen(method)) != 0 || strspn(size, "0123456789") != size_len ||
        strspn(oid + strlen(method), "0123456789abcdef") < OID_DIGITS)
        return false;
    memcpy(ret_oid, oid + strlen(method), OID_DIGITS);
    ret_oid[OID_DIGITS] = '\0';
    *ret_size = strtoll(size, NULL, 10);
    return true;
}

char *lfs_store(const struct gitcfg *cfg, const char *common_dir)
{
    const char *named = gitcfg_get(cfg, "lfs.storage");
    if (!named || !*named)
        return fs_join(common_dir, "lfs/objects");
    AUTO_FREE char *folder = *named == '/' ? xstrdup(named) : fs_join(common_dir, named);
    return fs_join(folder, "objects");
}

/* Replace the pointer by what the store has under its name, with the pointer's mode. */
static bool fill_one(int treefd, const char *path, const char *store, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT;
    struct stat st, stored;
    char oid[65];
    int64_t size;
    struct err ignored = ERR_INIT;
    if (fstatat(treefd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size > POINTER_MAX_BYTES ||
        !fs_read_file(&text, treefd, path, POINTER_MAX_BYTES, &ignored) ||
        !lfs_parse_pointer(oid, &size, text.ptr, text.len))
        return true;
    AUTO_FREE char *object = xasprintf("%s/%.2s/%.2s/%s", store, oid, oid + 2, oid);
    if (stat(object, &stored) != 0 || !S_ISREG(stored.st_mode) || stored.st_size != size)
        return true;
    if (unlinkat(treefd, path, 0) != 0)
        return err_sys(err, errno, "cannot replace %s", path);
    if (!fs_copy_file(AT_FDCWD, object, treefd, path, err))
        return false;
    return fchmodat(treefd, path, st.st_mode & 0777, 0) == 0 ||
           err_sys(err, errno, "cannot set the mode of %s", path);
}

/* Those of the paths whose attributes name the filter, as "PATH\0filter\0VALUE\0" from git. */
static bool list_filtered(struct buf *out, const struct checkout *c, const struct buf *paths,
                          struct err *err)
{
    struct gitrun g = {
        .git_dir = c->repo->git_dir,
        .work_tree = c->tree,
        .index_file = c->index,
        .input = paths->ptr,
        .input_len = paths->len,
        .max_output_bytes = paths->len * 2 + 64 * 1024 * 1024,
    };
    return gitrun_out(out, &g, GIT_ARGS("check-attr", "-z", "--stdin", "filter"), err);
}

/* A repository without any such attribute need not ask for each of its files. */
static bool may_have_some(bool *ret, const struct checkout *c, struct err *err)
{
    AUTO_PROC_RESULT struct proc_result r = PROC_RESULT_INIT;
    struct gitrun g = {.git_dir = c->repo->git_dir};
    AUTO_FREE char *store = lfs_store(c->cfg, c->repo->common_dir);
    *ret = c->cfg->has_lfs && fs_is_dir(store);
    if (!*ret)
        return true;
    if (!gitrun(&r, &g,
                GIT_ARGS("grep", "-q", "-F", "filter=lfs", c->oid, "--", ".gitattributes",
                         "**/.gitattributes"),
                err))
        return false;
    AUTO_FREE char *info = fs_join(c->repo->common_dir, "info/attributes");
    *ret = r.status == 0 || fs_exists(info) || gitcfg_get(c->cfg, "core.attributesfile");
    return true;
}

bool lfs_fill(const struct checkout *c, const struct buf *paths, struct err *err)
{
    AUTO_BUF struct buf filtered = BUF_INIT;
    AUTO_FREE char *store = lfs_store(c->cfg, c->repo->common_dir);
    bool has_some = false;
    if (!may_have_some(&has_some, c, err))
        return false;
    if (!has_some || paths->len == 0)
        return true;
    AUTO_FD int treefd = fs_open_dir(AT_FDCWD, c->tree, err);
    if (treefd < 0 || !list_filtered(&filtered, c, paths, err))
        return false;
    const char *end = filtered.ptr + filtered.len;
    for (const char *path = filtered.ptr; path < end;) {
        const char *attribute = path + strlen(path) + 1;
        const char *value = attribute < end ? attribute + strlen(attribute) + 1 : end;
        if (value >= end)
            return err_set(err, ERR_INTERNAL, "git check-attr answered in an unknown form");
        if (strcmp(value, "lfs") == 0 && !fill_one(treefd, path, store, err))
            return false;
        path = value + strlen(value) + 1;
    }
    return true;
}
