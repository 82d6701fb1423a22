/*
 * print_doctor: what holds on this machine. Pure.
 */
#ifndef CMD_PRINT_DOCTOR_H
#define CMD_PRINT_DOCTOR_H

#include "runner/cmd/print.h"

/* {"platform","layers":[LAYER],"facts":[{"name","value","advice"}],"ladder","ladder_why"}: every
 * layer with its mechanism, the rung that follows, and the facts of the host behind them. */
void print_doctor(struct buf *out, const struct print *p, const json_t *report);
/* {"attempts":[...]}: each attempt with what came of it and of its control, and the sum. */
void print_escapes(struct buf *out, const struct print *p, const json_t *report);

#endif
