#include "tests/unit/base/scratch.h"

#include "runner/base/mem.h"
#include "runner/base/opt.h"

/* One of each kind. */
struct values {
    bool is_json, is_quiet;
    const char *base;
    struct strv prompts;
    int64_t count, time_ms, memory;
};

enum { MAX_WORDS = 8, N_OPTIONS = 7 };

static void fill_table(struct opt table[N_OPTIONS], struct values *v)
{
    const struct opt filled[N_OPTIONS] = {
        {.long_name = "json", .kind = OPT_FLAG, .target = &v->is_json, .help = "Print JSON"},
        {'q', NULL, OPT_FLAG, &v->is_quiet, NULL, "Say less", 0, 0},
        {'b', "base", OPT_STRING, &v->base, "REF", "Start here", 0, 0},
        {'p', "prompt", OPT_LIST, &v->prompts, "PROMPT", "Ask for this", 0, 0},
        {'n', "count", OPT_INT, &v->count, "N", "How many", 1, 100},
        {0, "time", OPT_DURATION, &v->time_ms, "TIME", "How long", 0, 0},
        {0, "memory-of-the-whole-box", OPT_SIZE, &v->memory, "SIZE", "How much", 0, 0},
    };
    memcpy(table, filled, sizeof(filled));
}

/* What was parsed, as one line; or the error. */
static char *parse(char *const *argv, bool stop_at_operand)
{
    struct values v = {.prompts = STRV_INIT};
    struct opt table[N_OPTIONS];
    fill_table(table, &v);
    AUTO_STRV struct strv operands = STRV_INIT;
    size_t dashdash = 77;
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    if (!opt_parse(&operands, &dashdash, table, N_OPTIONS, argv, stop_at_operand, &err)) {
        assert_int_equal(err.code, ERR_USAGE);
        assert_int_equal(dashdash, 77);
        buf_addf(&out, "error: %s", err.text);
    } else {
        buf_addf(&out, "%s%s%s n=%d t=%d m=%d", v.is_json ? "json " : "",
                 v.is_quiet ? "quiet " : "", v.base ? v.base : "-", (int)v.count, (int)v.time_ms,
                 (int)v.memory);
        for (size_t i = 0; i < v.prompts.n; i++)
            buf_addf(&out, " p:%s", v.prompts.v[i]);
        for (size_t i = 0; i < operands.n; i++)
            buf_addf(&out, "%s%s", i == dashdash ? " -- " : " ", operands.v[i]);
        if (dashdash == operands.n)
            buf_adds(&out, " --");
    }
    strv_release(&v.prompts);
    return buf_steal(&out);
}

