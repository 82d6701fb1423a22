#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/cmd.h"

static void finds_full_names(void **state)
{
    (void)state;
    assert_string_equal(cmd_find("gate deny")->usage, "C... --reason TEXT");
    assert_string_equal(cmd_find("run")->name, "run");
    assert_null(cmd_find("gate runs"));
    assert_null(cmd_find("run deny"));
}

static void suggests_only_what_is_near(void **state)
{
    (void)state;
    static const struct {
        const char *word, *meant;
    } cases[] = {{"rnu", "run"},
                 {"gat", "gate"},
                 {"dicsard", "discard"},
                 {"lss", "ls"},
                 {"zzz", NULL},
                 {"x", NULL},
                 {"", NULL},
                 {"a word that is far too long to be any command", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = cmd_nearest(commands, cases[i].word);
        if (cases[i].meant)
            assert_string_equal(got, cases[i].meant);
        else
            assert_null(got);
    }
}

static void quotes_for_a_shell(void **state)
{
    (void)state;
    char *words[] = {(char *)"make", (char *)"-j", (char *)"a b",
                     (char *)"it's", (char *)"",   (char *)"$HOME"};
    AUTO_BUF struct buf text = BUF_INIT;
    cmd_quote(&text, words, ARRAY_LEN(words));
    assert_string_equal(text.ptr, "make -j 'a b' 'it'\\''s' '' '$HOME'");
}

static void usage_shows_the_form(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_false(cmd_usage("gate deny", "say why", &err));
    assert_int_equal(err.code, ERR_USAGE);
    assert_string_equal(err.text, "say why; usage: headgate gate deny C... --reason TEXT");
}

static void counts_operands(void **state)
{
    (void)state;
    char *none[] = {(char *)"discard", NULL};
    char *two[] = {(char *)"discard", (char *)"1.1", (char *)"1.2\033[m", NULL};
    struct err err = ERR_INIT;
    AUTO_CMD_ARGS struct cmd_args args = CMD_ARGS_INIT;
    assert_false(cmd_parse_n(&args, none, NULL, 0, 1, 1, &err));
    assert_string_equal(err.text, "something is missing; usage: headgate discard A...");
    assert_false(cmd_parse_n(&args, two, NULL, 0, 1, 1, &err));
    assert_string_equal(err.text, "unexpected word '1.2\\e[m'; usage: headgate discard A...");
    assert_true(cmd_parse_n(&args, two, NULL, 0, 1, SIZE_MAX, &err));
    assert_int_equal(args.operands.n, 2);
}

static void lists_every_command(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT;
    cmd_help(&text);
    for (const struct command *c = commands; c->name; c++)
        assert_non_null(strstr(text.ptr, c->help));
}

static void no_failure_is_a_success(void **state)
{
    (void)state;
    struct err wordless = ERR_INIT, shown = ERR_INIT, wrong = ERR_INIT;
    err_set(&shown, ERR_SHOWN, "help");
    err_set(&wrong, ERR_USAGE, "wrong");
    assert_int_equal(cmd_exit(true, &wordless), 0);
    assert_int_equal(cmd_exit(false, &shown), 0);
    assert_int_equal(cmd_exit(false, &wrong), 2);
    assert_int_equal(cmd_exit(false, &wordless), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_failure_is_a_success),    cmocka_unit_test(finds_full_names),
        cmocka_unit_test(suggests_only_what_is_near), cmocka_unit_test(quotes_for_a_shell),
        cmocka_unit_test(usage_shows_the_form),       cmocka_unit_test(counts_operands),
        cmocka_unit_test(lists_every_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
