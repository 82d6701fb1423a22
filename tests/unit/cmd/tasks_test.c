#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runner/base/limits.h"
#include "runner/base/mem.h"
#include "runner/cmd/tasks.h"

struct good {
    const char *file, *template;
    const char *texts[4], *titles[4];
};

static const struct good goods[] = {
    {"fix a\n\n  fix b  \r\n", NULL, {"fix a", "fix b"}, {"fix a", "fix b"}},
    {"# not a comment\n", NULL, {"# not a comment"}, {"# not a comment"}},
    {"[BUG] crash at start\n[ui] blink\n",
     NULL,
     {"[BUG] crash at start", "[ui] blink"},
     {"[BUG] crash at start", "[ui] blink"}},
    {"\xef\xbb\xbf"
     "one\n",
     NULL,
     {"one"},
     {"one"}},
    {"one", "do {{line}} twice: {{ line }}", {"do one twice: one"}, {"one"}},
    {"[\"a\", \"b\\nc\"]", NULL, {"a", "b\nc"}, {"a", "b"}},
    {"[{\"number\":7,\"title\":\"Crash\",\"body\":\"It crashes\"}]",
     NULL,
     {"#7 Crash\n\nIt crashes"},
     {"#7 Crash"}},
    {"[{\"number\":7,\"title\":\"Crash\",\"body\":\"\"}]", NULL, {"#7 Crash"}, {"#7 Crash"}},
    {"{\"title\":\"A\",\"body\":null}\n\n{\"prompt\":\"p\",\"title\":\"B\"}\n",
     NULL,
     {"A", "p"},
     {"A", "B"}},
    {"[{\"number\":7,\"title\":\"T\",\"author\":{\"login\":\"ann\"},"
     "\"labels\":[{\"name\":\"bug\"},{\"name\":\"ui\"}],\"urgent\":true}]",
     "#{{number}} {{title}} by {{author.login}} [{{labels}}] {{urgent}}",
     {"#7 T by ann [bug, ui] true"},
     {"#7 T"}},
    {"[{\"x\":\"a } b {{x}}\"}]", "{{x}}", {"a } b {{x}}"}, {"a } b {{x}}"}},
};

static void parses_every_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(goods); i++) {
        AUTO_TASKS struct tasks tasks = TASKS_INIT;
        struct err err = ERR_INIT;
        const struct good *g = &goods[i];
        if (!tasks_parse(&tasks, g->file, strlen(g->file), g->template, &err))
            fail_msg("%s: %s", g->file, err.text);
        for (size_t j = 0; j < tasks.n; j++) {
            assert_non_null(g->texts[j]);
            assert_string_equal(tasks.v[j].text, g->texts[j]);
            assert_string_equal(tasks.v[j].title, g->titles[j]);
        }
        assert_true(tasks.n == 4 || !g->texts[tasks.n]);
    }
}

struct bad {
    const char *file;
    size_t len; /* 0: strlen */
    const char *template, *error;
};

static const struct bad bads[] = {
    {"", 0, NULL, "there are no tasks in it"},
    {"\n \n", 0, NULL, "there are no tasks in it"},
    {"[]", 0, NULL, "there are no tasks in it"},
    {"one\ntwo\n", 0, "{{lin}}", "row 1: no field 'lin' for the template; there is line"},
    {"[{\"title\":\"a\",\"n\":1},{\"title\":\"b\"}]", 0, "{{title}} {{n}}",
     "row 2: no field 'n' for the template; there is title"},
    {"[{\"a\":{\"b\":1}}]", 0, "{{a.c}}", "row 1: no field 'a.c' for the template; there is a"},
    {"one\n", 0, "{{line", "row 1: the template has a {{ without its }}"},
    {"[{\"number\":3}]", 0, NULL,
     "row 1: it has no prompt, task, text or title; name the fields with --template"},
    {"[\"a\", 3]", 0, NULL, "row 2: it is neither a string nor an object"},
    {"[\"a\", \" \"]", 0, NULL, "row 2: the prompt is empty"},
    {"{\"title\":\"a\"}\n\nnot json\n", 0, NULL, "row 3: malformed JSON"},
    {"[{\"title\":\"a\"}", 0, NULL, "malformed JSON"},
    {"a\nb\xff\n", 0, NULL, "row 2: it is not UTF-8"},
    {"a\0b\n", 4, NULL, "row 1: it holds a NUL character"},
    {"[{\"text\":\"a\",\"x\":\"a\\u0000b\"}]", 0, "{{x}}",
     "row 1: the prompt holds a NUL character"},
    {"[{\"text\":\"a\",\"ladder\":1}]", 0, NULL, "row 1: its ladder is no text"},
    {"[{\"text\":\"a\",\"ladder\":\"high\"}]", 0, NULL, "row 1: 'high' is no rung of the ladder"},
};

