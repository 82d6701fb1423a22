/*
 * keep: one keeper: the composition of its parts and its life cycle.
 *
 *   starting --agent runs--> running --box gone, output read--> ended --recorded--> exited --> over
 *      |                                                          ^
 *      +---- the box does not come up ----------------------------+
 *
 * starting  The sockets listen, the box is being made. Calls cannot come yet.
 * running   The agent runs. With or without a server the gate judges, holds and records.
 * ended     No process of the box lives. `exited` is not on disk yet (a full disk is tried again).
 * exited    `exited` is on disk. Waits for the server to merge it (`quit`), at most a minute
 * without one: a later server reads the file. over      The sockets are removed, handles close, the
 * process ends.
 *
 * One thread; all parts live in struct keep until the loop has ended, so no callback outlives what
 * it uses.
 */
#ifndef KEEP_KEEP_H
#define KEEP_KEEP_H

#include "runner/agents/pulse.h"
#include "runner/base/proc.h"
#include "runner/keep/account.h"
#include "runner/keep/attach.h"
#include "runner/keep/box_side.h"
#include "runner/keep/confine.h"
#include "runner/keep/door.h"
#include "runner/keep/exec_gate.h"
#include "runner/keep/forward.h"
#include "runner/keep/freeze.h"
#include "runner/keep/hold.h"
#include "runner/keep/keep_config.h"
#include "runner/keep/link.h"
#include "runner/keep/model_side.h"
#include "runner/keep/mounts.h"
#include "runner/keep/moves.h"
#include "runner/keep/net_gate.h"
#include "runner/keep/output.h"
#include "runner/keep/records.h"
#include "runner/keep/service.h"
#include "runner/keep/speech.h"
#include "runner/keep/stop.h"
#include "runner/keep/stream.h"

enum keep_state { KEEP_STARTING, KEEP_RUNNING, KEEP_ENDED, KEEP_EXITED, KEEP_OVER };

/* An output stream of the agent: its terminal, or one of two pipes. */
struct keep_source {
    struct keep *keep;
    struct stream *stream; /* NULL: none, or ended */
    bool has_lines;        /* the last line is looked for here */
};

/* A listening socket that is served for the set-up, once more. */
struct keep_later {
    int port, fd;
};

struct keep {
    uv_loop_t loop;
    int dirfd, lock_fd;
    struct keep_config config;
    struct proc_id id; /* of this process */
    enum keep_state state;

    struct records records;
    struct door door;
    struct exec_gate exec;
    struct link link;
    struct attach_room room;
    struct output output;
    struct speech speech;
    int64_t heard; /* on record */
    struct pulse pulse;
    bool pulse_is_dirty; /* it changed since it was recorded */
    struct box_side box;
    struct services services;
    struct forwards forwards;
    struct net_gate net;
    struct model_side model;
    struct account account;
    struct stop stop;
    struct freeze freeze;
    struct hold hold;
    struct keep_later later[HOLD_SOCKETS]; /* to be held once the set-up is over */
    size_t n_later;
    bool has_told_stranger; /* of a greeting that was none of the agent's */
    struct mounts mounts;
    struct moves moves;
    struct keep_source sources[2];

    uv_signal_t sigterm, sighup;
    uv_prepare_t before_waiting; /* for events: freezes and thaws by what waits then */
    uv_timer_t linger;      /* retries of `exited`, the minute without a server, the last second */
    uv_timer_t still;       /* since the agent's terminal moved */
    int64_t rested_ms;      /* when the agent said that it waits; monotonic, 0: it does not */
    uv_timer_t pulse_pause; /* between two records of the pulse */
    uv_timer_t enter;       /* from a text that was said to the key that sends it */

    struct layer_report report; /* of the box, once it was told */
    struct layer_status own;    /* what the keeper took from itself */
    bool was_let_go;   /* pid 1 was told to start the agent; its report may still be under way */
    bool is_accounted; /* the kernel does not hold the limits */
    bool has_status;   /* the agent's own end was reported */
    bool is_gone;      /* pid 1 was waited for */
    bool is_leaving;   /* the system asked the keeper to end */
    int status;        /* of the agent, else of pid 1 */
    struct err error;  /* why the box failed; ERR_NONE: it did not */
};

/* Take the attempt's folder (dirfd is taken over): lock, records, sockets. On success they listen.
 * keys (borrowed, NULL: none) are for the relay to the model. ERR_CONFLICT when another keeper has
 * the attempt. */
bool keep_open(struct keep **ret, int dirfd, const json_t *keys, struct err *err) WARN_UNUSED;
/* Start the box, serve until all is over, release everything. */
void keep_run(struct keep *k);

/* keep_box.c */
bool keep_box_start(struct keep *k, struct err *err) WARN_UNUSED;
/* What is in force is less than was recorded: record it anew. arg: struct keep. */
void keep_layer_changed(void *arg);
/* A call at the listener that is no exec. arg: struct keep. */
void keep_take_rename(void *arg, const struct notice *n);
extern const struct box_side_ops keep_box_ops;
extern const struct hold_ops keep_hold_ops;
extern const struct attach_ops keep_attach_ops;
bool keep_dial(void *arg, int id, int port, bool is_v6, struct err *err) WARN_UNUSED;
extern const struct stop_ops keep_stop_ops;

/* keep_server.c */
extern const struct link_ops keep_link_ops;
extern const struct output_ops keep_output_ops;
extern const struct account_ops keep_account_ops;
/* What the relay to a model asks. arg: struct keep. */
void keep_ask_token(void *arg, const json_t *question);

/* keep_pulse.c: a whole line of output; what of it is not on record yet. */
void keep_pulse_line(void *arg, bool is_aside, const char *line, size_t len);
/* The agent's terminal moves. */
void keep_pulse_stir(struct keep *k);
/* It says by itself that it waits for its person. */
void keep_pulse_rest(struct keep *k, const char *why);
/* It works, whatever it said. */
void keep_pulse_wake(struct keep *k);
void keep_pulse_flush(struct keep *k);

/* [{"call","name"}] of all that waits for a person, new reference. */
json_t *keep_waiting(const struct keep *k);

/* Events of the parts, for the life cycle in keep.c. */
void keep_source_ended(struct keep_source *source);
void keep_box_gone(struct keep *k, int status);
void keep_server_changed(struct keep *k, bool is_present);
void keep_quit(struct keep *k);

#endif
