/*
 * print_calls: calls of the gate for people. CALL is as in runner/PROTOCOL.md. Pure.
 */
#ifndef CMD_PRINT_CALLS_H
#define CMD_PRINT_CALLS_H

#include "runner/cmd/print.h"

/* One line, sanitised: "Bash: git push origin main". */
void print_call_line(struct buf *out, const json_t *call);
/* A table of calls; those that wait with the time they still have. An empty list gives a sentence.
 */
void print_calls(struct buf *out, const struct print *p, const json_t *calls);
/* One call with its exact arguments, escaped reversibly. */
void print_call(struct buf *out, const struct print *p, const json_t *call);
/* One line for what became of a call: "c12 approved: 3.1 Bash: make". */
void print_call_decided(struct buf *out, const struct print *p, const json_t *call);

#endif
