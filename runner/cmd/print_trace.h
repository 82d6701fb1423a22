/*
 * print_trace: what an attempt did as a tree, for people. Pure.
 */
#ifndef CMD_PRINT_TRACE_H
#define CMD_PRINT_TRACE_H

#include "runner/cmd/print.h"

/* result: of attempt.trace. A line for each node: when, where in the tree, what became of it. */
void print_trace(struct buf *out, const struct print *p, const json_t *result);

#endif
