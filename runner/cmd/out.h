/*
 * out: the process's own standard output: what it can show, and writing to it.
 */
#ifndef CMD_OUT_H
#define CMD_OUT_H

#include "runner/base/jx.h"
#include "runner/cmd/print.h"

/* What standard output can show: colour only on a terminal without NO_COLOR and not `dumb`; columns
 * of the terminal, or unbounded elsewhere; now. */
void out_print(struct print *ret);
/* True when a region can be redrawn in place there. */
bool out_is_live(void);
int out_rows(void);
/* Write it all. A reader that has gone away ends the process by SIGPIPE, as is the custom; a full
 * disk is ERR_SYS. */
bool out_write(const void *data, size_t len, struct err *err) WARN_UNUSED;
bool out_buf(const struct buf *text, struct err *err) WARN_UNUSED;
/* One JSON value and a newline: all that a `--json` form prints. */
bool out_json(const json_t *value, struct err *err) WARN_UNUSED;
/* Through the person's pager (GIT_PAGER, PAGER, else `less -R`) on a terminal, else as it is. */
bool out_paged(const struct buf *text, struct err *err) WARN_UNUSED;

#endif
