/*
 * fixture: a store in a folder of its own, and rows to put into it.
 */
#ifndef TEST_FIXTURE_H
#define TEST_FIXTURE_H

#include "runner/store/attempt_row.h"
#include "runner/store/run_row.h"
#include "runner/store/store.h"

struct fixture {
    char dir[64];
    char *db_path;
    struct db *db;
};

/* For cmocka's setup and teardown. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
void fixture_close_store(struct fixture *f);
void fixture_open_store(struct fixture *f);

/* A run with its attempts 1..n, queued. */
void fixture_add_run(struct fixture *f, int64_t run, int64_t n);
/* A spec with something in every member. Caller releases. */
void fixture_spec(struct attempt_spec *ret, int64_t run, int64_t n);
/* The attempt's state in the store. */
enum attempt_state fixture_state(struct fixture *f, const char *id);
void fixture_set_state(struct fixture *f, const char *id, enum attempt_state state);

#endif
