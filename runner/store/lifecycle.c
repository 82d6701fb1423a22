#include "runner/store/lifecycle.h"

#include <stddef.h>
#include <string.h>

#include "runner/base/mem.h"

struct rule {
    bool is_possible;
    enum attempt_state next;
    unsigned effects;
};

enum {
    ON_EXIT = ATTEMPT_DO_QUIT | ATTEMPT_DO_HARVEST | ATTEMPT_DO_SCHEDULE,
    ON_LOSS = ATTEMPT_DO_ORPHAN | ATTEMPT_DO_HARVEST | ATTEMPT_DO_SCHEDULE,
};

#define TO(state, what)               \
    {                                 \
        true, ATTEMPT_##state, (what) \
    }

/* clang-format off */
static const struct rule rules[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT] = {
    [ATTEMPT_QUEUED] = {
        [ATTEMPT_EV_START] = TO(PREPARING, ATTEMPT_DO_PREPARE),
        [ATTEMPT_EV_STOP] = TO(DONE, ATTEMPT_DO_SCHEDULE),
    },
    [ATTEMPT_PREPARING] = {
        [ATTEMPT_EV_PREPARED] = TO(STARTING, ATTEMPT_DO_LAUNCH),
        [ATTEMPT_EV_PREPARE_FAILED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_RECOVERED] = TO(QUEUED, ATTEMPT_DO_SCHEDULE),
        /* A worker is busy with it: its report comes in stopping. */
        [ATTEMPT_EV_STOP] = TO(STOPPING, 0),
    },
    [ATTEMPT_STARTING] = {
        [ATTEMPT_EV_LAUNCHED] = TO(STARTING, ATTEMPT_DO_CONNECT),
        [ATTEMPT_EV_LAUNCH_FAILED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_STARTED] = TO(RUNNING, 0),
        [ATTEMPT_EV_STOP] = TO(STOPPING, ATTEMPT_DO_STOP),
        [ATTEMPT_EV_EXITED] = TO(HARVESTING, ON_EXIT),
        [ATTEMPT_EV_GONE] = TO(HARVESTING, ON_LOSS),
    },
    [ATTEMPT_RUNNING] = {
        /* A keeper that starts its agent again says so again. */
        [ATTEMPT_EV_STARTED] = TO(RUNNING, 0),
        [ATTEMPT_EV_STOP] = TO(STOPPING, ATTEMPT_DO_STOP),
        [ATTEMPT_EV_EXITED] = TO(HARVESTING, ON_EXIT),
        [ATTEMPT_EV_GONE] = TO(HARVESTING, ON_LOSS),
    },
    [ATTEMPT_STOPPING] = {
        [ATTEMPT_EV_PREPARED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_PREPARE_FAILED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_RECOVERED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        /* The stream says `stop` as soon as it is open. */
        [ATTEMPT_EV_LAUNCHED] = TO(STOPPING, ATTEMPT_DO_CONNECT),
        [ATTEMPT_EV_LAUNCH_FAILED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_STARTED] = TO(STOPPING, ATTEMPT_DO_STOP),
        [ATTEMPT_EV_STOP] = TO(STOPPING, ATTEMPT_DO_STOP),
        [ATTEMPT_EV_EXITED] = TO(HARVESTING, ON_EXIT),
        [ATTEMPT_EV_GONE] = TO(HARVESTING, ON_LOSS),
    },
    [ATTEMPT_HARVESTING] = {
        [ATTEMPT_EV_HARVESTED] = TO(DONE, ATTEMPT_DO_SCHEDULE),
        [ATTEMPT_EV_STOP] = TO(HARVESTING, 0),
    },
    [ATTEMPT_DONE] = {
        [ATTEMPT_EV_STOP] = TO(DONE, 0),
        [ATTEMPT_EV_RESUME] = TO(QUEUED, ATTEMPT_DO_SCHEDULE),
    },
};
/* clang-format on */

bool lifecycle_next(struct lifecycle_step *ret, enum attempt_state state, enum attempt_event event)
{
    const struct rule *rule = &rules[state][event];
    if (!rule->is_possible)
        return false;
    *ret = (struct lifecycle_step){.next = rule->next, .effects = rule->effects};
    return true;
}

unsigned lifecycle_recovery(enum attempt_state state)
{
    switch (state) {
    case ATTEMPT_QUEUED:
        return ATTEMPT_DO_SCHEDULE;
    case ATTEMPT_STARTING:
        return ATTEMPT_DO_LAUNCH;
    case ATTEMPT_RUNNING:
    case ATTEMPT_STOPPING:
        return ATTEMPT_DO_CONNECT;
    case ATTEMPT_HARVESTING:
        return ATTEMPT_DO_ORPHAN | ATTEMPT_DO_QUIT | ATTEMPT_DO_HARVEST;
    case ATTEMPT_PREPARING:
    case ATTEMPT_DONE:
    case ATTEMPT_STATE_COUNT:
        break;
    }
    return 0;
}

static const char *const state_names[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_QUEUED] = "queued",     [ATTEMPT_PREPARING] = "preparing",
    [ATTEMPT_STARTING] = "starting", [ATTEMPT_RUNNING] = "running",
    [ATTEMPT_STOPPING] = "stopping", [ATTEMPT_HARVESTING] = "harvesting",
    [ATTEMPT_DONE] = "done",
};

static const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_OK] = "ok",           [OUTCOME_FAILED] = "failed", [OUTCOME_STOPPED] = "stopped",
    [OUTCOME_TIMEOUT] = "timeout", [OUTCOME_LOST] = "lost",
};

const char *attempt_state_name(enum attempt_state state)
{
    return state_names[state];
}

bool attempt_state_parse(enum attempt_state *ret, const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(state_names); i++) {
        if (strcmp(state_names[i], name) != 0)
            continue;
        *ret = (enum attempt_state)i;
        return true;
    }
    return false;
}

const char *attempt_outcome_name(enum attempt_outcome outcome)
{
    return outcome_names[outcome];
}

enum attempt_outcome attempt_outcome_parse(const char *name)
{
    for (size_t i = OUTCOME_OK; name && i < ARRAY_LEN(outcome_names); i++)
        if (strcmp(outcome_names[i], name) == 0)
            return (enum attempt_outcome)i;
    return OUTCOME_NONE;
}

enum attempt_outcome attempt_outcome_of(const char *cause, int status)
{
    if (strcmp(cause, "exit") == 0)
        return status == 0 ? OUTCOME_OK : OUTCOME_FAILED;
    if (strcmp(cause, "stopped") == 0)
        return OUTCOME_STOPPED;
    if (strcmp(cause, "timeout") == 0)
        return OUTCOME_TIMEOUT;
    return OUTCOME_FAILED;
}
