/*
 * The table, whole: every state with every event. What is not listed here must mean nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runner/base/mem.h"
#include "runner/store/lifecycle.h"

enum {
    EXIT_EFFECTS = ATTEMPT_DO_QUIT | ATTEMPT_DO_HARVEST | ATTEMPT_DO_SCHEDULE,
    LOSS_EFFECTS = ATTEMPT_DO_ORPHAN | ATTEMPT_DO_HARVEST | ATTEMPT_DO_SCHEDULE,
};

static const struct expected {
    enum attempt_state state;
    enum attempt_event event;
    enum attempt_state next;
    unsigned effects;
} table[] = {
    {ATTEMPT_QUEUED, ATTEMPT_EV_START, ATTEMPT_PREPARING, ATTEMPT_DO_PREPARE},
    {ATTEMPT_QUEUED, ATTEMPT_EV_STOP, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_PREPARING, ATTEMPT_EV_PREPARED, ATTEMPT_STARTING, ATTEMPT_DO_LAUNCH},
    {ATTEMPT_PREPARING, ATTEMPT_EV_PREPARE_FAILED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_PREPARING, ATTEMPT_EV_RECOVERED, ATTEMPT_QUEUED, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_PREPARING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING, 0},
    {ATTEMPT_STARTING, ATTEMPT_EV_LAUNCHED, ATTEMPT_STARTING, ATTEMPT_DO_CONNECT},
    {ATTEMPT_STARTING, ATTEMPT_EV_LAUNCH_FAILED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_STARTING, ATTEMPT_EV_STARTED, ATTEMPT_RUNNING, 0},
    {ATTEMPT_STARTING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING, ATTEMPT_DO_STOP},
    {ATTEMPT_STARTING, ATTEMPT_EV_EXITED, ATTEMPT_HARVESTING, EXIT_EFFECTS},
    {ATTEMPT_STARTING, ATTEMPT_EV_GONE, ATTEMPT_HARVESTING, LOSS_EFFECTS},
    {ATTEMPT_RUNNING, ATTEMPT_EV_STARTED, ATTEMPT_RUNNING, 0},
    {ATTEMPT_RUNNING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING, ATTEMPT_DO_STOP},
    {ATTEMPT_RUNNING, ATTEMPT_EV_EXITED, ATTEMPT_HARVESTING, EXIT_EFFECTS},
    {ATTEMPT_RUNNING, ATTEMPT_EV_GONE, ATTEMPT_HARVESTING, LOSS_EFFECTS},
    {ATTEMPT_STOPPING, ATTEMPT_EV_PREPARED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_STOPPING, ATTEMPT_EV_PREPARE_FAILED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_STOPPING, ATTEMPT_EV_RECOVERED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_STOPPING, ATTEMPT_EV_LAUNCHED, ATTEMPT_STOPPING, ATTEMPT_DO_CONNECT},
    {ATTEMPT_STOPPING, ATTEMPT_EV_LAUNCH_FAILED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_STOPPING, ATTEMPT_EV_STARTED, ATTEMPT_STOPPING, ATTEMPT_DO_STOP},
    {ATTEMPT_STOPPING, ATTEMPT_EV_STOP, ATTEMPT_STOPPING, ATTEMPT_DO_STOP},
    {ATTEMPT_STOPPING, ATTEMPT_EV_EXITED, ATTEMPT_HARVESTING, EXIT_EFFECTS},
    {ATTEMPT_STOPPING, ATTEMPT_EV_GONE, ATTEMPT_HARVESTING, LOSS_EFFECTS},
    {ATTEMPT_HARVESTING, ATTEMPT_EV_HARVESTED, ATTEMPT_DONE, ATTEMPT_DO_SCHEDULE},
    {ATTEMPT_HARVESTING, ATTEMPT_EV_STOP, ATTEMPT_HARVESTING, 0},
    {ATTEMPT_DONE, ATTEMPT_EV_STOP, ATTEMPT_DONE, 0},
    {ATTEMPT_DONE, ATTEMPT_EV_RESUME, ATTEMPT_QUEUED, ATTEMPT_DO_SCHEDULE},
};

static const struct expected *find(enum attempt_state state, enum attempt_event event)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].state == state && table[i].event == event)
            return &table[i];
    return NULL;
}

static void every_state_with_every_event(void **unused)
{
    (void)unused;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        for (int e = 0; e < ATTEMPT_EVENT_COUNT; e++) {
            enum attempt_state state = (enum attempt_state)s;
            enum attempt_event event = (enum attempt_event)e;
            const struct expected *want = find(state, event);
            struct lifecycle_step step = {ATTEMPT_STATE_COUNT, ~0U};
            bool possible = lifecycle_next(&step, state, event);
            if (possible != (want != NULL))
                fail_msg("event %d in %s: possible %d", e, attempt_state_name(state), possible);
            if (!want) {
                assert_int_equal(step.next, ATTEMPT_STATE_COUNT); /* untouched */
                continue;
            }
            assert_int_equal(step.next, want->next);
            assert_int_equal(step.effects, want->effects);
        }
    }
}

