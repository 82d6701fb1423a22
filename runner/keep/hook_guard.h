/*
 * hook_guard: sees how each hook of an agent ends, before the agent does.
 *
 * For agents that run a call when its hook was killed, said nothing or said nonsense. A process
 * whose words name the hook (the shell that the agent starts it by, and the hook itself) stays
 * traced once its exec was verified; at its end it stands still, with all that it holds open and
 * unreaped, while this decides:
 *
 *   the hook      by itself with 2, or with 0 after the gate told it yes: as it should
 *   its shell     with 2, or with 0 after a hook of its own that ended so with 0
 *   anything else                             told (`lost`): whoever owns this kills the agent
 * before it learns of it
 *
 * Not strict, for agents that block where a hook was killed or failed and whose denial ends with 0:
 * only a hook that ends with 0 without an answer of the gate is told, and shells are let be.
 *
 * Invariants: 1. One thread, the tracer's. 2. Whoever imitates a hook only ends its own attempt.
 */
#ifndef KEEP_HOOK_GUARD_H
#define KEEP_HOOK_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct guarded {
    pid_t pid, shell;             /* shell: whose hook it is, 0: it is a shell */
    bool is_answered, is_allowed; /* of a hook: the gate told it something, and that was yes */
    bool has_passed;              /* of a shell: a hook of its own ended with 0 */
};

struct hook_guard {
    const char
        *words; /* borrowed: of a hook, as one text with blanks; NULL: this agent needs no guard */
    bool is_strict;
    struct guarded *all;
    size_t n;
    void (*lost)(void *arg, pid_t pid, const char *how); /* pid still stands, below its agent */
    void *lost_arg;
};

/* A verified exec that stands before its first instruction, traced: let it begin under guard.
 * False: it is no hook. */
bool hook_guard_take(struct hook_guard *g, pid_t pid);
/* The gate answers this process, a call or its greeting. Before it can read that. */
void hook_guard_answered(struct hook_guard *g, pid_t pid, bool is_allowed);
/* One status of waitpid. False: not of one that is guarded. */
bool hook_guard_event(struct hook_guard *g, pid_t pid, int status);
void hook_guard_release(struct hook_guard *g);

#endif
