/*
 * run_opts: the words of `headgate run` as a value, checked as far as they can be without looking
 * at anything outside. Pure.
 */
#ifndef CMD_RUN_OPTS_H
#define CMD_RUN_OPTS_H

#include "runner/cmd/cmd.h"

struct run_opts {
    int64_t n, jobs; /* jobs 0: the server's choice */
    bool interactive, detach, json, wip, fetch, login, no_canary;
    const char *base, *on, *agent, *ladder, *exec, *engine, *require, *consent, *tasks_file,
        *template;
    const char *ask_deadline;
    int64_t memory_bytes, pids, time_ms, output_bytes; /* 0: configured default */
    struct strv prompts, services, net, ro, rw, mask, env, secrets;
    struct strv command; /* `-- COMMAND ARG...`; empty: none */
};
#define AUTO_RUN_OPTS __attribute__((cleanup(run_opts_release)))
void run_opts_init(struct run_opts *o);
void run_opts_release(struct run_opts *o);
/* Fill an initialised value. Strings of ret are borrowed from argv. ERR_USAGE says what is wrong
 * with which word; as with cmd_parse, false with ERR_SHOWN when help was printed. */
bool run_opts_parse(struct run_opts *ret, char **argv, struct err *err) WARN_UNUSED;

#endif