static void names_the_bad_row_and_adds_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
        AUTO_TASKS struct tasks tasks = TASKS_INIT;
        struct err err = ERR_INIT;
        const struct bad *b = &bads[i];
        size_t len = b->len ? b->len : strlen(b->file);
        if (tasks_parse(&tasks, b->file, len, b->template, &err))
            fail_msg("no error for %s", b->file);
        if (strncmp(err.text, b->error, strlen(b->error)) != 0)
            fail_msg("%s: got '%s', not '%s'", b->file, err.text, b->error);
        assert_int_equal(err.code, ERR_USAGE);
        assert_int_equal(tasks.n, 0);
    }
}

static void keeps_what_was_there(void **state)
{
    (void)state;
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    struct err err = ERR_INIT;
    assert_true(tasks_add(&tasks, "first", NULL, &err));
    assert_false(tasks_parse(&tasks, "[\"a\",3]", 7, NULL, &err));
    assert_true(tasks_parse(&tasks, "second", 6, NULL, &err));
    assert_int_equal(tasks.n, 2);
    assert_string_equal(tasks.v[1].text, "second");
    AUTO_JSON json_t *json = tasks_json(&tasks);
    assert_string_equal(jx_str(json_array_get(json, 1), "title", ""), "second");
}

static void a_task_may_have_a_rung(void **state)
{
    (void)state;
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    struct err err = ERR_INIT;
    static const char file[] =
        "[{\"text\":\"a\",\"ladder\":\"edits\"}, {\"text\":\"b\",\"ladder\":null}]";
    assert_true(tasks_parse(&tasks, file, strlen(file), NULL, &err));
    assert_true(tasks_parse(&tasks, file, strlen(file), "do {{text}}", &err));
    AUTO_JSON json_t *json = tasks_json(&tasks);
    assert_int_equal(json_array_size(json), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(jx_str(json_array_get(json, i), "ladder", "none"),
                            i % 2 ? "none" : "edits");
}

static void bounds_length_and_number(void **state)
{
    (void)state;
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    AUTO_BUF struct buf many = BUF_INIT, lengthy = BUF_INIT;
    struct err err = ERR_INIT;
    for (int i = 0; i <= LIMIT_TASKS; i++)
        buf_adds(&many, "x\n");
    assert_false(tasks_parse(&tasks, many.ptr, many.len, NULL, &err));
    assert_non_null(strstr(err.text, "more than 10000 tasks"));
    for (int i = 0; i <= LIMIT_PROMPT_BYTES; i++)
        buf_addch(&lengthy, 'x');
    assert_false(tasks_parse(&tasks, lengthy.ptr, lengthy.len, NULL, &err));
    assert_non_null(strstr(err.text, "65537 bytes long"));
    assert_int_equal(tasks.n, 0);
}

static void cuts_titles_between_characters(void **state)
{
    (void)state;
    AUTO_TASKS struct tasks tasks = TASKS_INIT;
    AUTO_BUF struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    buf_adds(&text, "\n\n\xe2\x9c\x93\033[31m ");
    for (int i = 0; i < 100; i++)
        buf_adds(&text, "\xc3\xa9");
    assert_true(tasks_add(&tasks, text.ptr, NULL, &err));
    assert_true(strncmp(tasks.v[0].title, "\xe2\x9c\x93\\e[31m \xc3\xa9", 9) == 0);
    assert_true(strlen(tasks.v[0].title) < 160);
    assert_string_equal(tasks.v[0].text, text.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_every_form),
        cmocka_unit_test(names_the_bad_row_and_adds_nothing),
        cmocka_unit_test(keeps_what_was_there),
        cmocka_unit_test(a_task_may_have_a_rung),
        cmocka_unit_test(bounds_length_and_number),
        cmocka_unit_test(cuts_titles_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
