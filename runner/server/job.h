/*
 * job: one piece of blocking work on one attempt, as a value: what goes in, what comes out. job_run
 * is the only part that runs on a worker thread; it touches nothing but the job and read-only
 * settings.
 */
#ifndef SERVER_JOB_H
#define SERVER_JOB_H

#include "gate/ledger.h"
#include "runner/attempt/attempt.h"
#include "runner/server/live.h"
#include "runner/server/shared_source.h"

enum job_kind {              /* in the order in which waiting ones of an attempt are done */
                JOB_RECOVER, /* undo what a crash left half prepared */
                JOB_PREPARE,
                JOB_LAUNCH,
                JOB_REPLAY,      /* the keeper is gone: read what it spooled */
                JOB_BROKER,      /* carry out the next call that a broker may */
                JOB_HARVEST,     /* commits, while the box runs */
                JOB_HARVEST_END, /* with snapshot */
                JOB_DISCARD,
                JOB_KIND_COUNT
};

struct job {
    uv_work_t req;
    struct live *live;
    enum job_kind kind;
    bool is_back; /* has run; waits for the store */
    /* In. */
    const struct paths *paths;
    const struct config *config;
    struct attempt_spec spec;
    struct policy policy;         /* JOB_PREPARE */
    struct shared_source *source; /* JOB_PREPARE */
    json_t *keys;                 /* JOB_LAUNCH: of the model; NULL: none are known */
    struct proc_id keeper;        /* JOB_REPLAY: its end is waited for */
    int64_t after;                /* JOB_REPLAY, JOB_LAUNCH: last record merged */
    bool force;                   /* JOB_DISCARD */
    int64_t broker_call;          /* JOB_BROKER, as the next two; 0: none is due */
    struct ledger_call call;
    struct strv session;
    /* Out. */
    bool ok;
    struct err err;             /* unless ok */
    struct attempt_place place; /* JOB_PREPARE */
    struct wt_harvest harvest;  /* JOB_HARVEST, JOB_HARVEST_END */
    json_t *records;            /* JOB_REPLAY: array */
    json_t *message;            /* JOB_BROKER, as the next two */
    int status;
    bool has_harvest;
};

void job_run(struct job *job);
void job_free(struct job *job); /* on the loop's thread */

#endif
