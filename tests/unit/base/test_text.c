#include "tests/unit/base/scratch.h"

#include "runner/base/text.h"

/* A string literal with its length, so that it may hold NUL bytes. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static void sanitises(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t len;
        unsigned flags;
        const char *clean;
    } cases[] = {
        {BYTES(""), 0, ""},
        {BYTES("plain ~"), 0, "plain ~"},
        {BYTES("\xc3\xa9\xe2\x82\xac\xe6\xbc\xa2\xf0\x9f\x98\x80"), 0,
         "\xc3\xa9\xe2\x82\xac\xe6\xbc\xa2\xf0\x9f\x98\x80"},
        {BYTES("a\0b"), 0, "a\\x00b"},
        {BYTES("\n\t\r\x1b[2J\x7f"), 0, "\\n\\t\\x0d\\e[2J\\x7f"},
        {BYTES("\xc2\x9b"
               "31m"),
         0, "\\x9b31m"},
        {BYTES("\xc2\x85"), TEXT_EXACT, "\\u{0085}"},
        {BYTES("\xff\xc3"), 0, "\\xff\\xc3"},
        {BYTES("\xc0\xaf"), 0, "\\xc0\\xaf"},                   /* overlong slash */
        {BYTES("\xed\xa0\x80"), 0, "\\xed\\xa0\\x80"},          /* surrogate */
        {BYTES("\xf4\x90\x80\x80"), 0, "\\xf4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
        {BYTES("\xe2\x80\xae"), 0, "\\u{202e}"},                /* right-to-left override */
        {BYTES("\xe2\x81\xa6"), 0, "\\u{2066}"},                /* bidi isolate */
        {BYTES("\xd8\x9c"), 0, "\\u{061c}"},                    /* Arabic letter mark */
        {BYTES("\xe2\x80\x8b"), 0, "\\u{200b}"},                /* zero-width space */
        {BYTES("\xe2\x80\x8d"), 0, "\\u{200d}"},                /* joiner */
        {BYTES("\xef\xbb\xbf"), 0, "\\u{feff}"},                /* byte order mark */
        {BYTES("\xc2\xad"), 0, "\\u{00ad}"},                    /* soft hyphen */
        {BYTES("\xc2\xa0"), 0, "\\u{00a0}"},                    /* no-break space */
        {BYTES("\xe3\x80\x80"), 0, "\\u{3000}"},                /* ideographic space */
        {BYTES("\xe2\x80\xa8"), 0, "\\u{2028}"},                /* line separator */
        {BYTES("\xe3\x85\xa4"), 0, "\\u{3164}"},                /* Hangul filler, a letter */
        {BYTES("\xef\xb8\x8f"), 0, "\\u{fe0f}"},                /* variation selector, a mark */
        {BYTES("\xf3\xa0\x81\x81"), 0, "\\u{e0041}"},           /* tag letter */
        {BYTES("\xe2\xa0\x80"), 0, "\\u{2800}"},                /* blank braille */
        {BYTES("\xee\x80\x80"), 0, "\\u{e000}"},                /* private use */
        {BYTES("\xf4\x8f\xa3\xa9"), 0, "\\xe9"},                /* for the byte E9 in JSON */
        {BYTES("\xf4\x8f\xa3\xa9"), TEXT_EXACT, "\\u{10f8e9}"},
        {BYTES("\xf4\x8f\xa1\xa9"), 0, "\\u{10f869}"}, /* for none: 69 is ASCII */
        {BYTES("\xcd\xb8"), 0, "\\u{0378}"},           /* unassigned */
        {BYTES("\\x1b"), 0, "\\x1b"},
        {BYTES("\\x1b"), TEXT_EXACT, "\\\\x1b"},
        {BYTES("a\nb"), TEXT_KEEP_NEWLINE, "a\nb"},
        {BYTES("a\tb"), TEXT_KEEP_TAB, "a       b"},
        {BYTES("12345678\tb"), TEXT_KEEP_TAB, "12345678        b"},
        {BYTES("\t\t1\n\t2"), TEXT_KEEP_TAB | TEXT_KEEP_NEWLINE, "                1\n        2"},
        {BYTES("\xe6\xbc\xa2\t|"), TEXT_KEEP_TAB, "\xe6\xbc\xa2      |"},
        {BYTES("\x01\t|"), TEXT_KEEP_TAB, "\\x01    |"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        buf_adds(&out, "before "); /* what is already there does not count as columns */
        text_sanitise(&out, cases[i].s, cases[i].len, cases[i].flags);
        assert_string_equal(out.ptr + strlen("before "), cases[i].clean);
    }
}

static void every_ascii_control_is_escaped(void **state)
{
    (void)state;
    for (int c = 0; c < 0x20; c++) {
        char byte = (char)c;
        AUTO_BUF struct buf out = BUF_INIT;
        text_sanitise(&out, &byte, 1, 0);
        assert_int_equal(out.ptr[0], '\\');
        for (size_t i = 0; i < out.len; i++)
            assert_in_range(out.ptr[i], 0x20, 0x7e);
    }
}

static void many_tabs_cost_little(void **state)
{
    (void)state;
    enum { TABS = 1000000 };
    AUTO_FREE char *tabs = xmalloc(TABS);
    memset(tabs, '\t', TABS);
    AUTO_BUF struct buf out = BUF_INIT;
    text_sanitise(&out, tabs, TABS, TEXT_KEEP_TAB);
    assert_int_equal(out.len, 8 * TABS);
}

