/*
 * attempt_row: what is stored of one attempt.
 *
 * Its spec (runner/attempt/attempt.h) is kept without prompt and environment: the prompt is the
 * column `task`, the environment is the run's unless the attempt was resumed with another.
 */
#ifndef STORE_ATTEMPT_ROW_H
#define STORE_ATTEMPT_ROW_H

#include "runner/attempt/attempt.h"
#include "runner/base/db.h"
#include "runner/store/lifecycle.h"

struct attempt_row {
    /* What never changes. */
    char *id;
    int64_t run, n;
    char *title, *task, *agent, *branch, *subdir;
    int64_t created_ms;
    char *into; /* the branch that its work is for, NULL: the one checked out */
    bool is_base_wip;
    char *common;                 /* common folder of its repository */
    char *repo, *base, *base_ref; /* of its run: what was named, oid, words for people */
    char *ladder;                 /* of its run, at the time of reading */
    /* What attempt_row_save writes. */
    enum attempt_state state;
    enum attempt_outcome outcome;
    bool interactive;
    char *engine, *engine_why, *tree; /* NULL until prepared */
    char *tip, *snapshot;             /* NULL until harvested */
    int64_t commits, files;
    char *note;
    char *review, *layers; /* JSON texts or NULL */
    char *last_line;
    char *pulse; /* JSON text of runner/agents/pulse.h over all starts, NULL: nothing was told */
    char *pulse_before;  /* the same of the starts before this one */
    int64_t exit_status; /* -1: none */
    char *error;
    int64_t started_ms, ended_ms; /* 0: not yet */
    struct proc_id keeper;        /* pid 0: none known */
    int64_t spool_seq;            /* last record merged */
    char *merged_into, *merged_commit;
};
void attempt_row_release(struct attempt_row *row);
#define ATTEMPT_ROW_INIT  \
    {                     \
        .exit_status = -1 \
    }
#define AUTO_ATTEMPT_ROW __attribute__((cleanup(attempt_row_release)))

/* Replace an owned string (copies value, NULL clears). */
void attempt_row_set(char **member, const char *value);

/* The agent starts: what was told of it so far is of earlier starts. */
void attempt_row_begin_pulse(struct attempt_row *row);
/* What this start came to, as pulse_json() gives it. False: it is no such object. */
bool attempt_row_set_pulse(struct attempt_row *row, const json_t *pulse);

/* Insert a queued attempt of its spec. */
bool attempt_row_insert(struct db *db, const struct attempt_spec *spec, const char *title,
                        int64_t at_ms, struct err *err) WARN_UNUSED;
/* ERR_NOT_FOUND names the attempt. */
bool attempt_row_get(struct attempt_row *ret, struct db *db, const char *id,
                     struct err *err) WARN_UNUSED;
/* Apply an event to the row: state, times, outcome. An outcome and an exit status that the keeper
 * told are set before. False: the event means nothing in this state, and the row is as it was. The
 * row is not saved. */
bool attempt_row_apply(struct attempt_row *row, enum attempt_event event, int64_t at_ms,
                       unsigned *ret_effects);
bool attempt_row_save(struct db *db, const struct attempt_row *row, struct err *err) WARN_UNUSED;
bool attempt_row_remove(struct db *db, const char *id, struct err *err) WARN_UNUSED;

/* The whole spec again: with prompt, environment and the run's present ladder. */
bool attempt_row_spec(struct attempt_spec *ret, struct db *db, const char *id,
                      struct err *err) WARN_UNUSED;
/* Replace the spec (resume). env NULL: that of the run. */
bool attempt_row_save_spec(struct db *db, const struct attempt_spec *spec, const struct strv *env,
                           struct err *err) WARN_UNUSED;

enum attempt_which {
    ATTEMPTS_ALL,
    ATTEMPTS_OPEN,   /* not done */
    ATTEMPTS_QUEUED, /* in the order of their turn */
    ATTEMPTS_DONE,
};
/* Identifiers, of one run or (0) of all. ATTEMPTS_ALL gives the open ones first and then the
 * newest, at most limit; the others give the oldest first. */
bool attempt_row_ids(struct strv *ret, struct db *db, enum attempt_which which, int64_t run,
                     int64_t limit, struct err *err) WARN_UNUSED;
/* All of the attempts whose identifier is id, starts with it followed by a dot (a run), or else
 * starts with it when only one does. ERR_NOT_FOUND; ERR_USAGE when several start with it. */
bool attempt_row_resolve(struct strv *ret, struct db *db, const char *word,
                         struct err *err) WARN_UNUSED;

/* Work that is in no branch of the person's yet, of one repository (common folder), the newest
 * first. Called for each; into NULL: the branch of the main checkout. */
typedef void (*attempt_open_fn)(void *arg, const char *id, const char *tip, const char *base,
                                const char *into);
bool attempt_row_open_work(struct db *db, const char *common, int64_t limit, attempt_open_fn each,
                           void *arg, struct err *err) WARN_UNUSED;
/* Common folders of repositories that have such work. */
bool attempt_row_open_repos(struct strv *ret, struct db *db, struct err *err) WARN_UNUSED;

#endif
