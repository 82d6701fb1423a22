/*
 * print_merge: what merges came to, and what was cleaned. Plain values; pure.
 */
#ifndef CMD_PRINT_MERGE_H
#define CMD_PRINT_MERGE_H

#include "runner/cmd/print.h"

/* One trial of merging `what` into `into`: {"what","into","conflicts":[path]} each; a sentence when
 * all are clean. */
void print_conflicts(struct buf *out, const struct print *p, const json_t *trials);
/* The result of `clean`. */
void print_cleaned(struct buf *out, const struct print *p, const json_t *result, bool dry_run);

#endif
