#include "runner/base/indexfile.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    HEADER_BYTES = 12,
    COUNT_OFFSET = 8,
    MODE_OFFSET = 24,
    FLAG_BYTES = 2, /* twice when the entry is extended */
    FLAG_EXTENDED = 0x4000,
    FLAG_LENGTH = 0x0fff,
    EXTRA_SKIP_WORKTREE = 0x4000,
    NAME_BYTES = 4,
    EXTENSION_BYTES = 8,
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

bool indexfile_begin(struct indexfile *ret, const char *ptr, size_t len, size_t digest_len)
{
    if (len < HEADER_BYTES + digest_len || memcmp(ptr, "DIRC\0\0\0", 7) != 0 ||
        (ptr[7] != 2 && ptr[7] != 3))
        return false;
    *ret = (struct indexfile){.ptr = ptr,
                              .at = HEADER_BYTES,
                              .end = len - digest_len,
                              .left = read_word(ptr + COUNT_OFFSET),
                              .digest_len = digest_len};
    return true;
}

bool indexfile_entry(struct indexfile_entry *ret, struct indexfile *f)
{
    const char *start = f->ptr + f->at;
    size_t room = f->end - f->at, fixed = INDEXFILE_STAT_BYTES + f->digest_len + FLAG_BYTES;
    if (f->left == 0 || room <= fixed + FLAG_BYTES)
        return false;
    unsigned flags = read_half(start + fixed - FLAG_BYTES), told = flags & FLAG_LENGTH;
    unsigned extra = flags & FLAG_EXTENDED ? read_half(start + fixed) : 0;
    fixed += flags & FLAG_EXTENDED ? FLAG_BYTES : 0;
    size_t len = strnlen(start + fixed, room - fixed), size = (fixed + len + 8) / 8 * 8;
    if (len == 0 || size > room || (len < FLAG_LENGTH ? told != len : told != FLAG_LENGTH))
        return false;
    *ret = (struct indexfile_entry){
        .at = f->at,
        .path = start + fixed,
        .path_len = len,
        .is_submodule = (read_word(start + MODE_OFFSET) & 0170000) == 0160000,
        .is_absent = (extra & EXTRA_SKIP_WORKTREE) != 0,
    };
    f->at += size;
    f->left--;
    return true;
}

bool indexfile_extension(struct indexfile_extension *ret, struct indexfile *f)
{
    const char *start = f->ptr + f->at;
    size_t room = f->end - f->at;
    if (f->left > 0 || room < EXTENSION_BYTES)
        return false;
    size_t size = read_word(start + NAME_BYTES);
    if (size > room - EXTENSION_BYTES)
        return false;
    *ret = (struct indexfile_extension){start, start + EXTENSION_BYTES, size};
    f->at += EXTENSION_BYTES + size;
    return true;
}

bool indexfile_is_done(const struct indexfile *f)
{
    return f->left == 0 && f->at == f->end;
}
