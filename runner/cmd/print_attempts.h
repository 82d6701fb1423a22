/*
 * print_attempts: attempts and what `run` says of them. ATTEMPT and LAYER are as in
 * runner/PROTOCOL.md. Pure.
 */
#ifndef CMD_PRINT_ATTEMPTS_H
#define CMD_PRINT_ATTEMPTS_H

#include "runner/cmd/print.h"

/* `ls`: one line an attempt. */
void print_attempts(struct buf *out, const struct print *p, const json_t *attempts);
/* `show`: all that is known of one. */
void print_attempt(struct buf *out, const struct print *p, const json_t *attempt);
/* The first lines of a run, from the answer to run.create: rung, base, network and layers on the
 * first. */
void print_run_header(struct buf *out, const struct print *p, const json_t *created);
/* The end of a run: what each attempt came to, and the commands to go on with. */
void print_run_summary(struct buf *out, const struct print *p, const json_t *attempts);
/* "all 12 active", or "10 active, limits degraded". */
void print_layers_line(struct buf *out, const json_t *layers);
/* Layers one a line, all or only those that are not active. */
void print_layers(struct buf *out, const struct print *p, const json_t *layers, bool all);
/* The review list: what could run on the host next. */
void print_review(struct buf *out, const struct print *p, const json_t *attempt);
/* "ok", "failed with exit code 3", "timeout", "running". */
void print_attempt_end(struct buf *out, const json_t *attempt);

#endif
