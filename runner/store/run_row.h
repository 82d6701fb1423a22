/*
 * run_row: what is stored of one run.
 */
#ifndef STORE_RUN_ROW_H
#define STORE_RUN_ROW_H

#include "gate/policy.h"
#include "runner/base/db.h"

struct run_row {
    int64_t id;
    char *path; /* what was named: toplevel or bare folder */
    char *repo; /* common folder of the repository */
    char *base;
    char *base_ref;
    char *agent;
    enum ladder ladder;
    int64_t jobs, n, created_ms;
    struct strv env;     /* of its attempts */
    struct strv desktop; /* how to reach the desktop of whoever started it; never in a box */
};
void run_row_release(struct run_row *run);
#define RUN_ROW_INIT \
    {                \
        0            \
    }
#define AUTO_RUN_ROW __attribute__((cleanup(run_row_release)))

bool run_row_insert(struct db *db, const struct run_row *run, struct err *err) WARN_UNUSED;
/* ERR_NOT_FOUND names the run. */
bool run_row_get(struct run_row *ret, struct db *db, int64_t id, struct err *err) WARN_UNUSED;
bool run_row_set_ladder(struct db *db, int64_t id, enum ladder ladder, struct err *err) WARN_UNUSED;
/* The highest number ever used, also by runs that were removed. */
bool run_row_last_id(int64_t *ret, struct db *db, struct err *err) WARN_UNUSED;
/* Remove the run when no attempt of it is left. */
bool run_row_remove_empty(struct db *db, int64_t id, struct err *err) WARN_UNUSED;
/* RUN of runner/PROTOCOL.md; id 0: all, newest first, at most limit. Adds to the array. */
bool run_row_list(json_t *array, struct db *db, int64_t id, int64_t limit,
                  struct err *err) WARN_UNUSED;

#endif
