/*
 * print_diff: a patch that an agent made, safe for a terminal. Pure.
 */
#ifndef CMD_PRINT_DIFF_H
#define CMD_PRINT_DIFF_H

#include "runner/cmd/print.h"

/* Append the text of `git diff` without colours: each line sanitised, coloured by its kind when
 * p->color. */
void print_diff(struct buf *out, const struct print *p, const char *patch, size_t len);

#endif
