/*
 * create: everything that run.create checks and decides before anything is stored, as a value.
 * create_examine and create_number block (git, a probe of the box, the file system) and run on a
 * worker thread.
 */
#ifndef SERVER_CREATE_H
#define SERVER_CREATE_H

#include "runner/agents/agent.h"
#include "runner/attempt/attempt.h"
#include "runner/server/control.h"

/* Of run and attempt. */
#define CREATE_BRANCH_FORMAT "headgate/%lld/%lld"

struct create {
    struct request *request;
    const struct paths *paths;
    const struct config *config;
    const json_t *body; /* of the request, which waits meanwhile */
    bool ok;
    struct err err;

    /* create_examine */
    struct strv env, desktop, secrets;
    struct wt_repo repo;
    struct wt_commit base;
    const struct agent *agent;
    bool has_no_canary;     /* though there could be one */
    struct agent own_agent; /* what agent is, when it is one of the person's own */
    int64_t n, jobs, time_ms;
    struct layer_report layers;
    bool has_layers; /* in: they are known already; out: always */
    enum ladder ladder;
    enum exec_policy exec;
    bool exec_required;
    int64_t ask_ms; /* 0: as configured */
    bool ask_waits;
    enum ladder loosest; /* that the repository lets a task have */
    struct strv rules;   /* of the repository, for this run */
    struct buf rung_why;
    char *require;        /* layer list or NULL */
    char *setup;          /* command to run first, NULL: none */
    char *teardown;       /* command to run last, NULL: none */
    char *consent_digest; /* set when something of the repository's .headgate counts */
    char *consent_asks;   /* what that is, for the person */
    struct strv net;      /* listed hosts */
    struct model_ways models;
    json_t *keys;      /* of the models, taken out of env; NULL: none */
    json_t *logins;    /* for the broker, taken out of desktop; NULL: none */
    struct strv notes; /* sentences for the person */

    /* create_number */
    int64_t wish, number;
};

struct create *create_new(struct request *r);
void create_free(struct create *c);
void create_examine(void *arg);
void create_number(void *arg);
/* Hold the base for all attempts, as its branches have none of their refs yet. */
void create_hold(void *arg);
/* The attempt's number n (1-based) for a task. Caller releases. */
void create_spec(struct attempt_spec *ret, const struct create *c, const json_t *task, int64_t n);
/* The rung of a task: its own, never looser than the repository wants it; *ret is the run's before.
 */
bool create_task_rung(enum ladder *ret, const struct create *c, const json_t *task,
                      struct err *err) WARN_UNUSED;
/* Append the ports of this host that it may reach, as decimal text. */
void create_add_services(struct strv *out, const struct create *c);
/* "30m, then denied as a timeout": how long its calls wait for a person. */
void create_add_ask(struct buf *out, const struct create *c);
/* A short title of a task for lists. Allocated. */
char *create_title(const struct create *c, const json_t *task);

#endif
