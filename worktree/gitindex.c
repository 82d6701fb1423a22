#include "worktree/gitindex.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sha1.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitindex_parts.h"

/* gitformat-index(5): a header of 12 bytes; entries of 10 stat words, the object's name, 16 bits of
 * flags and the path, padded with 1 to 8 NULs to a multiple of 8; extensions; a digest of all
 * before it. */
enum {
    HEADER_BYTES = 12,
    STAT_BYTES = 40,
    FLAG_BYTES = 2, /* twice when the entry is extended */
    FLAG_EXTENDED = 0x4000,
    EXTRA_SKIP_WORKTREE = 0x4000,
    MODE_OFFSET = 24,
    BACKDATE_SECONDS = 2,
    INDEX_MAX_BYTES = 1024 * 1024 * 1024,
};

static uint32_t read_word(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return ntohl(word);
}

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

/* One entry, as a view into the index. */
struct entry {
    char *at;
    const char *path;
    size_t path_len;
    bool is_submodule;
    bool is_absent; /* left out by a sparse checkout */
};

void gitindex_put_digest(struct buf *index, size_t digest_len)
{
    char *end = index->ptr + index->len - digest_len;
    if (digest_len == SHA1_DIGEST_LENGTH) {
        SHA1_CTX ctx;
        SHA1Init(&ctx);
        SHA1Update(&ctx, (const uint8_t *)index->ptr, index->len - digest_len);
        SHA1Final((uint8_t *)end, &ctx);
    } else {
        SHA2_CTX ctx;
        SHA256Init(&ctx);
        SHA256Update(&ctx, (const uint8_t *)index->ptr, index->len - digest_len);
        SHA256Final((uint8_t *)end, &ctx);
    }
}

static unsigned read_half(const char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof(half));
    return ntohs(half);
}

/* The next entry; *at moves behind it. False when the index is cut short. */
static bool next_entry(struct entry *ret, size_t *at, const struct buf *index, size_t digest_len)
{
    size_t left = index->len - digest_len - *at, fixed = STAT_BYTES + digest_len + FLAG_BYTES;
    char *start = index->ptr + *at;
    if (left <= fixed + FLAG_BYTES)
        return false;
    bool is_extended = (read_half(start + fixed - FLAG_BYTES) & FLAG_EXTENDED) != 0;
    unsigned extra = is_extended ? read_half(start + fixed) : 0;
    fixed += is_extended ? FLAG_BYTES : 0;
    *ret = (struct entry){
        .at = start,
        .path = start + fixed,
        .path_len = strnlen(start + fixed, left - fixed),
        .is_submodule = (read_word(start + MODE_OFFSET) & 0170000) == 0160000,
        .is_absent = (extra & EXTRA_SKIP_WORKTREE) != 0,
    };
    *at += (fixed + ret->path_len + 8) / 8 * 8;
    return *at <= index->len - digest_len;
}

bool gitindex_load(struct buf *index, size_t *ret_digest_len, const char *index_file,
                   const char *object_format, struct err *err)
{
    size_t digest_len =
        strcmp(object_format, "sha256") == 0 ? SHA256_DIGEST_LENGTH : SHA1_DIGEST_LENGTH;
    if (!fs_read_file(index, AT_FDCWD, index_file, INDEX_MAX_BYTES, err))
        return false;
    if (index->len < HEADER_BYTES + digest_len || memcmp(index->ptr, "DIRC\0\0\0", 7) != 0 ||
        (index->ptr[7] != 2 && index->ptr[7] != 3))
        return err_set(err, ERR_INTERNAL, "git wrote an index in another format than asked for");
    *ret_digest_len = digest_len;
    return true;
}

static bool has_stat(const char *entry)
{
    static const char none[STAT_BYTES];
    return memcmp(entry, none, MODE_OFFSET) != 0;
}

enum stamping {
    STAMP_ALL,
    STAMP_NEW,  /* entries without stat data alone */
    STAMP_KEEP, /* all, and no file is touched */
};

static bool stamp_entries(struct buf *index, size_t digest_len, int treefd, enum stamping how,
                          struct buf *ret_paths, struct err *err)
{
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec -= BACKDATE_SECONDS;
    uint32_t n = read_word(index->ptr + 8);
    size_t at = HEADER_BYTES;
    for (uint32_t i = 0; i < n; i++) {
        struct entry e;
        if (!next_entry(&e, &at, index, digest_len))
            return err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
        bool is_due = !e.is_submodule && !e.is_absent && !(how == STAMP_NEW && has_stat(e.at));
        if (is_due && !stamp_entry(e.at, e.path, treefd, how == STAMP_KEEP ? NULL : &when, err))
            return false;
        if (ret_paths)
            buf_add(ret_paths, e.path, e.path_len + 1);
    }
    return true;
}

bool gitindex_entries_end(size_t *ret_at, const struct buf *index, size_t digest_len,
                          struct err *err)
{
    size_t at = HEADER_BYTES;
    for (uint32_t i = 0, n = read_word(index->ptr + 8); i < n; i++) {
        struct entry e;
        if (!next_entry(&e, &at, index, digest_len))
            return err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
    }
    *ret_at = at;
    return true;
}

static bool list(struct buf *ret_paths, const char *index_file, const char *object_format,
                 bool submodules, struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT;
    size_t digest_len, at = HEADER_BYTES;
    if (!gitindex_load(&index, &digest_len, index_file, object_format, err))
        return false;
    for (uint32_t i = 0, n = read_word(index.ptr + 8); i < n; i++) {
        struct entry e;
        if (!next_entry(&e, &at, &index, digest_len))
            return err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
        if (e.is_submodule == submodules && !e.is_absent)
            buf_add(ret_paths, e.path, e.path_len + 1);
    }
    return true;
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
    size_t digest_len;
    if (!gitindex_load(&index, &digest_len, index_file, object_format, err))
        return false;
    AUTO_FD int treefd = fs_open_dir(AT_FDCWD, tree, err);
    if (treefd < 0 || !stamp_entries(&index, digest_len, treefd, how, ret_paths, err))
        return false;
    gitindex_put_digest(&index, digest_len);
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
