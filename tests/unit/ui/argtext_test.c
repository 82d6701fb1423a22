#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "runner/base/jx.h"
#include "runner/base/mem.h"
#include "ui/argtext.h"

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *value = NULL;
    if (!jx_parse(&value, text, strlen(text), &err))
        fail_msg("%s", err.text);
    return value;
}

static void shows_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *args, *text, *brief;
    } cases[] = {
        {"{}", "(no arguments)\n", "{}"},
        {"{\"command\":\"git push\"}", "command | git push\n", "git push"},
        {"{\"command\":\"a\\\\nb\\nc\\n\",\"timeout\":5000}",
         "command | a\\\\nb\n        | c\n        | \ntimeout = 5000\n", "a\\\\nb\\nc\\n"},
        {"{\"n\":5}", "n = 5\n", "{\"n\":5}"},
        {"{\"n\":\"5\"}", "n | 5\n", "5"},
        {"{\"x\":{\"b\":[1,\"\\n\"],\"a\":null}}", "x = {\"a\":null,\"b\":[1,\"\\n\"]}\n",
         "{\"x\":{\"b\":[1,\"\\n\"],\"a\":null}}"},
        {"{\"a\\u001b[2J\":\"\\u202e\\u0000\"}", "\"a\\e[2J\" | \\u{202e}\\x00\n",
         "\\u{202e}\\x00"},
        {"{\"first\":\"x\",\"path\":\"/p\"}", "first | x\npath  | /p\n",
         "{\"first\":\"x\",\"path\":\"/p\"}"},
        /* What a tool does not go by takes no place of what it goes by. */
        {"{\"patchText\":\"*** Add File: .gitlab-ci.yml\",\"command\":\"ls\"}",
         "patchText | *** Add File: .gitlab-ci.yml\ncommand   | ls\n",
         "{\"command\":\"ls\",\"patchText\":\"*** Add File: .gitlab-ci.yml\"}"},
        {"{\"argv\":[\"ls\"],\"program\":\"/w/evil\",\"parents\":[\"/bin/sh\"]}",
         "argv    = [\"ls\"]\nprogram | /w/evil\nparents = [\"/bin/sh\"]\n",
         "{\"argv\":[\"ls\"],\"program\":\"/w/evil\"}"},
        {"{\"command\":\"rm x\",\"argv\":[\"git\",\"fetch\"],\"remote\":\"o\",\"url\":\"u\"}",
         "command | rm x\nargv    = [\"git\",\"fetch\"]\nremote  | o\nurl     | u\n",
         "{\"remote\":\"o\",\"url\":\"u\",\"command\":\"rm x\",\"argv\":[\"git\",\"fetch\"]}"},
        {"{\"command\":\"make\",\"description\":\"Build it\",\"timeout\":9}",
         "command     | make\ndescription | Build it\ntimeout     = 9\n", "make"},
        {"[1]", " = [1]\n", "[1]"},
        {"{\"a name that is long enough\":\"x\\ny\",\"b\":1}",
         "\"a name that is long enough\"\n  | x\n  | y\nb = 1\n", "x\\ny"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf text = BUF_INIT, brief = BUF_INIT;
        AUTO_JSON json_t *args = parse(cases[i].args);
        argtext(&text, args);
        argtext_brief(&brief, "hook", args, "", ARGTEXT_COLUMNS);
        assert_string_equal(text.ptr, cases[i].text);
        assert_string_equal(brief.ptr, cases[i].brief);
    }
}

static void the_brief_line_of_the_broker_says_where_to(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT, brief = BUF_INIT;
    AUTO_JSON json_t *args = parse("{\"argv\":[\"git\",\"push\",\"a b\"],\"ref\":\"refs/heads/"
                                   "x\",\"remote\":\"o\",\"url\":\"https://h/a\"}");
    argtext(&text, args);
    argtext_brief(&brief, "broker", args, "", ARGTEXT_COLUMNS);
    assert_string_equal(text.ptr, "argv   = [\"git\",\"push\",\"a b\"]\nref    | refs/heads/x\n"
                                  "remote | o\nurl    | https://h/a\n");
    assert_string_equal(brief.ptr, "git push 'a b' to https://h/a refs/heads/x");
}

static void the_brief_line_is_relative(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT, brief = BUF_INIT;
    AUTO_JSON json_t *args = parse("{\"file_path\":\"/w/tree/src/x\"}");
    argtext(&text, args);
    argtext_brief(&brief, "hook", args, "/w/tree", ARGTEXT_COLUMNS);
    assert_string_equal(text.ptr, "file_path | /w/tree/src/x\n");
    assert_string_equal(brief.ptr, "./src/x");
}

/* Values that a person must be able to tell apart. */
static void the_brief_line_hides_no_end(void **state)
{
    (void)state;
    AUTO_FREE char *padded = xasprintf("{\"command\":\"make%*s; rm -rf x\"}", 5000, "");
    AUTO_JSON json_t *args = parse(padded);
    AUTO_BUF struct buf brief = BUF_INIT;
    argtext_brief(&brief, "hook", args, "", 50);
    assert_string_equal(brief.ptr, "make\xe2\x80\xa6[5000 blanks]\xe2\x80\xa6; rm -rf x");
}

static void differs_where_values_differ(void **state)
{
    (void)state;
    static const char *const values[] = {
        "{\"a\":\"x\\ny\"}",
        "{\"a\":\"x\\\\ny\"}",
        "{\"a\":\"x\\n | y\"}",
        "{\"a\":\"x\\n\\ny\"}",
        "{\"a\":\"x\\ny\\n\"}",
        "{\"a\":\"1\"}",
        "{\"a\":1}",
        "{\"a\":\"true\"}",
        "{\"a\":true}",
        "{\"a\":\"x\",\"b\":\"y\"}",
        "{\"a\":\"x\\nb | y\"}",
        "{\"a\":\"\\u00a0\"}",
        "{\"a\":\" \"}",
        "{\"a\":\"b | c\"}",
        "{\"a | b\":\"c\"}",
        "{\"a\\\" | b\":\"c\"}",
        "{\"\\\"a\\\" | b\":\"c\"}",
        "{\"a = 1\":\"\"}",
        "{\"\":\"\"}",
        "{}",
        "{\"(no arguments)\":\"\"}",
        "{\"a\":\"\\\\u{00a0}\"}",
        "{\"a\":\"\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        for (size_t k = 0; k < i; k++) {
            AUTO_BUF struct buf one = BUF_INIT, other = BUF_INIT;
            AUTO_JSON json_t *a = parse(values[i]), *b = parse(values[k]);
            argtext(&one, a);
            argtext(&other, b);
            assert_string_not_equal(one.ptr, other.ptr);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_exactly),
        cmocka_unit_test(the_brief_line_of_the_broker_says_where_to),
        cmocka_unit_test(the_brief_line_is_relative),
        cmocka_unit_test(the_brief_line_hides_no_end),
        cmocka_unit_test(differs_where_values_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
