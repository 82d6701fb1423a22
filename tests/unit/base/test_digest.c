#include "tests/unit/base/scratch.h"

#include "runner/base/digest.h"

static void known_answers(void **state)
{
    (void)state;
    /* FIPS 180-2, appendix B, and the empty message. */
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char hex[DIGEST_HEX_SIZE];
        digest_bytes(hex, cases[i].text, strlen(cases[i].text));
        assert_string_equal(hex, cases[i].hex);
        assert_true(digest_is_hex(hex));
    }
}

static void parts_are_their_lengths_and_bytes(void **state)
{
    (void)state;
    char parts_hex[DIGEST_HEX_SIZE], whole_hex[DIGEST_HEX_SIZE], shifted_hex[DIGEST_HEX_SIZE];
    const struct digest_part parts[] = {{"ab", 2}, {"c", 1}};
    const struct digest_part shifted[] = {{"a", 1}, {"bc", 2}};
    static const char whole[] = "\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\1c";
    digest_parts(parts_hex, parts, 2);
    digest_bytes(whole_hex, whole, sizeof(whole) - 1);
    digest_parts(shifted_hex, shifted, 2);
    assert_string_equal(parts_hex, whole_hex);
    assert_string_not_equal(parts_hex, shifted_hex);
}

static void a_file_is_its_bytes_within_a_bound(void **state)
{
    (void)state;
    char hex[DIGEST_HEX_SIZE], want[DIGEST_HEX_SIZE];
    struct err err = ERR_INIT;
    int ends[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "abc", 3), 3);
        close(ends[1]);
        assert_int_equal(digest_fd(hex, ends[0], i == 0 ? 3 : 2, &err), i == 0);
        close(ends[0]);
    }
    digest_bytes(want, "abc", 3);
    assert_string_equal(hex, want);
    assert_int_equal(err.code, ERR_LIMIT);
}

static void hex_is_64_lower_digits(void **state)
{
    (void)state;
    char hex[DIGEST_HEX_SIZE];
    digest_bytes(hex, "", 0);
    assert_false(digest_is_hex(""));
    assert_false(digest_is_hex(hex + 1));
    hex[10] = 'A';
    assert_false(digest_is_hex(hex));
    hex[10] = 'g';
    assert_false(digest_is_hex(hex));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(parts_are_their_lengths_and_bytes),
        cmocka_unit_test(a_file_is_its_bytes_within_a_bound),
        cmocka_unit_test(hex_is_64_lower_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
