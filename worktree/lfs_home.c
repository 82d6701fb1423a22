/*
 * lfs, second part: objects that an agent added. Their folder is the agent's to write: nothing in
 * it is followed, and an object counts only when its content has the digest that its name claims.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/lfs.h"

enum { OBJECTS_MAX = 20000, OID_DIGITS = 64, CHUNK_BYTES = 64 * 1024 };

struct homecoming {
    int from; /* the agent's folder of objects */
    char *store;
    int n;
};

static bool is_hex(const char *name, size_t len)
{
    return strlen(name) == len && strspn(name, "0123456789abcdef") == len;
}

/* Copy while digesting; *ret_ok: the content is what it should be. */
static bool copy_checked(int from, int to, const char *oid, bool *ret_ok, struct err *err)
{
    static const char hex[] = "0123456789abcdef";
    AUTO_FREE char *chunk = xmalloc(CHUNK_BYTES);
    uint8_t digest[SHA256_DIGEST_LENGTH];
    char text[2 * SHA256_DIGEST_LENGTH + 1] = "";
    SHA2_CTX ctx;
    SHA256Init(&ctx);
    for (;;) {
        ssize_t got = read(from, chunk, CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "cannot read an LFS object");
        if (got == 0)
            break;
        SHA256Update(&ctx, (const uint8_t *)chunk, (size_t)got);
        if (!fs_write_fd(to, chunk, (size_t)got, err))
            return false;
    }
    SHA256Final(digest, &ctx);
    for (size_t i = 0; i < sizeof(digest); i++) {
        text[2 * i] = hex[digest[i] >> 4];
        text[2 * i + 1] = hex[digest[i] & 15];
    }
    *ret_ok = strcmp(text, oid) == 0;
    return true;
}

static bool bring_one(struct homecoming *h, const char *path, const char *oid, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct stat st;
    AUTO_FREE char *folder = xasprintf("%s/%.2s/%.2s", h->store, oid, oid + 2);
    AUTO_FREE char *to = fs_join(folder, oid);
    if (fs_exists(to))
        return true;
    AUTO_FD int from = fs_open_beneath(h->from, path, O_RDONLY | O_NONBLOCK, 0, &ignored);
    if (from < 0 || fstat(from, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    if (++h->n > OBJECTS_MAX)
        return err_set(err, ERR_LIMIT, "the attempt has more than %d new LFS objects", OBJECTS_MAX);
    AUTO_FREE char *unfinished = xasprintf("%s.headgate-%d", to, (int)getpid());
    if (!fs_mkdirs(folder, 0755, err))
        return false;
    AUTO_FD int out = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444);
    if (out < 0)
        return err_sys(err, errno, "cannot create %s", unfinished);
    bool is_sound = false;
    bool ok = copy_checked(from, out, oid, &is_sound, err);
    if (ok && is_sound && rename(unfinished, to) != 0)
        ok = err_sys(err, errno, "cannot name %s", to);
    if (!ok || !is_sound)
        unlink(unfinished);
    return ok;
}

/* Go down two folders of two digits each to the objects. */
static bool walk(struct homecoming *h, const char *below, int depth, struct err *err)
{
    struct err ignored = ERR_INIT;
    int fd = fs_open_beneath(h->from, *below ? below : ".", O_RDONLY | O_DIRECTORY, 0, &ignored);
    AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        AUTO_FREE char *path = *below ? fs_join(below, e->d_name) : xstrdup(e->d_name);
        if (depth < 2 && is_hex(e->d_name, 2) && !walk(h, path, depth + 1, err))
            return false;
        if (depth == 2 && is_hex(e->d_name, OID_DIGITS) && !bring_one(h, path, e->d_name, err))
            return false;
    }
    return true;
}

bool lfs_bring_home(int from, const char *common_dir, struct err *err)
{
    AUTO_GITCFG struct gitcfg cfg = GITCFG_INIT;
    if (from < 0)
        return true;
    if (!gitcfg_load(&cfg, common_dir, err))
        return false;
    AUTO_FREE char *store = lfs_store(&cfg, common_dir);
    struct homecoming h = {.from = from, .store = store};
    return walk(&h, "", 0, err);
}
