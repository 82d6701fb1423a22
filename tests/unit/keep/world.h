/*
 * world: one attempt as the server would make it, in a folder of its own: a box plan for `sh -c
 * SCRIPT`, keep.json, sockets, the real keeper on it, and a connection as its server. Waits are for
 * records, messages or ends of file, each with a bound.
 *
 * Inside the box: the worktree at /w (writable), the caller at /t/keep_caller, the gate socket
 * where hooks find it.
 */
#ifndef TESTS_KEEP_WORLD_H
#define TESTS_KEEP_WORLD_H

#include "runner/wire/sync.h"
#include "sandbox/box.h"

struct world {
    char *dir;     /* all of it */
    char *attempt; /* dir/a */
    char *socket, *gate_socket;
    struct box_spec spec;
    json_t *config;          /* keep.json, to be changed before the start */
    struct sync_conn server; /* fd -1: none */
    int64_t acked;
    struct proc_id keeper; /* pid 0: not known */
    json_t *welcome;
};

void world_init(struct world *w, const char *script);
/* The same for an agent whose execs are gated by this policy. */
void world_init_execs(struct world *w, const char *script, const char *policy);
/* One more rule; all have number 7. */
void world_set_rule(struct world *w, const char *text);
/* Write plan and keep.json and start the keeper; returns its first process's exit code, text in
 * ret_text. */
int world_try_start(struct world *w, struct buf *ret_text);
/* Start, and connect as server. */
void world_start(struct world *w);
void world_connect(struct world *w);
void world_disconnect(struct world *w);
/* Kill the keeper if it lives, remove everything. */
void world_done(struct world *w);
/* The same for a test that failed before it came to that. */
int world_teardown(void **state);
#define world_test(f) cmocka_unit_test_teardown(f, world_teardown)

/* Send text as a message (json_pack format). */
void world_send(struct world *w, json_t *message_stolen);
/* The next record of this kind (new reference); others are passed over, all are acknowledged. Fails
 * the test after 30 s. */
json_t *world_record(struct world *w, const char *kind);
/* The next message of this type. */
json_t *world_message(struct world *w, const char *type);
/* Decide what an `asked` record asks: "allow" or "deny". */
void world_decide(struct world *w, const json_t *asked, const char *decision);
/* Wait for `exited` and check it. */
void world_expect_exit(struct world *w, int64_t status, const char *cause);
/* All records in the spool's file, checked; new reference. */
json_t *world_spool(const struct world *w);
size_t world_count(const json_t *records, const char *kind);
/* Wait until the keeper's process has ended. */
void world_wait_keeper_end(const struct world *w);
/* The log's content. */
void world_log(const struct world *w, struct buf *out);
void world_expect_in_log(const struct world *w, const char *text);
/* A FIFO in the worktree that the box writes and the test reads (a descriptor that did not wait for
 * a writer). */
int world_fifo_from_box(const struct world *w, const char *name);
/* One that the box reads, once, and a line into it when the box has opened it. */
void world_fifo_to_box(const struct world *w, const char *name);
void world_go(const struct world *w, const char *name);
/* Wait for a byte, or for the end of all writers. */
void world_await_byte(int fd);
void world_await_hang_up(int fd);

#endif
