/*
 * exec_gate: answers every execve of every process in the box.
 *
 *   parked -> read -> resolved -> judged -> refused (EACCES)
 *                                        -> asked (exec_wait) -> refused | goes on
 *                                        -> goes on, verified (exec_trace)
 *          -> what the kernel itself would refuse (ENOENT, EFAULT, ...) is refused with that errno
 *
 * Nothing here waits: not for the caller, not for the tracee, not for the server. So no number of
 * parked threads holds up another. If the listener is closed, execs fail with ENOSYS.
 *
 * Where the kernel lets nobody trace (Yama 3), `watch` goes on without verification and its layer
 * is degraded: the decisions then hold for callers that do not race. `ask` is not started so.
 */
#ifndef KEEP_EXEC_GATE_H
#define KEEP_EXEC_GATE_H

#include "gate/exec.h"
#include "runner/keep/exec_call.h"
#include "runner/keep/exec_log.h"
#include "runner/keep/exec_origin.h"
#include "runner/keep/exec_pins.h"
#include "runner/keep/exec_trace.h"
#include "runner/keep/exec_wait.h"
#include "runner/keep/hook_guard.h"
#include "sandbox/box.h"

/* Decided, and waiting for another exec of its process to be over. */
struct exec_put_off {
    struct exec_notice notice;
    struct exec_image image;
};

struct exec_gate {
    const struct keep_config *config; /* borrowed */
    const struct policy *rules;       /* borrowed; always the newest */
    struct records *records;          /* borrowed */
    struct layer_status layer;        /* what is in force */
    void (*layer_changed)(void *arg); /* it is less than was told; NULL: nobody wants to know */
    void *layer_arg;
    void (*take_other)(void *arg,
                       const struct notice *n); /* a call at the listener that is no exec */
    void *other_arg;
    bool keeps_waiting;       /* a waiting exec outlives stops and signals; true without one */
    bool is_verified;         /* what goes on is traced */
    bool has_begun;           /* the agent has been started */
    int listener_fd, root_fd; /* -1: none */
    bool is_polling, is_ended;
    uv_poll_t poll;
    struct exec_family family;
    struct exec_calls calls;
    struct exec_pins pins;
    struct exec_heads heads;
    struct exec_trace trace;
    struct hook_guard guard; /* its words and who is told: the owner's to set */
    struct exec_put_off *put_off;
    size_t n_put_off;
    struct exec_log log;
    struct exec_wait wait;
    int64_t noted_ms; /* when the last denial or race was recorded by itself */
    int n_noted;      /* in that second */
};

void exec_gate_init(struct exec_gate *g, uv_loop_t *loop, const struct keep_config *config,
                    const struct policy *rules, struct records *records);
/* The box's BOX_MSG_CALL_LISTENER (its descriptor is taken over). False: the policy cannot be kept,
 * ERR_LAYER says why. */
bool exec_gate_listen(struct exec_gate *g, pid_t init_pid, const struct box_msg *msg,
                      struct err *err) WARN_UNUSED;
/* The set-up is over: the next child of pid 1 is the agent. Called before pid 1 may start it. */
void exec_gate_agent_next(struct exec_gate *g);
/* One status of waitpid that is not pid 1's end. */
void exec_gate_event(struct exec_gate *g, pid_t pid, int status);
/* No process of the box lives: record what is left to say. */
void exec_gate_ended(struct exec_gate *g);
void exec_gate_close(struct exec_gate *g);
void exec_gate_release(struct exec_gate *g);

#endif
