#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "runner/base/buf.h"
#include "runner/base/indexfile.h"
#include "runner/base/mem.h"

enum { LONG_PATH = 0x1234 };

static void add_word(struct buf *out, uint32_t value)
{
    uint32_t word = htonl(value);
    buf_add(out, &word, sizeof(word));
}

static void add_half(struct buf *out, size_t value)
{
    buf_addch(out, (char)(value >> 8 & 0xff));
    buf_addch(out, (char)(value & 0xff));
}

static void add_bytes(struct buf *out, char byte, size_t n)
{
    while (n-- > 0)
        buf_addch(out, byte);
}

/* extra: the second flags, of an extended entry; 0: it is none. */
static void add_entry(struct buf *out, const char *path, uint32_t mode, unsigned extra,
                      size_t digest_len)
{
    size_t from = out->len, len = strlen(path);
    add_bytes(out, 1, 24);
    add_word(out, mode);
    add_bytes(out, 1, 12);
    add_bytes(out, 'o', digest_len);
    add_half(out, (len < 0xfff ? len : 0xfff) | (extra ? 0x4000 : 0));
    if (extra)
        add_half(out, extra);
    buf_add(out, path, len);
    do
        buf_addch(out, '\0');
    while ((out->len - from) % 8);
}

static void make_index(struct buf *out, size_t digest_len)
{
    AUTO_BUF struct buf path = BUF_INIT;
    add_bytes(&path, 'p', LONG_PATH);
    buf_add(out, "DIRC\0\0\0\3", 8);
    add_word(out, 4);
    add_entry(out, "a", 0100644, 0, digest_len);
    add_entry(out, "d/absent", 0100644, 0x4000, digest_len);
    add_entry(out, path.ptr, 0100755, 0, digest_len);
    add_entry(out, "sub", 0160000, 0, digest_len);
    buf_add(out, "TREE", 4);
    add_word(out, 3);
    buf_add(out, "xyz", 3);
    buf_add(out, "link", 4);
    add_word(out, 0);
    add_bytes(out, 'd', digest_len);
}

static void reads_all_of_it(void **state)
{
    (void)state;
    static const size_t digest_lens[] = {INDEXFILE_SHA1_BYTES, INDEXFILE_SHA256_BYTES};
    for (size_t i = 0; i < ARRAY_LEN(digest_lens); i++) {
        AUTO_BUF struct buf index = BUF_INIT;
        struct indexfile f;
        struct indexfile_entry e;
        struct indexfile_extension x;
        make_index(&index, digest_lens[i]);
        assert_true(indexfile_begin(&f, index.ptr, index.len, digest_lens[i]));
        assert_false(indexfile_extension(&x, &f)); /* entries come first */
        assert_true(indexfile_entry(&e, &f));
        assert_string_equal(e.path, "a");
        assert_true(e.at == 12 && !e.is_absent && !e.is_submodule);
        assert_true(indexfile_entry(&e, &f));
        assert_string_equal(e.path, "d/absent");
        assert_true(e.path_len == 8 && e.is_absent && !e.is_submodule);
        assert_true(indexfile_entry(&e, &f));
        assert_int_equal(e.path_len, LONG_PATH);
        assert_true(indexfile_entry(&e, &f));
        assert_true(e.is_submodule && !e.is_absent);
        assert_false(indexfile_entry(&e, &f));
        assert_true(f.left == 0 && !indexfile_is_done(&f));
        assert_true(indexfile_extension(&x, &f));
        assert_true(x.size == 3 && memcmp(x.name, "TREE", 4) == 0 &&
                    memcmp(x.content, "xyz", 3) == 0);
        assert_true(indexfile_extension(&x, &f));
        assert_true(x.size == 0 && memcmp(x.name, "link", 4) == 0);
        assert_false(indexfile_extension(&x, &f));
        assert_true(indexfile_is_done(&f));
    }
}

/* Read to the end, or to where it cannot be gone on. */
static bool is_understood(const char *ptr, size_t len, size_t digest_len)
{
    struct indexfile f;
    struct indexfile_entry e;
    struct indexfile_extension x;
    if (!indexfile_begin(&f, ptr, len, digest_len))
        return false;
    while (indexfile_entry(&e, &f))
        assert_true(e.path + e.path_len < ptr + len);
    while (indexfile_extension(&x, &f))
        assert_true(x.content + x.size <= ptr + len);
    return indexfile_is_done(&f);
}

static void tells_the_length_of_names(void **state)
{
    (void)state;
    AUTO_BUF struct buf sha1 = BUF_INIT, sha256 = BUF_INIT;
    make_index(&sha1, INDEXFILE_SHA1_BYTES);
    make_index(&sha256, INDEXFILE_SHA256_BYTES);
    assert_true(is_understood(sha1.ptr, sha1.len, INDEXFILE_SHA1_BYTES));
    assert_false(is_understood(sha1.ptr, sha1.len, INDEXFILE_SHA256_BYTES));
    assert_true(is_understood(sha256.ptr, sha256.len, INDEXFILE_SHA256_BYTES));
    assert_false(is_understood(sha256.ptr, sha256.len, INDEXFILE_SHA1_BYTES));
}

/* Copies of the very size, so that valgrind and the sanitizers see a byte that is read too far. */
static void reads_nothing_beyond_it(void **state)
{
    (void)state;
    AUTO_BUF struct buf index = BUF_INIT;
    size_t n_whole = 0;
    make_index(&index, INDEXFILE_SHA1_BYTES);
    for (size_t len = 0; len < index.len; len++) {
        AUTO_FREE char *cut = xmalloc(len ? len : 1);
        memcpy(cut, index.ptr, len);
        n_whole += is_understood(cut, len, INDEXFILE_SHA1_BYTES);
    }
    assert_int_equal(n_whole, 2);        /* cut in front of either extension it is one without */
    for (size_t at = 8; at < 12; at++) { /* more entries than there are */
        AUTO_FREE char *wrong = xmalloc(index.len);
        memcpy(wrong, index.ptr, index.len);
        wrong[at] = (char)0xff;
        assert_false(is_understood(wrong, index.len, INDEXFILE_SHA1_BYTES));
    }
    index.ptr[7] = 4;
    assert_false(is_understood(index.ptr, index.len, INDEXFILE_SHA1_BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_of_it),
        cmocka_unit_test(tells_the_length_of_names),
        cmocka_unit_test(reads_nothing_beyond_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
