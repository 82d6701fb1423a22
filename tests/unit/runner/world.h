/*
 * world: a home, a state folder and a server of one's own, for one test.
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "runner/base/paths.h"
#include "runner/store/attempt_row.h"
#include "runner/store/run_row.h"
#include "runner/wire/sync.h"

struct world {
    char dir[64];
    struct paths paths;
    pid_t server; /* pid of the last one that answered */
};

#define assert_ok(expression)                          \
    do {                                               \
        if (!(expression))                             \
            fail_msg("%s: %s", #expression, err.text); \
    } while (0)

/* For cmocka. The teardown stops the server and waits for its end. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* Start a server in the background (or find the one that runs). Returns the exit code of the
 * starter. */
int world_start(struct world *w);
/* The exit code of a server in the foreground. */
int world_start_foreground(struct world *w);
void world_kill(struct world *w);
/* Wait until that server is no more; false after ten seconds. */
bool world_await_end(pid_t pid);
void world_write(struct world *w, const char *name, const char *text);

/* A greeted connection. */
void world_connect(struct world *w, struct sync_conn *c);
/* Ask; request is taken over, members as for json_pack. The result, or NULL with err. */
json_t *world_ask(struct sync_conn *c, const char *op, json_t *request, struct err *err);
/* Ask on a connection of its own, must succeed. */
json_t *world_get(struct world *w, const char *op, json_t *request);
/* Subscribe and wait until the attempt is in this state; the attempt as it then was (new
 * reference). */
json_t *world_await(struct world *w, const char *attempt, const char *state);
/* The same for a call, by id. */
json_t *world_await_call(struct world *w, const char *call, const char *state);

/* Put a run of n queued attempts into the store while no server runs. */
void world_add_run(struct world *w, int64_t run, int64_t n);
/* As if it had been prepared. */
void world_set_tree(struct world *w, const char *id);
/* In this state, with nothing of its keeper merged. */
void world_reset(struct world *w, const char *id, enum attempt_state state);
void world_set_state(struct world *w, const char *id, enum attempt_state state);

#endif
