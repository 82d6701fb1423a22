#include "worktree/gitindex.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitindex_parts.h"

enum {
    MODE_OFFSET = 24,
    BACKDATE_SECONDS = 2,
    INDEX_MAX_BYTES = 1024 * 1024 * 1024,
};

static char *put_word(char *p, uint64_t value)
{
    uint32_t word = htonl((uint32_t)value); /* git keeps the low 32 bits of each */
    memcpy(p, &word, sizeof(word));
    return p + sizeof(word);
}

static void put_stat(char *p, const struct stat *st)
{
    p = put_word(p, (uint64_t)st->st_ctim.tv_sec);
    p = put_word(p, (uint64_t)st->st_ctim.tv_nsec);
    p = put_word(p, (uint64_t)st->st_mtim.tv_sec);
    p = put_word(p, (uint64_t)st->st_mtim.tv_nsec);
    p = put_word(p, st->st_dev);
    p = put_word(p, st->st_ino);
    p += sizeof(uint32_t); /* the mode is the tree's, not the file's */
    p = put_word(p, st->st_uid);
    p = put_word(p, st->st_gid);
    put_word(p, (uint64_t)st->st_size);
}

/* when NULL: the file keeps its time. */
static bool stamp_entry(char *entry, const char *path, int treefd, const struct timespec *when,
                        struct err *err)
{
    struct stat st;
    if ((when && utimensat(treefd, path, (const struct timespec[]){*when, *when},
                           AT_SYMLINK_NOFOLLOW) != 0) ||
        fstatat(treefd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, errno, "cannot stamp a checked-out file");
    put_stat(entry, &st);
    return true;
}

void gitindex_digest_begin(struct gitindex_digest *d, size_t digest_len)
{
    d->len = digest_len;
    if (digest_len == SHA1_DIGEST_LENGTH)
        SHA1Init(&d->ctx.sha1);
    else
        SHA256Init(&d->ctx.sha256);
}

void gitindex_digest_add(struct gitindex_digest *d, const void *data, size_t len)
{
    if (d->len == SHA1_DIGEST_LENGTH)
        SHA1Update(&d->ctx.sha1, data, len);
    else
        SHA256Update(&d->ctx.sha256, data, len);
}

void gitindex_digest_end(struct gitindex_digest *d, char *to)
{
    if (d->len == SHA1_DIGEST_LENGTH)
        SHA1Final((uint8_t *)to, &d->ctx.sha1);
    else
        SHA256Final((uint8_t *)to, &d->ctx.sha256);
}

/* The last digest_len bytes become the digest of all before. */
static void put_digest(struct buf *index, size_t digest_len)
{
    struct gitindex_digest d;
    size_t end = index->len - digest_len;
    gitindex_digest_begin(&d, digest_len);
    gitindex_digest_add(&d, index->ptr, end);
    gitindex_digest_end(&d, index->ptr + end);
}

bool gitindex_begin(struct indexfile *ret, const char *ptr, size_t len, const char *object_format,
                    struct err *err)
{
    size_t digest_len =
        strcmp(object_format, "sha256") == 0 ? INDEXFILE_SHA256_BYTES : INDEXFILE_SHA1_BYTES;
    return indexfile_begin(ret, ptr, len, digest_len) ||
           err_set(err, ERR_INTERNAL, "git wrote an index in another format than asked for");
}

bool gitindex_load(struct buf *index, struct indexfile *ret, const char *index_file,
                   const char *object_format, struct err *err)
{
    return fs_read_file(index, AT_FDCWD, index_file, INDEX_MAX_BYTES, err) &&
           gitindex_begin(ret, index->ptr, index->len, object_format, err);
}

static bool is_whole(const struct indexfile *f, struct err *err)
{
    return f->left == 0 || err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
}

static bool has_stat(const char *entry)
{
    static const char none[INDEXFILE_STAT_BYTES];
    return memcmp(entry, none, MODE_OFFSET) != 0;
}

enum stamping {
    STAMP_ALL,
    STAMP_NEW,  /* entries without stat data alone */
    STAMP_KEEP, /* all, and no file is touched */
};

static bool stamp_entries(struct buf *index, struct indexfile *f, int treefd, enum stamping how,
                          struct buf *ret_paths, struct err *err)
{
    struct timespec when;
    struct indexfile_entry e;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec -= BACKDATE_SECONDS;
    while (indexfile_entry(&e, f)) {
        char *at = index->ptr + e.at;
        bool is_due = !e.is_submodule && !e.is_absent && !(how == STAMP_NEW && has_stat(at));
        if (is_due && !stamp_entry(at, e.path, treefd, how == STAMP_KEEP ? NULL : &when, err))
            return false;
        if (ret_paths)
            buf_add(ret_paths, e.path, e.path_len + 1);
    }
    return is_whole(f, err);
}

bool gitindex_skip_entries(struct indexfile *f, struct err *err)
{
    struct indexfile_entry e;
    while (indexfile_entry(&e, f)) {
    }
    return is_whole(f, err);
}

static bool list(struct buf *ret_paths, const char *index_file, const char *object_format,
                 bool submodules, struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT;
    struct indexfile f;
    struct indexfile_entry e;
    if (!gitindex_load(&index, &f, index_file, object_format, err))
        return false;
    while (indexfile_entry(&e, &f))
        if (e.is_submodule == submodules && !e.is_absent)
            buf_add(ret_paths, e.path, e.path_len + 1);
    return is_whole(&f, err);
}

bool gitindex_paths(struct buf *ret_paths, const char *index_file, const char *object_format,
                    struct err *err)
{
    return list(ret_paths, index_file, object_format, false, err);
}

bool gitindex_submodules(struct buf *ret_paths, const char *index_file, const char *object_format,
                         struct err *err)
{
    return list(ret_paths, index_file, object_format, true, err);
}

static bool stamp(const char *index_file, const char *tree, const char *object_format,
                  enum stamping how, struct buf *ret_paths, struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT;
    struct indexfile f;
    if (!gitindex_load(&index, &f, index_file, object_format, err))
        return false;
    AUTO_FD int treefd = fs_open_dir(AT_FDCWD, tree, err);
    if (treefd < 0 || !stamp_entries(&index, &f, treefd, how, ret_paths, err))
        return false;
    put_digest(&index, f.digest_len);
    return fs_write_plain(AT_FDCWD, index_file, index.ptr, index.len, 0600, err);
}

bool gitindex_stamp(const char *index_file, const char *tree, const char *object_format,
                    struct buf *ret_paths, struct err *err)
{
    return stamp(index_file, tree, object_format, STAMP_ALL, ret_paths, err);
}

bool gitindex_stamp_new(const char *index_file, const char *tree, const char *object_format,
                        struct buf *ret_paths, struct err *err)
{
    return stamp(index_file, tree, object_format, STAMP_NEW, ret_paths, err);
}

bool gitindex_restat(const char *index_file, const char *tree, const char *object_format,
                     struct err *err)
{
    return stamp(index_file, tree, object_format, STAMP_KEEP, NULL, err);
}
