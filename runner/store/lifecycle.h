/*
 * lifecycle: the states of an attempt and the one table that says what may follow what.
 *
 *   queued -> preparing -> starting -> running -> stopping -> harvesting -> done
 *
 * Pure. The executor writes the new state into the store before it carries out the effects; every
 * effect is idempotent, since recovery after a crash carries out those of the stored state again.
 *
 * What may be assumed in each state:
 *   queued      nothing of this try exists on disk; the scheduler may start it
 *   preparing   worktree, home and plan may be half made
 *   starting    all is made; a keeper may or may not have been started
 *   running     the keeper reported that the agent runs
 *   stopping    somebody asked for the end; whatever was under way ends in done
 *   harvesting  no process of the box lives; commits may be half brought home
 *   done        nothing is under way; the outcome stands
 */
#ifndef STORE_LIFECYCLE_H
#define STORE_LIFECYCLE_H

#include <stdbool.h>

enum attempt_state {
    ATTEMPT_QUEUED,
    ATTEMPT_PREPARING,
    ATTEMPT_STARTING,
    ATTEMPT_RUNNING,
    ATTEMPT_STOPPING,
    ATTEMPT_HARVESTING,
    ATTEMPT_DONE,
    ATTEMPT_STATE_COUNT
};

enum attempt_event {
    ATTEMPT_EV_START,          /* the scheduler's turn */
    ATTEMPT_EV_PREPARED,       /* the folder is whole */
    ATTEMPT_EV_PREPARE_FAILED, /* nothing of it is left */
    ATTEMPT_EV_RECOVERED,      /* what a crash left half prepared is undone */
    ATTEMPT_EV_LAUNCHED,       /* the keeper listens */
    ATTEMPT_EV_LAUNCH_FAILED,  /* there is no keeper */
    ATTEMPT_EV_STARTED,        /* the keeper says that the agent runs */
    ATTEMPT_EV_STOP,           /* a person wants the end */
    ATTEMPT_EV_EXITED,         /* the keeper says that the box has ended */
    ATTEMPT_EV_GONE,           /* the keeper vanished without saying so */
    ATTEMPT_EV_HARVESTED,      /* the harvest ended, well or not (the row tells) */
    ATTEMPT_EV_RESUME,         /* a person wants another go in the same worktree */
    ATTEMPT_EVENT_COUNT
};

/* What the executor does after the new state is on disk, in this order. */
enum attempt_effect {
    ATTEMPT_DO_PREPARE = 1 << 0,
    ATTEMPT_DO_LAUNCH = 1 << 1,
    ATTEMPT_DO_CONNECT = 1 << 2,  /* open the stream to the keeper */
    ATTEMPT_DO_STOP = 1 << 3,     /* tell the keeper to end the box */
    ATTEMPT_DO_ORPHAN = 1 << 4,   /* calls that nobody can answer any more */
    ATTEMPT_DO_QUIT = 1 << 5,     /* all is merged: the keeper may end */
    ATTEMPT_DO_HARVEST = 1 << 6,  /* with snapshot */
    ATTEMPT_DO_SCHEDULE = 1 << 7, /* a place or a candidate has come up */
};

enum attempt_outcome {
    OUTCOME_NONE, /* not known yet */
    OUTCOME_OK,
    OUTCOME_FAILED,
    OUTCOME_STOPPED,
    OUTCOME_TIMEOUT,
    OUTCOME_LOST,
    OUTCOME_COUNT
};

struct lifecycle_step {
    enum attempt_state next;
    unsigned effects; /* of enum attempt_effect */
};

/* False: the event means nothing in this state and is to be ignored. */
bool lifecycle_next(struct lifecycle_step *ret, enum attempt_state state, enum attempt_event event);
/* What recovery carries out for an attempt that was found in this state. Preparing gives nothing:
 * what is half made is undone first. Launching finds a keeper that was started already. */
unsigned lifecycle_recovery(enum attempt_state state);

const char *attempt_state_name(enum attempt_state state);
bool attempt_state_parse(enum attempt_state *ret, const char *name);
/* NULL for OUTCOME_NONE. */
const char *attempt_outcome_name(enum attempt_outcome outcome);
/* Unknown names and NULL give OUTCOME_NONE. */
enum attempt_outcome attempt_outcome_parse(const char *name);
/* The outcome of an ended box: cause is that of the keeper's `exited` record. Unknown causes count
 * as failed. */
enum attempt_outcome attempt_outcome_of(const char *cause, int status);

#endif
