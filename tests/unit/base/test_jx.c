#include "tests/unit/base/scratch.h"

#include "runner/base/jx.h"
#include "runner/base/limits.h"

static json_t *parsed(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value = NULL;
    assert_ok(jx_parse(&value, text, strlen(text), &err));
    return value;
}

static char *nested(int depth)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < depth; i++)
        buf_addch(&text, '[');
    for (int i = 0; i < depth; i++)
        buf_addch(&text, ']');
    return buf_steal(&text);
}

static void parses_one_value(void **state)
{
    (void)state;
    AUTO_FREE char *deepest = nested(LIMIT_JSON_DEPTH);
    AUTO_FREE char *too_deep = nested(LIMIT_JSON_DEPTH + 1);
    AUTO_FREE char *far_too_deep = nested(1000000);
    const struct {
        const char *text;
        enum err_code code;
    } cases[] = {
        {"{}", ERR_NONE},
        {" [1, 2.5, \"x\", null] \n", ERR_NONE},
        {"7", ERR_NONE},
        {"\"a\\u0000b\"", ERR_NONE},
        {"\"[[[[ \\\" [[\"", ERR_NONE},
        {deepest, ERR_NONE},
        {too_deep, ERR_LIMIT},
        {far_too_deep, ERR_LIMIT},
        {"", ERR_FORMAT},
        {"{} {}", ERR_FORMAT},
        {"{\"a\":1,\"a\":2}", ERR_FORMAT},
        {"{\"a\":}", ERR_FORMAT},
        {"\"\xff\"", ERR_FORMAT},
        {"{\"a\\u0000b\":1}", ERR_FORMAT},
        {"99999999999999999999", ERR_FORMAT},
        {"1e999", ERR_FORMAT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        AUTO_JSON json_t *value = NULL;
        bool ok = jx_parse(&value, cases[i].text, strlen(cases[i].text), &err);
        assert_int_equal(ok, cases[i].code == ERR_NONE);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(value != NULL, ok);
    }
}

static void errors_do_not_quote_the_input(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    json_t *value;
    assert_false(jx_parse(&value, "[secret]", 8, &err));
    assert_null(strstr(err.text, "secret"));
    assert_non_null(strstr(err.text, "line 1"));
}

static void reads_fall_back(void **state)
{
    (void)state;
    AUTO_JSON json_t *obj =
        parsed("{\"s\":\"text\",\"i\":7,\"b\":true,\"n\":null,\"nul\":\"a\\u0000\","
               "\"o\":{},\"a\":[\"x\",1,\"y\",\"z\\u0000\"]}");
    assert_string_equal(jx_str(obj, "s", "-"), "text");
    assert_string_equal(jx_str(obj, "i", "-"), "-");
    assert_string_equal(jx_str(obj, "nul", "-"), "-");
    assert_null(jx_str(obj, "absent", NULL));
    assert_int_equal(jx_int(obj, "i", -1), 7);
    assert_int_equal(jx_int(obj, "s", -1), -1);
    assert_true(jx_bool(obj, "b", false));
    assert_true(jx_bool(obj, "n", true));
    assert_non_null(jx_obj(obj, "o"));
    assert_null(jx_obj(obj, "a"));
    assert_non_null(jx_arr(obj, "a"));
    assert_null(jx_arr(obj, "o"));
    AUTO_STRV struct strv list = STRV_INIT;
    jx_strv(&list, obj, "a");
    jx_strv(&list, obj, "o");
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[1], "y");
    AUTO_JSON json_t *array = parsed("[]");
    assert_string_equal(jx_str(array, "s", "-"), "-");
    assert_int_equal(jx_int(NULL, "s", 3), 3);
}