static void parses(void **state)
{
    (void)state;
    static const struct {
        const char *argv[MAX_WORDS];
        bool stop_at_operand;
        const char *result;
    } cases[] = {
        {{"run"}, false, "- n=0 t=0 m=0"},
        {{"run", "--json", "-q", "x"}, false, "json quiet - n=0 t=0 m=0 x"},
        {{"run", "--base", "main", "y"}, false, "main n=0 t=0 m=0 y"},
        {{"run", "--base=", "y"}, false, " n=0 t=0 m=0 y"},
        {{"run", "-bmain", "-n", "3"}, false, "main n=3 t=0 m=0"},
        {{"run", "-qn3"}, false, "quiet - n=3 t=0 m=0"},
        {{"run", "-pone", "--prompt=two", "-p", "--json"},
         false,
         "- n=0 t=0 m=0 p:one p:two p:--json"},
        {{"run", "--time", "2m", "--memory-of-the-whole-box=1k"}, false, "- n=0 t=120000 m=1024"},
        {{"run", "x", "--json"}, false, "json - n=0 t=0 m=0 x"},
        {{"run", "x", "--json"}, true, "- n=0 t=0 m=0 x --json"},
        {{"run", "-q", "--", "--json", "--"}, false, "quiet - n=0 t=0 m=0 -- --json --"},
        {{"run", "x", "--", "y"}, false, "- n=0 t=0 m=0 x -- y"},
        {{"run", "--"}, false, "- n=0 t=0 m=0 --"},
        {{"run", "-"}, false, "- n=0 t=0 m=0 -"},
        {{"run", "--jsn"}, false, "error: unknown option --jsn; did you mean --json?"},
        {{"run", "--entirely"}, false, "error: unknown option --entirely"},
        {{"run", "-x"}, false, "error: unknown option -x"},
        {{"run", "-qx"}, false, "error: unknown option -x"},
        {{"run", "--json=1"}, false, "error: option --json takes no value"},
        {{"run", "--base"}, false, "error: option --base needs a value: REF"},
        {{"run", "-b"}, false, "error: option --base needs a value: REF"},
        {{"run", "-ba", "-bb"}, false, "error: option --base was given twice"},
        {{"run", "-n0"}, false, "error: option --count needs a number from 1 to 100, not '0'"},
        {{"run", "-n", "101"},
         false,
         "error: option --count needs a number from 1 to 100, not '101'"},
        {{"run", "-n", " 3"},
         false,
         "error: option --count needs a number from 1 to 100, not ' 3'"},
        {{"run", "-n", "3x"},
         false,
         "error: option --count needs a number from 1 to 100, not '3x'"},
        {{"run", "--count="}, false, "error: option --count needs a number from 1 to 100, not ''"},
        {{"run", "--time", "soon"},
         false,
         "error: option --time: 'soon' is not a duration such as 90s, 15m, 2h or 1d"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *argv[MAX_WORDS + 1] = {NULL};
        for (size_t k = 0; k < MAX_WORDS && cases[i].argv[k]; k++)
            argv[k] = xstrdup(cases[i].argv[k]);
        AUTO_FREE char *result = parse(argv, cases[i].stop_at_operand);
        assert_string_equal(result, cases[i].result);
        for (size_t k = 0; argv[k]; k++)
            free(argv[k]);
    }
}

static void very_long_names_are_only_unknown(void **state)
{
    (void)state;
    char word[300];
    memset(word, '-', 2);
    memset(word + 2, 'x', sizeof(word) - 3);
    word[sizeof(word) - 1] = '\0';
    AUTO_FREE char *result = parse((char *const[]){"run", word, NULL}, false);
    assert_memory_equal(result, "error: unknown option --xxx", 26);
}

static void help_is_aligned(void **state)
{
    (void)state;
    struct values v;
    struct opt table[N_OPTIONS];
    fill_table(table, &v);
    AUTO_BUF struct buf out = BUF_INIT;
    opt_help(&out, table, N_OPTIONS);
    assert_string_equal(out.ptr, "      --json           Print JSON\n"
                                 "  -q                   Say less\n"
                                 "  -b, --base REF       Start here\n"
                                 "  -p, --prompt PROMPT  Ask for this\n"
                                 "  -n, --count N        How many\n"
                                 "      --time TIME      How long\n"
                                 "      --memory-of-the-whole-box SIZE\n"
                                 "                       How much\n");
}

static void help_stays_within_eighty_columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t column, indent;
        const char *wrapped;
    } cases[] = {
        {"", 0, 4, "\n"},
        {"usage: a", 0, 7, "usage: a\n"},
        {"short", 4, 4, "short\n"},
        {"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 012", 0, 4,
         "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 012\n"},
        {"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123", 0, 4,
         "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n"
         "    0123\n"},
        {"of one [that stays whole] or not", 60, 8, "of one\n        [that stays whole] or not\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT;
        opt_add_wrapped(&out, cases[i].text, cases[i].column, cases[i].indent);
        assert_string_equal(out.ptr, cases[i].wrapped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(very_long_names_are_only_unknown),
        cmocka_unit_test(help_is_aligned),
        cmocka_unit_test(help_stays_within_eighty_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
