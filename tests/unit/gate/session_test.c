/* How often a person is asked in a recorded session of Claude Code: at each rung, and with a few
 * rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runner/base/mem.h"
#include "tests/unit/gate/session.h"

/* What people who work on such a repository let pass after a day. */
static const char *const usual[] = {
    "allow command git status", "allow command git log",  "allow command git diff",
    "allow command git add",    "allow command git grep", "allow command make",
    "allow command ls",         "allow command grep",     "allow command find",
    "allow command head",       "allow command tail",     "allow command cat",
};

static size_t count_asks(enum ladder ladder, bool with_rules, size_t *ret_n)
{
    __attribute__((cleanup(policy_release))) struct policy p = {.ladder = ladder};
    struct call_request *calls;
    struct err err = ERR_INIT;
    size_t n = session_load(&calls, SESSION), asks = 0;
    p.rules = xcalloc(ARRAY_LEN(usual), sizeof(*p.rules));
    for (; with_rules && p.n_rules < ARRAY_LEN(usual); p.n_rules++)
        assert_true(rule_parse(&p.rules[p.n_rules], usual[p.n_rules], &err));
    for (size_t i = 0; i < n; i++) {
        struct judgement j;
        policy_judge(&j, &p, &calls[i], &session_place);
        assert_int_not_equal(j.verdict, VERDICT_DENY);
        asks += j.verdict == VERDICT_ASK;
    }
    session_free(calls, n);
    *ret_n = n;
    return asks;
}

static void asks_at_each_rung(void **state)
{
    (void)state;
    static const struct {
        enum ladder ladder;
        bool with_rules;
        size_t asks;
    } rows[] = {
        {LADDER_CONFIRM, false, 37}, {LADDER_CONFIRM, true, 25}, {LADDER_EDITS, false, 30},
        {LADDER_EDITS, true, 18},    {LADDER_AUTO, false, 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n, asks = count_asks(rows[i].ladder, rows[i].with_rules, &n);
        printf("%s%s: %zu of %zu calls asked, %.0f per 100\n", ladder_name(rows[i].ladder),
               rows[i].with_rules ? " and twelve rules" : "", asks, n,
               100.0 * (double)asks / (double)n);
        assert_int_equal(asks, rows[i].asks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asks_at_each_rung)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
