/*
 * job: one program that pid 1 started: the agent (id 0) or a joined process. Its session and
 * process group are its own.
 */
#ifndef SANDBOX_JOB_H
#define SANDBOX_JOB_H

#include <stdbool.h>
#include <sys/types.h>
#include "sandbox/plan.h"

struct job {
    int id;
    pid_t pid;   /* 0: this place is free */
    int exec_fd; /* tells whether execve(2) succeeded; -1 once that is known */
};

/* Where a program is described: its words and its own variables are steps of these kinds. */
struct job_source {
    const struct plan *plan;
    enum plan_kind argv, env;
    const struct plan *base; /* whose PLAN_ENV holds for variables not named; NULL: none */
};

/* Fork and exec what the source describes, in the PLAN_CWD of its plan. tty_fd: its controlling
 * terminal and standard streams; -1: the streams of pid 1, but that what runs before the agent (it
 * has a base) reads nothing: the input is the agent's. The outcome of the exec comes later, on
 * exec_fd. */
bool job_start(struct job *ret, int id, const struct job_source *source, int tty_fd,
               struct err *err) WARN_UNUSED;
/* Read the outcome, once exec_fd is readable or the process has ended: true when the program runs,
 * else false with err filled (ERR_NOT_FOUND, ERR_REFUSED, ERR_SYS). */
bool job_outcome(struct job *job, const char *program, struct err *err) WARN_UNUSED;
/* The exit code of a box whose agent could not be started, as shells have it: 127, 126 or 125. */
int job_failed_code(const struct err *err);

#endif
