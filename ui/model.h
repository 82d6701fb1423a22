/*
 * model: what the dashboard knows of the server: runs, attempts, and the calls that wait. A pure
 * value: snapshot and events in, arrays out; no loop, no clock, no terminal.
 *
 * Invariants
 * 1. runs are sorted by id, newest first; attempts by run (newest first) and number; calls by the
 * time they were asked.
 * 2. calls holds pending calls only. What became of the last ones is in `settled`.
 * 3. Everything is bounded (MODEL_MAX_*): a server's mistake or a flood of calls cannot fill the
 * memory. What is left out is counted. Texts are kept as they came: the canvas sanitises. Members
 * that are absent are "" or 0, never NULL.
 */
#ifndef UI_MODEL_H
#define UI_MODEL_H

#include <jansson.h>
#include <stdint.h>
#include "runner/base/err.h"

enum {
    MODEL_MAX_RUNS = 4096,
    MODEL_MAX_ATTEMPTS = 20000,
    MODEL_MAX_CALLS = 16384,
    MODEL_MAX_ARGS_BYTES =
        64 * 1024 *
        1024, /* of all pending calls; above it a call's arguments are fetched when it is opened */
    MODEL_MAX_TEXT = 8 * 1024, /* of one text of an attempt: task, last line, error */
    MODEL_SETTLED = 64,
};

struct model_run {
    int64_t id, jobs, n, open, created_ms;
    char *repo, *base, *base_ref, *agent, *ladder;
    char *layers; /* summary from attempt.show, "" until it is known */
};

struct model_attempt {
    int64_t run, n;
    int64_t created_ms, started_ms, ended_ms, exit_status, pending, commits, files;
    bool dirty, interactive;
    char *id, *state, *outcome, *agent, *task, *title, *branch, *repo, *base, *base_ref, *tip;
    char *engine, *tree, *last_line, *error, *socket, *log, *ladder;
    char *conflicts; /* with whom, "3.2, main" */
    json_t *pulse;   /* what the agent told of itself, runner/agents/pulse.h; NULL: nothing */
};

struct model_call {
    char *id, *attempt, *state, *source, *agent, *tool, *action, *digest, *why, *reason,
        *decided_by;
    char *cwd, *worktree;    /* "": not told */
    char *sub_id, *sub_type; /* "" for the parent agent */
    int64_t sub_depth, asked_ms, deadline_ms;
    json_t *args;      /* NULL: too large to be kept, see MODEL_MAX_ARGS_BYTES */
    size_t args_bytes; /* about */
};

/* A call that is decided: enough to tell a person who was faster. */
struct model_settled {
    char id[32], state[16], decided_by[64], why[32];
};

struct model {
    uint64_t version; /* grows with every change */
    struct model_run *runs;
    struct model_attempt *attempts;
    struct model_call *calls;
    size_t n_runs, n_attempts, n_calls;
    size_t left_out; /* attempts and calls above the bounds */
    size_t args_bytes;
    struct model_settled settled[MODEL_SETTLED];
    size_t n_settled; /* all ever; the newest is at (n_settled - 1) % MODEL_SETTLED */
};

enum model_change { MODEL_SAME = 0, MODEL_CHANGED = 1, MODEL_NEW_CALL = 2 };

#define MODEL_INIT   \
    {                \
        .version = 0 \
    }
void model_release(struct model *m);
/* Replace everything by a snapshot. Returns a mask of model_change; MODEL_NEW_CALL when a call
 * waits that did not before. */
unsigned model_load(struct model *m, const json_t *snapshot);
/* Apply one event. An event that is not understood changes nothing. */
unsigned model_apply(struct model *m, const json_t *event);
/* Keep the layer summary of a run, from an attempt.show of one of its attempts. */
void model_set_layers(struct model *m, int64_t run, const char *summary);

/* Borrowed until the next change; NULL when unknown. */
const struct model_run *model_run(const struct model *m, int64_t id);
const struct model_attempt *model_attempt(const struct model *m, const char *id);
const struct model_call *model_call(const struct model *m, const char *id);
const struct model_settled *model_settled(const struct model *m, const char *id);
/* The oldest pending call of an attempt, or NULL. */
const struct model_call *model_first_call(const struct model *m, const char *attempt);
bool model_attempt_is_open(const struct model_attempt *a); /* not done */
/* A call as JSON into a value of its own (for one that was fetched alone). */
void model_call_parse(struct model_call *ret, const json_t *call);
void model_call_release(struct model_call *c);

#endif
