/*
 * Whose turn it is: the pure choice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runner/base/mem.h"
#include "runner/server/sched.h"

/* Choose until nothing more may start; the runs chosen, in order. */
static size_t choose_all(struct sched_view *view, int64_t *queued, size_t n, int64_t *chosen)
{
    size_t count = 0;
    int64_t run;
    while ((run = sched_choose(view, queued, n)) != 0) {
        chosen[count++] = run;
        for (size_t i = 0; i < n; i++) {
            if (queued[i] != run)
                continue;
            queued[i] = 0;
            break;
        }
    }
    return count;
}

static void a_run_has_its_own_limit(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 2}};
    struct sched_view view = {.runs = runs, .n_runs = 1, .max_active = 100};
    int64_t queued[] = {1, 1, 1, 1}, chosen[4];
    assert_int_equal(choose_all(&view, queued, ARRAY_LEN(queued), chosen), 2);
    assert_int_equal(view.active, 2);
    assert_int_equal(runs[0].active, 2);
}

static void what_is_active_counts(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 2, .active = 1}};
    struct sched_view view = {.runs = runs, .n_runs = 1, .active = 1, .max_active = 100};
    int64_t queued[] = {1, 1}, chosen[2];
    assert_int_equal(choose_all(&view, queued, ARRAY_LEN(queued), chosen), 1);
}

static void older_runs_go_first_and_full_ones_make_way(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 1}, {.run = 2, .jobs = 2}};
    struct sched_view view = {.runs = runs, .n_runs = 2, .max_active = 100};
    int64_t queued[] = {1, 1, 2, 2, 2}, chosen[5];
    assert_int_equal(choose_all(&view, queued, ARRAY_LEN(queued), chosen), 3);
    assert_int_equal(chosen[0], 1);
    assert_int_equal(chosen[1], 2);
    assert_int_equal(chosen[2], 2);
}

static void all_runs_share_a_limit(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 9}, {.run = 2, .jobs = 9}};
    struct sched_view view = {.runs = runs, .n_runs = 2, .active = 1, .max_active = 3};
    int64_t queued[] = {1, 2, 2}, chosen[3];
    assert_int_equal(choose_all(&view, queued, ARRAY_LEN(queued), chosen), 2);
}

static void short_memory_holds_back_all_but_the_first(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 9}};
    struct sched_view view = {.runs = runs, .n_runs = 1, .max_active = 9, .is_memory_short = true};
    int64_t queued[] = {1, 1, 1}, chosen[3];
    assert_int_equal(choose_all(&view, queued, ARRAY_LEN(queued), chosen), 1);
}

static void an_empty_queue_starts_nothing(void **unused)
{
    (void)unused;
    struct sched_run runs[] = {{.run = 1, .jobs = 9}};
    struct sched_view view = {.runs = runs, .n_runs = 1, .max_active = 9};
    assert_int_equal(sched_choose(&view, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_has_its_own_limit),
        cmocka_unit_test(what_is_active_counts),
        cmocka_unit_test(older_runs_go_first_and_full_ones_make_way),
        cmocka_unit_test(all_runs_share_a_limit),
        cmocka_unit_test(short_memory_holds_back_all_but_the_first),
        cmocka_unit_test(an_empty_queue_starts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
