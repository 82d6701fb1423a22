/*
 * gitindex, second part: an index handed from the base to one worktree. Only the extensions behind
 * the entries differ (gitformat-index(5)): each is 4 bytes of name, 4 of size, and its content.
 */
#include "worktree/gitindex.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sha1.h>
#include <stdio.h>
#include <string.h>

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
    SHA1_CTX begun; /* of all whole blocks before that */
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

/* False: there is none, as of a base that an older Headgate made. */
static bool read_note(struct note *ret, const char *index_file)
{
    AUTO_BUF struct buf text = BUF_INIT;
    AUTO_FREE char *path = note_path(index_file);
    struct err absent = ERR_INIT;
    uint32_t *s = ret->begun.state;
    SHA1Init(&ret->begun);
    if (!fs_read_file(&text, AT_FDCWD, path, NOTE_BYTES, &absent) ||
        sscanf(text.ptr, "%zu %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
               &ret->entries_end, &s[0], &s[1], &s[2], &s[3], &s[4]) != 6)
        return false;
    ret->begun.count = (uint64_t)whole_blocks(ret->entries_end) * 8;
    return true;
}

static void put_digest(struct buf *index, size_t digest_len, struct note *note)
{
    if (!note) {
        gitindex_put_digest(index, digest_len);
        return;
    }
    size_t begun = whole_blocks(note->entries_end), end = index->len - digest_len;
    SHA1Update(&note->begun, (const uint8_t *)index->ptr + begun, end - begun);
    SHA1Final((uint8_t *)index->ptr + end, &note->begun);
}

bool gitindex_give(const char *to, const char *from, const struct gitindex_gift *gift,
                   struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT, out = BUF_INIT;
    struct indexfile f;
    struct note note;
    if (!gitindex_load(&index, &f, from, gift->object_format, err))
        return false;
    bool is_noted = f.digest_len == SHA1_DIGEST_LENGTH && read_note(&note, from) &&
                    note.entries_end >= f.at && note.entries_end <= f.end;
    if (is_noted) {
        f.at = note.entries_end;
        f.left = 0;
    } else if (!gitindex_skip_entries(&f, err)) {
        return false;
    }
    buf_add(&out, index.ptr, f.at);
    if (!add_extensions(&out, &f, gift->tree, err))
        return false;
    add_known(&out, gift->token);
    buf_add(&out, index.ptr + f.end, f.digest_len); /* its room */
    put_digest(&out, f.digest_len, is_noted ? &note : NULL);
    return fs_write_plain(AT_FDCWD, to, out.ptr, out.len, 0644, err);
}
