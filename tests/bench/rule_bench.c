/*
 * What one judgement costs: rule_bench [RULES [ROUNDS]]. Judges the calls of a recorded session
 * with so many rules of all kinds, of which none covers them, which is the longest way; prints p50
 * and p99.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runner/base/mem.h"
#include "tests/unit/gate/session.h"

static void add_rules(struct policy *p, size_t n)
{
    static const char *const forms[][2] = {{"allow command tool", " run"},
                                           {"deny path private/", "/"},
                                           {"ask host h", ".example.com"},
                                           {"allow exactly make t", ""},
                                           {"allow tool T", ""}};
    p->rules = xcalloc(n + 1, sizeof(*p->rules));
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        const char *const *form = forms[i % ARRAY_LEN(forms)];
        AUTO_FREE char *text = xasprintf("%s%zu%s", form[0], i, form[1]);
        if (!rule_parse(&p->rules[p->n_rules++], text, &err))
            exit(2);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    size_t n_rules = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    struct policy p = {.ladder = LADDER_EDITS};
    struct call_request *calls;
    size_t n = session_load(&calls, SESSION), taken = 0;
    double *times = xcalloc(n * rounds + 1, sizeof(*times));
    add_rules(&p, n_rules);
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++) {
            struct judgement j;
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            policy_judge(&j, &p, &calls[i], &session_place);
            clock_gettime(CLOCK_MONOTONIC, &to);
            times[taken++] =
                (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
        }
    qsort(times, taken, sizeof(*times), by_value);
    if (taken)
        printf("a judgement with %zu rules: p50 %.1f us, p99 %.1f us (n=%zu)\n", n_rules,
               times[taken / 2], times[taken * 99 / 100], taken);
    free(times);
    session_free(calls, n);
    policy_release(&p);
    return 0;
}