static void clean_is_allocated(void **state)
{
    (void)state;
    AUTO_FREE char *clean = text_clean("a\x1b");
    assert_string_equal(clean, "a\\e");
}

static void widths(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int columns;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa9", 1},
        {"e\xcc\x81", 1}, /* combining acute */
        {"\xe6\xbc\xa2\xe5\xad\x97", 4},
        {"\xf0\x9f\x98\x80", 2},
        {"\xff", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_width(cases[i].s, strlen(cases[i].s)), cases[i].columns);
}

static void clips_between_graphemes(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int max_columns;
        size_t fit;
        const char *clipped;
    } cases[] = {
        {"abc", 3, 3, "abc"},
        {"abcd", 3, 3, "ab\xe2\x80\xa6"},
        {"abcd", 1, 1, "\xe2\x80\xa6"},
        {"abcd", 0, 0, ""},
        {"abcd", -1, 0, ""},
        {"", 0, 0, ""},
        {"e\xcc\x81xy", 1, 3, "\xe2\x80\xa6"},
        {"e\xcc\x81xy", 2, 4, "e\xcc\x81\xe2\x80\xa6"},
        {"\xe6\xbc\xa2\xe5\xad\x97", 3, 3, "\xe6\xbc\xa2\xe2\x80\xa6"},
        {"\xe6\xbc\xa2\xe5\xad\x97", 2, 3, "\xe2\x80\xa6"},
        {"\xe6\xbc\xa2\xe5\xad\x97", 4, 6, "\xe6\xbc\xa2\xe5\xad\x97"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *s = cases[i].s;
        assert_int_equal(text_fit(s, strlen(s), cases[i].max_columns), cases[i].fit);
        AUTO_BUF struct buf out = BUF_INIT;
        text_add_clipped(&out, s, cases[i].max_columns);
        assert_string_equal(out.ptr, cases[i].clipped);
        if (cases[i].max_columns > 0)
            assert_true(text_width(out.ptr, out.len) <= cases[i].max_columns);
    }
}

static void brief_keeps_the_end(void **state)
{
    (void)state;
    AUTO_FREE char *padded = xasprintf("a%*s;rm x", 4000, "");
    AUTO_FREE char *many = xasprintf("head%0*d;rm x", 900, 1);
    const struct {
        const char *s;
        int columns;
        const char *want;
    } cases[] = {
        {"make test", 40, "make test"},
        {"a            b", 40, "a            b"},
        {"a             b", 40,
         "a\xe2\x80\xa6[13 blanks]\xe2\x80\xa6"
         "b"},
        {padded, 40, "a\xe2\x80\xa6[4000 blanks]\xe2\x80\xa6;rm x"},
        {many, 40,
         "head0000000000\xe2\x80\xa6[889 left out]\xe2\x80\xa6"
         "1;rm x"},
        {many, 12, "head0000000\xe2\x80\xa6"},
        {"", 40, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        text_add_brief(&out, cases[i].s, cases[i].columns);
        assert_string_equal(out.ptr, cases[i].want);
        assert_true(text_width(out.ptr, out.len) <= cases[i].columns);
    }
}

static void utf8_is_strict(void **state)
{
    (void)state;
    assert_true(text_is_utf8(BYTES("")));
    assert_true(text_is_utf8(BYTES("a\0\xf4\x8f\xbf\xbf")));
    assert_false(text_is_utf8(BYTES("\xc3")));
    assert_false(text_is_utf8(BYTES("\x80")));
    assert_false(text_is_utf8(BYTES("\xed\xbf\xbf")));
    assert_false(text_is_utf8(BYTES("\xc1\x81")));
    assert_false(text_is_utf8(BYTES("\xf5\x80\x80\x80")));
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        bool is_name;
    } cases[] = {
        {"a", true},          {"9", true},    {"a.b_c-D", true}, {"12345678", true},
        {"123456789", false}, {"", false},    {".a", false},     {"-a", false},
        {"_a", false},        {"a/b", false}, {"a b", false},    {"a\n", false},
        {"\xc3\xa9", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(text_is_name(cases[i].s, 8), cases[i].is_name);
}

static void folders_are_short(void **state)
{
    (void)state;
    static const struct {
        const char *s, *folder, *want;
    } cases[] = {
        {"/w/tree/src/x", "/w/tree", "./src/x"},
        {"/w/tree", "/w/tree", "."},
        {"cd /w/tree && cat '/w/tree/a' >/w/tree/b", "/w/tree", "cd . && cat './a' >./b"},
        {"/w/tree2/x /w/tree.old /v/w/tree", "/w/tree", "/w/tree2/x /w/tree.old /v/w/tree"},
        {"/w/tree/../../etc", "/w/tree", "./../../etc"},
        {"/w/tree/x", "", "/w/tree/x"},
        {"a/b", "/", "a/b"},
        {"", "/w", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        text_add_relative(&out, cases[i].s, strlen(cases[i].s), cases[i].folder);
        assert_string_equal(out.ptr ? out.ptr : "", cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sanitises),
        cmocka_unit_test(every_ascii_control_is_escaped),
        cmocka_unit_test(many_tabs_cost_little),
        cmocka_unit_test(clean_is_allocated),
        cmocka_unit_test(widths),
        cmocka_unit_test(clips_between_graphemes),
        cmocka_unit_test(brief_keeps_the_end),
        cmocka_unit_test(utf8_is_strict),
        cmocka_unit_test(names),
        cmocka_unit_test(folders_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
