/*
 * box_term: the person's terminal in raw mode while a box has a terminal of its own.
 *
 * The settings are those of the process, hence no handle. They are given back on every way out:
 * box_term_restore, the end of the process, and signals that kill it.
 */
#ifndef CMD_BOX_TERM_H
#define CMD_BOX_TERM_H

#include "runner/base/err.h"

bool box_term_raw(struct err *err) WARN_UNUSED;
/* Back to what it was. Harmless when it was not changed. */
void box_term_restore(void);

#endif
