#include "gate/hook/changes_index.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/changes.h"
#include "runner/base/fs.h"
#include "runner/base/mem.h"

/* gitformat-index(5). How long a digest is, is not in the file: the length that each entry has of
 * its own name tells. */
enum {
    HEADER_BYTES = 12,
    STAT_BYTES = 40,
    SHA1_BYTES = 20,
    SHA256_BYTES = 32,
    FLAG_BYTES = 2,
    FLAG_EXTENDED = 0x4000,
    FLAG_LENGTH = 0x0fff,
    EXTENSION_BYTES = 8,
    POINTER_BYTES = 8192,
};

struct index {
    const char *ptr;
    size_t len;
};

static uint32_t read_word(const char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof(word));
    return ntohl(word);
}

static unsigned read_half(const char *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof(half));
    return ntohs(half);
}

/* The path of the entry at *at, which moves behind it; NULL: this is no entry. */
static const char *next_path(size_t *at, const struct index *index, size_t digest_len)
{
    size_t fixed = STAT_BYTES + digest_len + FLAG_BYTES, end = index->len - digest_len;
    if (*at >= end || end - *at <= fixed + FLAG_BYTES)
        return NULL;
    unsigned flags = read_half(index->ptr + *at + fixed - FLAG_BYTES);
    fixed += flags & FLAG_EXTENDED ? FLAG_BYTES : 0;
    const char *path = index->ptr + *at + fixed;
    size_t len = strnlen(path, end - *at - fixed), told = flags & FLAG_LENGTH;
    if (len == 0 || (len < FLAG_LENGTH ? told != len : told != FLAG_LENGTH))
        return NULL;
    *at += (fixed + len + 8) / 8 * 8;
    return *at <= end ? path : NULL;
}

/* A split index has most of its entries in another file. */
static bool is_whole(size_t at, const struct index *index, size_t digest_len)
{
    size_t end = index->len - digest_len;
    while (end - at >= EXTENSION_BYTES) {
        size_t size = read_word(index->ptr + at + 4);
        if (memcmp(index->ptr + at, "link", 4) == 0 || size > end - at - EXTENSION_BYTES)
            return false;
        at += EXTENSION_BYTES + size;
    }
    return at == end;
}

static bool list_tops(struct buf *out, const struct index *index, size_t digest_len)
{
    size_t at = HEADER_BYTES, last_len = 0;
    const char *last = "";
    if (index->len < HEADER_BYTES + digest_len)
        return false;
    for (uint32_t i = 0, n = read_word(index->ptr + 8); i < n; i++) {
        const char *path = next_path(&at, index, digest_len);
        if (!path)
            return false;
        size_t len = strcspn(path, "/");
        len += path[len] == '/';
        if (len == last_len && memcmp(path, last, len) == 0) /* what is in one folder is together */
            continue;
        buf_add(out, path, len);
        buf_addch(out, '\0');
        last = path;
        last_len = len;
    }
    return is_whole(at, index, digest_len);
}

/* Allocated; what git says in its environment, else where .git of this worktree points. */
static char *index_path(struct err *err)
{
    static const char pointer[] = "gitdir: ";
    const char *named = getenv("GIT_INDEX_FILE"), *git_dir = getenv("GIT_DIR");
    AUTO_BUF struct buf text = BUF_INIT;
    if (named && *named)
        return xstrdup(named);
    if (git_dir && *git_dir)
        return fs_join(git_dir, "index");
    if (!fs_read_file(&text, AT_FDCWD, CHANGES_GITFILE, POINTER_BYTES, err))
        return NULL;
    buf_rtrim(&text);
    if (strncmp(text.ptr, pointer, strlen(pointer)) != 0) {
        err_set(err, ERR_FAILED, "%s points nowhere", CHANGES_GITFILE);
        return NULL;
    }
    return fs_join(text.ptr + strlen(pointer), "index");
}

bool changes_index_tops(struct buf *out, struct err *err)
{
    AUTO_FREE char *path = index_path(err);
    struct stat st;
    if (!path)
        return false;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < HEADER_BYTES)
        return err_sys(err, errno, "cannot read %s", path);
    struct index index = {.len = (size_t)st.st_size};
    index.ptr = mmap(NULL, index.len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (index.ptr == MAP_FAILED)
        return err_sys(err, errno, "cannot map %s", path);
    bool is_known =
        memcmp(index.ptr, "DIRC\0\0\0", 7) == 0 && (index.ptr[7] == 2 || index.ptr[7] == 3);
    size_t before = out->len;
    bool ok = is_known && list_tops(out, &index, SHA1_BYTES);
    if (is_known && !ok) {
        buf_truncate(out, before);
        ok = list_tops(out, &index, SHA256_BYTES);
    }
    munmap((void *)(uintptr_t)index.ptr, index.len);
    return ok || err_set(err, ERR_FAILED, "%s is in a format that is not known here", path);
}
