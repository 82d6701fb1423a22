/*
 * print_gate: the gate's log and counts for people. Pure.
 */
#ifndef CMD_PRINT_GATE_H
#define CMD_PRINT_GATE_H

#include "runner/cmd/print.h"

/* Rows of gate.log, oldest first, with the first digits of each hash. */
void print_gate_log(struct buf *out, const struct print *p, const json_t *rows);
/* gate.stats: counts by name, nested ones under their heading. */
void print_gate_stats(struct buf *out, const struct print *p, const json_t *stats);
/* gate.verify: a sentence, with the anchor to keep elsewhere. */
void print_gate_verify(struct buf *out, const struct print *p, const json_t *result);

#endif