/* From every state but done, some way leads to done: nothing is stuck by design. */
static void every_state_can_end(void **unused)
{
    (void)unused;
    bool ends[ATTEMPT_STATE_COUNT] = {[ATTEMPT_DONE] = true};
    for (int round = 0; round < ATTEMPT_STATE_COUNT; round++)
        for (size_t i = 0; i < ARRAY_LEN(table); i++)
            if (ends[table[i].next])
                ends[table[i].state] = true;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++)
        assert_true(ends[s]);
}

static void a_stop_is_understood_in_every_state(void **unused)
{
    (void)unused;
    struct lifecycle_step step;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++)
        assert_true(lifecycle_next(&step, (enum attempt_state)s, ATTEMPT_EV_STOP));
}

static void recovery_of_each_state(void **unused)
{
    (void)unused;
    static const unsigned want[ATTEMPT_STATE_COUNT] = {
        [ATTEMPT_QUEUED] = ATTEMPT_DO_SCHEDULE,
        [ATTEMPT_PREPARING] = 0,
        [ATTEMPT_STARTING] = ATTEMPT_DO_LAUNCH,
        [ATTEMPT_RUNNING] = ATTEMPT_DO_CONNECT,
        [ATTEMPT_STOPPING] = ATTEMPT_DO_CONNECT,
        [ATTEMPT_HARVESTING] = ATTEMPT_DO_ORPHAN | ATTEMPT_DO_QUIT | ATTEMPT_DO_HARVEST,
        [ATTEMPT_DONE] = 0,
    };
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++)
        assert_int_equal(lifecycle_recovery((enum attempt_state)s), want[s]);
}

static void names_go_there_and_back(void **unused)
{
    (void)unused;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        enum attempt_state state;
        assert_true(attempt_state_parse(&state, attempt_state_name((enum attempt_state)s)));
        assert_int_equal(state, s);
    }
    for (int o = OUTCOME_OK; o < OUTCOME_COUNT; o++)
        assert_int_equal(attempt_outcome_parse(attempt_outcome_name((enum attempt_outcome)o)), o);
    enum attempt_state state;
    assert_false(attempt_state_parse(&state, "walking"));
    assert_int_equal(attempt_outcome_parse("fine"), OUTCOME_NONE);
    assert_int_equal(attempt_outcome_parse(NULL), OUTCOME_NONE);
    assert_null(attempt_outcome_name(OUTCOME_NONE));
}

static void outcomes_of_causes(void **unused)
{
    (void)unused;
    static const struct {
        const char *cause;
        int status;
        enum attempt_outcome want;
    } cases[] = {
        {"exit", 0, OUTCOME_OK},           {"exit", 3, OUTCOME_FAILED},
        {"stopped", 143, OUTCOME_STOPPED}, {"stopped", 0, OUTCOME_STOPPED},
        {"timeout", 137, OUTCOME_TIMEOUT}, {"memory", 137, OUTCOME_FAILED},
        {"pids", 137, OUTCOME_FAILED},     {"output", 137, OUTCOME_FAILED},
        {"failed", 125, OUTCOME_FAILED},   {"a later word", 0, OUTCOME_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(attempt_outcome_of(cases[i].cause, cases[i].status), cases[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_with_every_event),
        cmocka_unit_test(every_state_can_end),
        cmocka_unit_test(a_stop_is_understood_in_every_state),
        cmocka_unit_test(recovery_of_each_state),
        cmocka_unit_test(names_go_there_and_back),
        cmocka_unit_test(outcomes_of_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
