#include "worktree/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/clock.h"
#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/harvest_box.h"

enum { KEEP_BYTES = 256, STALE_MS = 60 * 60 * 1000 };

#define MARK "whole"
#define NAME "tmp_objdir-headgate-"

char *quarantine_path(const char *common_dir, const char *key)
{
    char hex[DIGEST_HEX_SIZE];
    digest_bytes(hex, key, strlen(key));
    return xasprintf("%s/objects/" NAME "%.16s", common_dir, hex);
}

bool quarantine_is_whole(const char *path)
{
    AUTO_FREE char *mark = fs_join(path, MARK);
    return fs_exists(mark);
}

void quarantine_add_env(struct strv *env, const char *path, const char *common_dir)
{
    AUTO_BUF struct buf quoted = BUF_INIT;
    AUTO_FREE char *objects = fs_join(common_dir, "objects");
    gitrun_quote_path(&quoted, objects);
    strv_pushf(env, "GIT_OBJECT_DIRECTORY=%s", path);
    strv_pushf(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s", quoted.ptr);
}

bool quarantine_fill(const char *path, const struct wt_attempt *a, int pack_fd,
                     const struct buf *tips, struct err *err)
{
    AUTO_BUF struct buf ignored = BUF_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_FREE char *limit = xasprintf("--max-input-size=%" PRId64, HARVEST_MAX_PACK_BYTES);
    AUTO_FREE char *packs = fs_join(path, "pack");
    quarantine_add_env(&env, path, a->repo);
    struct gitrun g = {
        .git_dir = a->repo,
        .env = &env,
        .input_fd = pack_fd,
        .timeout_ms = HARVEST_TIMEOUT_MS,
        .max_data_bytes = HARVEST_MAX_DATA_BYTES,
    };
    AUTO_FREE char *keep = xasprintf("--keep=%s", strrchr(path, '/') + 1);
    const char *const *index =
        GIT_ARGS("index-pack", "--threads=2", "--strict", "--stdin", "--fix-thin", keep, limit);
    if (!quarantine_make(path, err) || !fs_mkdirs(packs, 0755, err) || !wt_fault(err))
        return false;
    if (!gitrun_out(&ignored, &g, index, err))
        return err_prefix(err, "what attempt %s sent is not sound", a->id);
    g.input_fd = 0;
    g.input = tips->ptr;
    g.input_len = tips->len;
    /* Not --all: that reads the HEAD of every worktree, and a person may just remove one. */
    const char *const *check =
        GIT_ARGS("rev-list", "--objects", "--stdin", "--not", "--glob=refs/*", "--quiet");
    return gitrun_out(&ignored, &g, check, err) ||
           err_prefix(err, "what attempt %s sent is not whole", a->id);
}

/* By whom, for quarantine_let_go. */
static bool mark_kept(const char *path, const char *hash, struct err *err)
{
    AUTO_FREE char *keep = xasprintf("%s/pack/pack-%s.keep", path, hash);
    AUTO_FREE char *text = xasprintf("%s\n", strrchr(path, '/') + 1);
    return fs_write_plain(AT_FDCWD, keep, text, strlen(text), 0444, err);
}

bool quarantine_seal(const char *path, const char *common_dir, const struct buf *revs,
                     struct err *err)
{
    AUTO_BUF struct buf hash = BUF_INIT;
    AUTO_STRV struct strv env = STRV_INIT;
    AUTO_FREE char *packs = fs_join(path, "pack");
    AUTO_FREE char *name = fs_join(packs, "pack");
    quarantine_add_env(&env, path, common_dir);
    struct gitrun g = {
        .git_dir = common_dir,
        .env = &env,
        .input = revs->ptr,
        .input_len = revs->len,
    };
    return fs_mkdirs(packs, 0755, err) &&
           gitrun_line(&hash, &g,
                       GIT_ARGS("pack-objects", "-q", "--revs", "--non-empty", "--threads=2", name),
                       err) &&
           (hash.len == 0 || mark_kept(path, hash.ptr, err));
}

static bool move_file(int from, int to, const char *name, struct err *err)
{
    if (renameat2(from, name, to, name, RENAME_NOREPLACE) == 0 || errno == ENOENT)
        return true;
    if (errno == EEXIST) /* the same name is the same content; it goes with the quarantine */
        return true;
    return err_sys(err, errno, "cannot move the object file %s", name);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

bool quarantine_migrate(const char *path, const char *common_dir, struct err *err)
{
    /* The index comes last, since it makes a pack visible. */
    static const char *const suffixes[] = {".keep", ".pack", ".rev", ".idx"};
    AUTO_FREE char *packs = fs_join(common_dir, "objects/pack");
    AUTO_FREE char *own = fs_join(path, "pack");
    if (!fs_mkdirs(packs, 0777, err))
        return false;
    AUTO_FD int from = fs_open_dir(AT_FDCWD, own, err);
    AUTO_FD int to = from < 0 ? -1 : fs_open_dir(AT_FDCWD, packs, err);
    if (to < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        AUTO_DIR DIR *dir = fdopendir(fcntl(from, F_DUPFD_CLOEXEC, 3));
        if (!dir)
            return err_sys(err, errno, "cannot list the quarantine");
        rewinddir(dir);
        for (const struct dirent *e; (e = readdir(dir));)
            if (ends_with(e->d_name, suffixes[i]) && !move_file(from, to, e->d_name, err))
                return false;
        if (!wt_fault(err))
            return false;
    }
    return true;
}

/* Whether a mark of that text, in a folder of packs, is to go. own: NULL, then whoever made it died
 * long ago: git has since cleared their quarantine away. */
static bool is_over(int packs, const char *name, const char *text, const char *own)
{
    struct stat st;
    AUTO_FREE char *quarantine = xasprintf("../%s", text);
    if (own)
        return strcmp(text, own) == 0;
    return strncmp(text, NAME, strlen(NAME)) == 0 && !strchr(text, '/') &&
           fstatat(packs, quarantine, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
           fstatat(packs, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_unix_ms() - (int64_t)st.st_mtim.tv_sec * 1000 > STALE_MS;
}

static void let_go(const char *path, const char *own)
{
    AUTO_FREE char *objects = fs_dirname(path);
    AUTO_FREE char *folder = fs_join(objects, "pack");
    AUTO_DIR DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_BUF struct buf text = BUF_INIT;
        struct err ignored = ERR_INIT; /* somebody else's */
        if (!ends_with(e->d_name, ".keep") ||
            !fs_read_file(&text, dirfd(dir), e->d_name, KEEP_BYTES, &ignored))
            continue;
        buf_rtrim(&text);
        if (is_over(dirfd(dir), e->d_name, text.ptr, own))
            unlinkat(dirfd(dir), e->d_name, 0);
    }
}

void quarantine_let_go(const char *path)
{
    let_go(path, strrchr(path, '/') + 1);
}

bool quarantine_make(const char *path, struct err *err)
{
    AUTO_FREE char *mark = fs_join(path, MARK);
    let_go(path, NULL);
    return fs_remove_tree(AT_FDCWD, path, err) && fs_mkdirs(path, 0755, err) &&
           fs_write_plain(AT_FDCWD, mark, "", 0, 0644, err);
}