static void texts_are_stable(void **state)
{
    (void)state;
    AUTO_JSON json_t *obj = json_object();
    AUTO_STRV struct strv list = STRV_INIT;
    strv_push(&list, "p\nq");
    jx_set_str(obj, "z", "caf\xc3\xa9");
    jx_set_int(obj, "i", INT64_MIN);
    jx_set_bool(obj, "b", false);
    jx_set_str(obj, "null", NULL);
    jx_set(obj, "a", jx_from_strv(&list));
    AUTO_BUF struct buf canonical = BUF_INIT, plain = BUF_INIT, again = BUF_INIT;
    jx_canonical(&canonical, obj);
    jx_dump(&plain, obj);
    assert_string_equal(canonical.ptr, "{\"a\":[\"p\\nq\"],\"b\":false,\"i\":-9223372036854775808,"
                                       "\"null\":null,\"z\":\"caf\xc3\xa9\"}");
    assert_string_equal(plain.ptr, "{\"z\":\"caf\xc3\xa9\",\"i\":-9223372036854775808,\"b\":false,"
                                   "\"null\":null,\"a\":[\"p\\nq\"]}");
    AUTO_JSON json_t *back = parsed(plain.ptr);
    jx_canonical(&again, back);
    assert_string_equal(again.ptr, canonical.ptr);
    buf_clear(&plain);
    AUTO_JSON json_t *number = json_integer(3);
    jx_dump(&plain, number);
    assert_string_equal(plain.ptr, "3");
}

/* U+10F800 + byte, as UTF-8. */
#define STAND_IN_FF "\xf4\x8f\xa3\xbf"
#define STAND_IN_80 "\xf4\x8f\xa2\x80"

static void any_bytes_become_a_string(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t len;
        const char *text;
        size_t text_len;
    } cases[] = {
        {"", 0, "", 0},
        {"caf\xc3\xa9", 5, "caf\xc3\xa9", 5},
        {"a\0b", 3, "a\0b", 3},
        {"\xff", 1, STAND_IN_FF, 4},
        {"\xff\x80", 2, STAND_IN_FF STAND_IN_80, 8},
        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\x9f\xbf", 4, "\xf4\x8f\x9f\xbf", 4}, /* U+10F7FF, just below the stand-ins */
        {"\xf4\x8f\xa4\x80", 4, "\xf4\x8f\xa4\x80", 4}, /* U+10F900, just above */
        /* A stand-in that was already there, byte by byte. */
        {STAND_IN_FF, 4, "\xf4\x8f\xa3\xb4\xf4\x8f\xa2\x8f\xf4\x8f\xa2\xa3\xf4\x8f\xa2\xbf", 16},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON json_t *value = jx_bytes(cases[i].s, cases[i].len);
        assert_int_equal(json_string_length(value), cases[i].text_len);
        assert_memory_equal(json_string_value(value), cases[i].text, cases[i].text_len);
    }
}

/* Decode the defined encoding: the proof that no two inputs give the same string. */
static void decode(struct buf *out, const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (len - i >= 4 && p[i] == 0xf4 && p[i + 1] == 0x8f && p[i + 2] >= 0xa0 &&
            p[i + 2] <= 0xa3) {
            buf_addch(out, (char)((p[i + 2] & 3) << 6 | (p[i + 3] & 0x3f)));
            i += 3;
        } else {
            buf_addch(out, (char)p[i]);
        }
    }
}

static void bytes_can_be_told_apart(void **state)
{
    (void)state;
    static const unsigned char alphabet[] = {0x00, 'a',  0x80, 0x8f, 0xa0, 0xa3, 0xbf,
                                             0xc3, 0xe2, 0xed, 0xf0, 0xf4, 0xff};
    size_t n = sizeof(alphabet);
    for (size_t code = 0; code < n * n * n * n; code++) {
        char input[4];
        for (size_t i = 0, rest = code; i < 4; i++, rest /= n)
            input[i] = (char)alphabet[rest % n];
        AUTO_JSON json_t *value = jx_bytes(input, 4);
        AUTO_BUF struct buf back = BUF_INIT;
        decode(&back, (const unsigned char *)json_string_value(value), json_string_length(value));
        assert_int_equal(back.len, 4);
        assert_memory_equal(back.ptr, input, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_one_value),
        cmocka_unit_test(errors_do_not_quote_the_input),
        cmocka_unit_test(reads_fall_back),
        cmocka_unit_test(texts_are_stable),
        cmocka_unit_test(any_bytes_become_a_string),
        cmocka_unit_test(bytes_can_be_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
