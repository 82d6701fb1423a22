/*
 * exec_origin: who asks for an exec: the agent itself, something below it, or pid 1.
 *
 * pid 1's child is the agent; further children of pid 1 that are still the launcher are joined by a
 * person (`enter`). A process that has begun a program of its own, and all below it, is not the
 * agent any more. Where the line of parents is broken (the parent has ended), a process that still
 * runs the agent's program counts as the agent: in doubt a person is asked.
 */
#ifndef KEEP_EXEC_ORIGIN_H
#define KEEP_EXEC_ORIGIN_H

#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>
#include "runner/base/strv.h"

enum { EXEC_ORIGIN_BEGUN = 1024 };

struct exec_family {
    pid_t init_pid, agent_pid; /* agent_pid 0: not known yet */
    bool is_setup; /* what runs is the set-up command, which a person accepted: not the agent */
    dev_t launcher_dev;        /* what pid 1 runs, and its children before their exec */
    ino_t launcher_ino;
    /* The latest processes that began a program, in a ring. */
    struct {
        pid_t pid;
        uint64_t start_ticks;
    } begun[EXEC_ORIGIN_BEGUN];
    size_t next;
};

struct exec_origin {
    bool is_own;         /* the agent's own process */
    struct strv parents; /* programs, from the caller's up to the agent's */
};
#define EXEC_ORIGIN_INIT     \
    {                        \
        .parents = STRV_INIT \
    }
#define AUTO_EXEC_ORIGIN __attribute__((cleanup(exec_origin_release)))
void exec_origin_release(struct exec_origin *o);

/* The first caller of all is the agent's start. */
void exec_family_start(struct exec_family *f, pid_t init_pid, pid_t tid);
void exec_origin_of(struct exec_origin *ret, struct exec_family *f, pid_t tid);
/* A process has begun a program of its own. */
void exec_family_begun(struct exec_family *f, pid_t pid);

#endif
