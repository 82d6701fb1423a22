#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runner/base/mem.h"
#include "runner/cmd/run_opts.h"

enum { WORDS_MAX = 12 };

static bool parse(struct run_opts *o, const char *const *words, struct err *err)
{
    char *argv[WORDS_MAX + 2] = {(char *)"run"};
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = (char *)words[i];
    run_opts_init(o);
    return run_opts_parse(o, argv, err);
}

static void takes_a_prompt_and_numbers(void **state)
{
    (void)state;
    AUTO_RUN_OPTS struct run_opts o;
    struct err err = ERR_INIT;
    const char *const words[] = {"-n", "4", "-j2", "--base=v1", "fix it", "--detach", NULL};
    assert_true(parse(&o, words, &err));
    assert_int_equal(o.n, 4);
    assert_int_equal(o.jobs, 2);
    assert_string_equal(o.base, "v1");
    assert_int_equal(o.prompts.n, 1);
    assert_string_equal(o.prompts.v[0], "fix it");
    assert_true(o.detach);
    assert_int_equal(o.command.n, 0);
}

static void takes_a_command_with_its_own_options(void **state)
{
    (void)state;
    AUTO_RUN_OPTS struct run_opts o;
    struct err err = ERR_INIT;
    const char *const words[] = {"-n8", "--", "make", "-j", "--json", NULL};
    assert_true(parse(&o, words, &err));
    assert_int_equal(o.n, 8);
    assert_int_equal(o.command.n, 3);
    assert_string_equal(o.command.v[2], "--json");
    assert_false(o.json);
    assert_int_equal(o.prompts.n, 0);
}

static void takes_prompts_for_a_command(void **state)
{
    (void)state;
    AUTO_RUN_OPTS struct run_opts o;
    struct err err = ERR_INIT;
    const char *const words[] = {"-p", "a", "-p", "b", "--", "./agent", NULL};
    assert_true(parse(&o, words, &err));
    assert_int_equal(o.prompts.n, 2);
    assert_int_equal(o.command.n, 1);
    AUTO_RUN_OPTS struct run_opts one;
    const char *const operand[] = {"do it", "--", "./agent", NULL};
    assert_true(parse(&one, operand, &err));
    assert_string_equal(one.prompts.v[0], "do it");
}

static void takes_limits(void **state)
{
    (void)state;
    AUTO_RUN_OPTS struct run_opts o;
    struct err err = ERR_INIT;
    const char *const words[] = {"--memory",       "4G", "--pids",    "100",  "--timeout", "30m",
                                 "--output-limit", "1M", "--service", "5432", "x",         NULL};
    assert_true(parse(&o, words, &err));
    assert_int_equal(o.memory_bytes, 4LL << 30);
    assert_int_equal(o.pids, 100);
    assert_int_equal(o.time_ms, 30 * 60 * 1000);
    assert_int_equal(o.output_bytes, 1 << 20);
    assert_string_equal(o.services.v[0], "5432");
}

struct bad {
    const char *words[WORDS_MAX];
    const char *error; /* a part of the sentence */
};

static const struct bad bads[] = {
    {{"fix", "the", "parser's", "bug"}, "headgate run 'fix the parser'\\''s bug'"},
    {{NULL}, "there is nothing to do"},
    {{"--"}, "-- needs a command behind it"},
    {{"x", "-p", "y"}, "give the tasks in one way"},
    {{"--tasks", "f", "y"}, "give the tasks in one way"},
    {{"--tasks", "f", "-p", "y"}, "give the tasks in one way"},
    {{"--template", "t", "y"}, "--template goes with --tasks"},
    {{"--agent", "claude", "--", "make"}, "exclude each other"},
    {{"--agent", "command", "x"}, "needs a command"},
    {{"-n", "0", "x"}, "needs a number from 1"},
    {{"-n", "x"}, "needs a number from 1"},
    {{"--servce", "5432", "x"}, "did you mean --service?"},
    {{"--service", "0", "x"}, "--service needs a port from 1 to 65535, not '0'"},
    {{"--service", "5432x", "x"}, "--service needs a port"},
    {{"-i", "--json", "x"}, "exclude each other"},
    {{"--timeout", "soon", "x"}, "--timeout"},
};

static void says_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
        AUTO_RUN_OPTS struct run_opts o;
        struct err err = ERR_INIT;
        if (parse(&o, bads[i].words, &err))
            fail_msg("no error where '%s' was expected", bads[i].error);
        assert_int_equal(err.code, ERR_USAGE);
        if (!strstr(err.text, bads[i].error))
            fail_msg("got '%s', not '%s'", err.text, bads[i].error);
    }
}

static void interactive_needs_no_prompt(void **state)
{
    (void)state;
    AUTO_RUN_OPTS struct run_opts o;
    struct err err = ERR_INIT;
    const char *const words[] = {"-i", NULL};
    assert_true(parse(&o, words, &err));
    assert_true(o.interactive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_prompt_and_numbers),
        cmocka_unit_test(takes_a_command_with_its_own_options),
        cmocka_unit_test(takes_prompts_for_a_command),
        cmocka_unit_test(takes_limits),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(interactive_needs_no_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
