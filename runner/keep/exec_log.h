/*
 * exec_log: which programs ran in the box, and how often, in few records.
 *
 * A build starts thousands of processes; each with a record of its own would flood the spool. So
 * programs are counted by path. A record `execs` names the programs seen for the first time since
 * the one before, with who started each, at most one every two seconds; the last one, at the end,
 * has all with their counts. Of more than EXEC_LOG_PROGRAMS programs the further ones are only
 * counted together. Refused, asked and raced execs have records of their own (exec_gate).
 */
#ifndef KEEP_EXEC_LOG_H
#define KEEP_EXEC_LOG_H

#include <uv.h>
#include "runner/keep/records.h"

enum { EXEC_LOG_PROGRAMS = 256 };

struct exec_log_program;

struct exec_log {
    struct records *records; /* borrowed */
    struct exec_log_program *all;
    size_t n, n_told;
    int64_t n_execs, n_others, n_denied, n_raced, n_unverified;
    uv_timer_t timer;
};

void exec_log_init(struct exec_log *log, uv_loop_t *loop, struct records *records);
/* True for one that is named for the first time: exec_log_tell can say who started it. */
bool exec_log_add(struct exec_log *log, const char *program);
/* Of the newest program; who (taken over) as exec_who gives it. */
void exec_log_tell(struct exec_log *log, json_t *who);
/* The record with all counts; nothing when no exec was seen. */
void exec_log_finish(struct exec_log *log, const char *policy);
void exec_log_close(struct exec_log *log);
void exec_log_release(struct exec_log *log);

#endif
