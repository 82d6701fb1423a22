#include "tests/unit/base/scratch.h"

#include "runner/base/b64.h"

static void known_answers(void **state)
{
    (void)state;
    /* RFC 4648, section 10, and bytes that need every kind of digit. */
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {"", 0, ""},
        {"f", 1, "Zg=="},
        {"fo", 2, "Zm8="},
        {"foo", 3, "Zm9v"},
        {"foobar", 6, "Zm9vYmFy"},
        {"\0\377\376", 3, "AP/+"},
        {"\33[2J", 4, "G1sySg=="},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf text = BUF_INIT, bytes = BUF_INIT;
        b64_encode(&text, cases[i].bytes, cases[i].len);
        assert_string_equal(text.ptr, cases[i].text);
        assert_ok(b64_decode(&bytes, text.ptr, text.len, &err));
        assert_int_equal(bytes.len, cases[i].len);
        assert_memory_equal(bytes.ptr, cases[i].bytes, cases[i].len);
    }
}

static void malformed_text_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "Z", "Zg=", "Zg==Zg==", "=g==", "Z===", "====", "Zm9v\n", "Zm 9", "Zm-_", "Zg=x", "Zm9vZ"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_BUF struct buf out = BUF_INIT;
        buf_adds(&out, "kept");
        assert_false(b64_decode(&out, cases[i], strlen(cases[i]), &err));
        assert_int_equal(err.code, ERR_FORMAT);
        assert_string_equal(out.ptr, "kept");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(malformed_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
