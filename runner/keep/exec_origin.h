/*
 * exec_origin: who asks for an exec: the agent itself, something below it, or pid 1.
 *
 * pid 1's child is the agent; further children of pid 1 that are still the launcher are joined by a
 * person (`enter`). A process that has begun a program of its own, and all below it, is not the
 * agent any more, unless the program is known to be the agent as well (its driver starts it); it is
 * remembered, with the call that it carries out, for as long as it lives. Where the line of parents
 * is broken (the parent has ended), a process that still runs the agent's program counts as the
 * agent: in doubt a person is asked.
 */
#ifndef KEEP_EXEC_ORIGIN_H
#define KEEP_EXEC_ORIGIN_H

#include <stdint.h>
#include <stdbool.h>
#include <sys/types.h>
#include "runner/base/strv.h"

enum { EXEC_OWN_PROGRAMS = 8 };

struct exec_begun {
    pid_t pid; /* 0: a free place */
    uint64_t start_ticks;
    int64_t call; /* that stands behind it; 0: none known */
};

struct exec_family {
    pid_t init_pid, agent_pid; /* agent_pid 0: not known yet */
    bool is_setup; /* what runs is the set-up command, which a person accepted: not the agent */
    /* Programs that are the agent besides the one that was started: a process that begins one stays
     * what it is. */
    struct {
        dev_t dev;
        ino_t ino;
    } own[EXEC_OWN_PROGRAMS];
    size_t n_own;
    dev_t launcher_dev; /* what pid 1 runs, and its children before their exec */
    ino_t launcher_ino;
    struct exec_begun *begun; /* by pid, open addressing; never full */
    size_t n_begun, n_places; /* n_places: a power of two */
};

struct exec_origin {
    bool is_own;  /* the agent's own process */
    int64_t call; /* that stands behind what it runs below; 0: none known */
};

/* The first caller of all is pid 1's own child, and so is the agent's start, also after a set-up
 * command, which may have left something running: others are passed over. */
void exec_family_start(struct exec_family *f, pid_t init_pid, pid_t tid);
void exec_family_release(struct exec_family *f);
void exec_origin_of(struct exec_origin *ret, const struct exec_family *f, pid_t tid);
/* The process is the agent, or one below it. */
bool exec_family_holds(const struct exec_family *f, pid_t pid);
/* Append the programs from the caller's up to the agent's. */
void exec_origin_parents(struct strv *out, const struct exec_family *f, pid_t tid);
/* This program is the agent as well. Those beyond the bound are not. */
void exec_family_own(struct exec_family *f, dev_t dev, ino_t ino);
/* A process has begun a program of its own. */
void exec_family_begun(struct exec_family *f, pid_t pid, int64_t call);

#endif
