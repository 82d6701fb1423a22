/*
 * gitindex, second part: an index handed from the base to one worktree. Only the extensions behind
 * the entries differ (gitformat-index(5)): each is 4 bytes of name, 4 of size, and its content.
 */
#include "worktree/gitindex.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runner/base/fs.h"
#include "runner/base/mem.h"
#include "worktree/gitindex_parts.h"

enum { NAME_BYTES = 4, FSMN_VERSION = 2, NOTE_BYTES = 200 };

static void add_word(struct buf *out, size_t value)
{
    uint32_t word = htonl((uint32_t)value);
    buf_add(out, &word, sizeof(word));
}

/* git's number of variable length, for what fits in two bytes; the first has 1 taken off. */
static void add_varint(struct buf *out, size_t value)
{
    if (value >= 128)
        buf_addch(out, (char)(128 | (((value >> 7) - 1) & 127)));
    buf_addch(out, (char)(value & 127));
}

/* No entry is marked: the bitmap of what may have changed is empty, which is one word without a
 * bit. */
static void add_known(struct buf *out, const char *token)
{
    enum { BITMAP_BYTES = 20 };
    size_t len = strlen(token) + 1;
    buf_add(out, "FSMN", NAME_BYTES);
    add_word(out, 4 + len + 4 + BITMAP_BYTES);
    add_word(out, FSMN_VERSION);
    buf_add(out, token, len);
    add_word(out, BITMAP_BYTES);
    add_word(out, 0);
    add_word(out, 1);
    buf_add(out, "\0\0\0\0\0\0\0\0", 8);
    add_word(out, 0);
}

/* What is known of untracked files begins with whose it is; git believes none of another place. */
static void add_untracked(struct buf *out, const char *content, size_t size, const char *tree)
{
    AUTO_BUF struct buf ident = BUF_INIT;
    const unsigned char *p = (const unsigned char *)content;
    size_t head = size > 0 && *p & 128 ? 2 : 1;
    if (size < head || (head == 2 && p[1] & 128))
        return;
    size_t old = head == 2 ? (((size_t)(*p & 127) + 1) << 7) + p[1] : *p;
    buf_addf(&ident, "Location %s, system Linux", tree);
    buf_addch(&ident, '\0');
    if (old > size - head || ident.len >> 14)
        return;
    AUTO_BUF struct buf own = BUF_INIT;
    add_varint(&own, ident.len);
    buf_add(&own, ident.ptr, ident.len);
    buf_add(&own, content + head + old, size - head - old);
    buf_add(out, "UNTR", NAME_BYTES);
    add_word(out, own.len);
    buf_add(out, own.ptr, own.len);
}

/* Those that say where others begin are left out; git needs none of them. */
static bool add_extensions(struct buf *out, struct indexfile *f, const char *tree, struct err *err)
{
    struct indexfile_extension e;
    while (indexfile_extension(&e, f)) {
        if (memcmp(e.name, "UNTR", NAME_BYTES) == 0)
            add_untracked(out, e.content, e.size, tree);
        else if (memcmp(e.name, "EOIE", NAME_BYTES) != 0 &&
                 memcmp(e.name, "IEOT", NAME_BYTES) != 0 && memcmp(e.name, "FSMN", NAME_BYTES) != 0)
            buf_add(out, e.name, (size_t)(e.content - e.name) + e.size);
    }
    return indexfile_is_done(f) ||
           err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
}

/* ---- the digest, begun once for all that are given the same entries ---- */

struct note {
    size_t entries_end;
    size_t begun_bytes; /* whole blocks before that */
    struct gitindex_digest begun;
};

static char *note_path(const char *index_file)
{
    return xasprintf("%s.digest", index_file);
}

static size_t whole_blocks(size_t len)
{
    return len / SHA1_BLOCK_LENGTH * SHA1_BLOCK_LENGTH;
}

