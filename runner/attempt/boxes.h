/*
 * boxes: the two kinds of box of an attempt: the agent's own, and the helper boxes in which git
 * reads what the agent wrote.
 */
#ifndef ATTEMPT_BOXES_H
#define ATTEMPT_BOXES_H

#include "runner/attempt/account.h"
#include "runner/attempt/attempt.h"
#include "runner/base/jx.h"
#include "sandbox/box.h"

/* Inside the box. */
#define BOXES_INSIDE "/run/headgate"
#define BOXES_GATE BOXES_INSIDE "/gate.sock"

#define BOXES_BIN BOXES_INSIDE "/bin"

/* What does not change between the boxes of an attempt. All borrowed. */
struct boxes {
    const struct paths *paths;
    const struct config *config;
    const struct attempt_spec *spec;
    const struct wt_attempt *tree;
    struct account account;
    const json_t *remotes; /* broker_side.h; NULL: not for an agent's box */
};

/* The limits of a box for which none are named. */
int64_t boxes_memory(const struct config *config);
int64_t boxes_pids(const struct config *config);
/* The person's home as the person's environment names it; where the private home appears inside. */
const char *boxes_home(const struct boxes *b);
/* What is said to the agent at its start: the task, or to one that goes on the message; a person
 * who opens its terminal again speaks first. Borrowed of s. */
const char *boxes_task(const struct attempt_spec *s);
/* The agent's box: everything that runs in `headgate-keep`'s care. Also writes the adapter's files.
 */
bool boxes_agent(struct box_spec *ret, const struct boxes *b, struct err *err) WARN_UNUSED;
/* wt_box_fn: arg is a struct boxes. */
bool boxes_run_job(void *arg, const struct wt_box_job *job, struct proc_result *ret,
                   struct err *err);

#endif
