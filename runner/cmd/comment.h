/*
 * comment: giving an agent what a person wrote about its work.
 */
#ifndef CMD_COMMENT_H
#define CMD_COMMENT_H

#include "runner/cmd/client.h"
#include "runner/cmd/print.h"

/* Send what waits for an attempt and say so. ERR_NOT_FOUND: nothing waits. */
bool comment_send(struct client *c, const char *id, bool interactive, struct err *err) WARN_UNUSED;

/* Append the comments on an attempt; nothing when there are none. */
bool comment_add_all(struct buf *out, const struct print *p, struct client *c, const char *id,
                     struct err *err) WARN_UNUSED;

#endif
