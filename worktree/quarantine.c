#include "worktree/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/digest.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/fault.h"
#include "worktree/gitrun.h"
#include "worktree/harvest_box.h"

enum { KEEP_BYTES = 256 };

char *quarantine_path(const char *common_dir, const char *key)
{
    char hex[DIGEST_HEX_SIZE];
    digest_bytes(hex, key, strlen(key));
    return xasprintf("%s/objects/tmp_objdir-headgate-%.16s", common_dir, hex);
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
    if (!fs_mkdirs(packs, 0755, err) || !wt_fault(err))
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

/* Files of one folder; of packs the index comes last, since it makes a pack visible. */
static bool move_folder(int from_root, int to_root, const char *name, struct err *err)
{
    static const char *const suffixes[] = {".keep", ".pack", ".rev", ".idx"};
    bool is_pack = strcmp(name, "pack") == 0;
    if (mkdirat(to_root, name, 0777) != 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot create a folder for objects");
    AUTO_FD int from = fs_open_dir(from_root, name, err);
    AUTO_FD int to = from < 0 ? -1 : fs_open_dir(to_root, name, err);
    if (to < 0)
        return false;
    for (size_t i = 0; i < (is_pack ? ARRAY_LEN(suffixes) : 1); i++) {
        AUTO_DIR DIR *dir = fdopendir(fcntl(from, F_DUPFD_CLOEXEC, 3));
        if (!dir)
            return err_sys(err, errno, "cannot list the quarantine");
        rewinddir(dir);
        for (const struct dirent *e; (e = readdir(dir));)
            if (*e->d_name != '.' && (!is_pack || ends_with(e->d_name, suffixes[i])) &&
                !move_file(from, to, e->d_name, err))
                return false;
    }
    return true;
}

void quarantine_let_go(const char *path)
{
    AUTO_FREE char *objects = fs_dirname(path);
    AUTO_FREE char *folder = fs_join(objects, "pack");
    const char *own = strrchr(path, '/') + 1;
    AUTO_DIR DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_BUF struct buf text = BUF_INIT;
        struct err ignored = ERR_INIT; /* somebody else's */
        if (!ends_with(e->d_name, ".keep") ||
            !fs_read_file(&text, dirfd(dir), e->d_name, KEEP_BYTES, &ignored))
            continue;
        buf_rtrim(&text);
        if (strcmp(text.ptr, own) == 0)
            unlinkat(dirfd(dir), e->d_name, 0);
    }
}

bool quarantine_migrate(const char *path, const char *common_dir, struct err *err)
{
    AUTO_FREE char *objects = fs_join(common_dir, "objects");
    AUTO_FD int from = fs_open_dir(AT_FDCWD, path, err);
    AUTO_FD int to = from < 0 ? -1 : fs_open_dir(AT_FDCWD, objects, err);
    if (to < 0)
        return false;
    AUTO_DIR DIR *dir = fdopendir(fcntl(from, F_DUPFD_CLOEXEC, 3));
    if (!dir)
        return err_sys(err, errno, "cannot list the quarantine");
    for (const struct dirent *e; (e = readdir(dir));) {
        bool is_loose = strlen(e->d_name) == 2 && strspn(e->d_name, "0123456789abcdef") == 2;
        if ((is_loose || strcmp(e->d_name, "pack") == 0) &&
            (!move_folder(from, to, e->d_name, err) || !wt_fault(err)))
            return false;
    }
    return true;
}