bool gitindex_note_digest(const char *index_file, const char *object_format, struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT, text = BUF_INIT;
    AUTO_FREE char *path = note_path(index_file);
    struct indexfile f;
    SHA1_CTX ctx;
    if (!gitindex_load(&index, &f, index_file, object_format, err) ||
        !gitindex_skip_entries(&f, err))
        return false;
    if (f.digest_len != SHA1_DIGEST_LENGTH)
        return true;
    SHA1Init(&ctx);
    SHA1Update(&ctx, (const uint8_t *)index.ptr, whole_blocks(f.at));
    buf_addf(&text, "%zu", f.at);
    for (size_t i = 0; i < ARRAY_LEN(ctx.state); i++)
        buf_addf(&text, " %" PRIu32, ctx.state[i]);
    return fs_write_plain(AT_FDCWD, path, text.ptr, text.len, 0600, err);
}

/* False: there is none that fits, as for a base that an older Headgate made; then nothing has
 * begun.
 */
static bool read_note(struct note *ret, const char *index_file, const struct indexfile *f)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = note_path(index_file);
    struct err absent = ERR_INIT;
    struct gitindex_digest begun;
    uint32_t *s = begun.ctx.sha1.state;
    size_t end = 0;
    gitindex_digest_begin(&ret->begun, f->digest_len);
    ret->begun_bytes = 0;
    gitindex_digest_begin(&begun, SHA1_DIGEST_LENGTH);
    if (f->digest_len != SHA1_DIGEST_LENGTH ||
        !fs_read_file(&text, AT_FDCWD, path, NOTE_BYTES, &absent) ||
        sscanf(text.ptr, "%zu %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &end,
               &s[0], &s[1], &s[2], &s[3], &s[4]) != 6 ||
        end < f->at || end > f->end)
        return false;
    *ret = (struct note){.entries_end = end, .begun_bytes = whole_blocks(end), .begun = begun};
    ret->begun.ctx.sha1.count = (uint64_t)ret->begun_bytes * 8;
    return true;
}

/* The file in memory; the base holds it as long. */
struct mapping {
    void *ptr;
    size_t len; /* 0: none */
};

static void mapping_release(struct mapping *m)
{
    if (m->len > 0)
        munmap(m->ptr, m->len);
}

static bool map_file(struct mapping *ret, const char *path, struct err *err)
{
    struct stat st;
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, errno, "cannot read %s", path);
    if (st.st_size == 0)
        return err_set(err, ERR_INTERNAL, "%s is empty", path);
    void *ptr = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (ptr == MAP_FAILED)
        return err_sys(err, errno, "cannot map %s", path);
    *ret = (struct mapping){.ptr = ptr, .len = (size_t)st.st_size};
    return true;
}

/* The entries straight from the mapping: they are copied once, by the kernel. */
static bool write_parts(const char *to, const struct mapping *from, size_t entries_end,
                        const struct buf *rest, struct err *err)
{
    AUTO_FD int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "cannot create %s", to);
    return (fs_write_fd(fd, from->ptr, entries_end, err) &&
            fs_write_fd(fd, rest->ptr, rest->len, err)) ||
           err_prefix(err, "cannot write %s", to);
}

/* What is left of the digest: the entries' last part, and what follows them. */
static void add_digest(struct buf *rest, struct note *note, const struct mapping *from,
                       size_t entries_end)
{
    char sum[SHA256_DIGEST_LENGTH];
    gitindex_digest_add(&note->begun, (const char *)from->ptr + note->begun_bytes,
                        entries_end - note->begun_bytes);
    gitindex_digest_add(&note->begun, rest->ptr, rest->len);
    gitindex_digest_end(&note->begun, sum);
    buf_add(rest, sum, note->begun.len);
}

bool gitindex_give(const char *to, const char *from, const struct gitindex_gift *gift,
                   struct err *err)
{
    __attribute__((cleanup(mapping_release))) struct mapping map = {.len = 0};
    AUTO_BUF struct buf rest = BUF_INIT;
    struct indexfile f;
    struct note note;
    if (!map_file(&map, from, err) ||
        !gitindex_begin(&f, map.ptr, map.len, gift->object_format, err))
        return false;
    if (read_note(&note, from, &f)) {
        f.at = note.entries_end;
        f.left = 0;
    } else if (!gitindex_skip_entries(&f, err)) {
        return false;
    }
    size_t entries_end = f.at;
    if (!add_extensions(&rest, &f, gift->tree, err))
        return false;
    add_known(&rest, gift->token);
    add_digest(&rest, &note, &map, entries_end);
    return write_parts(to, &map, entries_end, &rest, err);
}
