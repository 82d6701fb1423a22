/*
 * gitindex, second part: an index handed from the base to one worktree. Only the extensions behind
 * the entries differ (gitformat-index(5)): each is 4 bytes of name, 4 of size, and its content.
 */
#include "worktree/gitindex.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

#include "runner/base/fs.h"
#include "worktree/gitindex_parts.h"

enum { NAME_BYTES = 4, HEAD_BYTES = 8, FSMN_VERSION = 2 };

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
static bool add_extensions(struct buf *out, const struct buf *index, size_t at, size_t end,
                           const char *tree, struct err *err)
{
    while (at < end) {
        const char *start = index->ptr + at;
        uint32_t word;
        if (end - at < HEAD_BYTES)
            break;
        memcpy(&word, start + NAME_BYTES, sizeof(word));
        size_t size = ntohl(word);
        if (size > end - at - HEAD_BYTES)
            break;
        if (memcmp(start, "UNTR", NAME_BYTES) == 0)
            add_untracked(out, start + HEAD_BYTES, size, tree);
        else if (memcmp(start, "EOIE", NAME_BYTES) != 0 && memcmp(start, "IEOT", NAME_BYTES) != 0 &&
                 memcmp(start, "FSMN", NAME_BYTES) != 0)
            buf_add(out, start, HEAD_BYTES + size);
        at += HEAD_BYTES + size;
    }
    return at == end || err_set(err, ERR_INTERNAL, "git wrote an index that is cut short");
}

bool gitindex_give(const char *to, const char *from, const struct gitindex_gift *gift,
                   struct err *err)
{
    AUTO_BUF struct buf index = BUF_INIT, out = BUF_INIT;
    size_t digest_len, at;
    if (!gitindex_load(&index, &digest_len, from, gift->object_format, err) ||
        !gitindex_entries_end(&at, &index, digest_len, err))
        return false;
    buf_add(&out, index.ptr, at);
    if (!add_extensions(&out, &index, at, index.len - digest_len, gift->tree, err))
        return false;
    add_known(&out, gift->token);
    buf_add(&out, index.ptr + index.len - digest_len, digest_len); /* its room */
    gitindex_put_digest(&out, digest_len);
    return fs_write_plain(AT_FDCWD, to, out.ptr, out.len, 0644, err);
}
